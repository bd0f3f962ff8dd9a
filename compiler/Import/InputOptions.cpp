//===- InputOptions.cpp - What options say of inputs ---------- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/InputOptions.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/json/JsonValues.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tinh {

std::string suggest(StringRef name, ArrayRef<StringRef> names) {
  if (name.size() < 3) // Anything is near to it.
    return "";
  unsigned most = (name.size() + 1) / 3;
  StringRef nearest;
  for (StringRef other : names) {
    unsigned distance =
        name.edit_distance(other, /*AllowReplacements=*/true, most);
    if (distance > most || (distance == most && !nearest.empty()))
      continue;
    nearest = other;
    most = distance;
  }
  return nearest.empty() ? "" : "; did you mean \"" + nearest.str() + "\"?";
}

std::vector<std::string> describeUnknownInputs(const ImportOptions &options,
                                               ArrayRef<StringRef> inputs,
                                               const StringSet<> &elements) {
  std::vector<std::string> sentences;
  auto check = [&](StringRef what, const auto &given,
                   const StringSet<> &others) {
    SmallVector<StringRef> names(given.keys());
    llvm::sort(names); // The order of a hash table is none.
    for (StringRef name : names) {
      if (llvm::is_contained(inputs, name) || others.contains(name))
        continue;
      std::string list;
      for (StringRef input : inputs)
        list += (list.empty() ? "\"" : ", \"") + input.str() + "\"";
      sentences.push_back(
          (what + " was given for \"" + name +
           (list.empty() ? "\", but the model has no inputs"
                         : "\", but the model's inputs are " + list) +
           suggest(name, inputs))
              .str());
    }
  };
  check("a length", options.lengths, {});
  check("a shape", options.shapes, elements);
  check("a length of strings", options.stringLengths, elements);
  check("a value", options.inputValues, elements);
  return sentences;
}

std::vector<std::string> describeLengthsOfTensors(const ImportOptions &options,
                                                  ArrayRef<StringRef> inputs) {
  std::vector<std::string> sentences;
  for (StringRef input : inputs) {
    if (options.lengths.contains(input))
      sentences.push_back(
          ("input \"" + input + "\": " + kLengthOfTensor).str());
    if (options.stringLengths.contains(input))
      sentences.push_back(
          ("input \"" + input + "\": " + kStringLengthOfNumbers).str());
  }
  return sentences;
}

/// A number, true or false as JSON has them, or an infinity or NaN; else null.
static Attribute parseElement(StringRef text, Type element) {
  json::ParseError error;
  bool isName = text == "inf" || text == "-inf" || text == "nan";
  json::Json value =
      isName ? json::Json(text.str()) : json::parseJson(text, error);
  if (!error.message.empty() || (!isName && value.is_string()))
    return {};
  return json::elementAttribute(value, element);
}

DenseElementsAttr inputValue(const ImportOptions &options, StringRef input,
                             RankedTensorType type, std::string &error) {
  auto given = options.inputValues.find(input);
  if (given == options.inputValues.end())
    return {};
  if (type.getNumElements() == 0 && given->second.empty())
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  SmallVector<StringRef> texts;
  StringRef(given->second).split(texts, ',');
  auto start = [&] { return ("input \"" + input + "\": ").str(); };
  if (texts.size() != 1 &&
      static_cast<int64_t>(texts.size()) != type.getNumElements()) {
    error = start() + "the given value has " + std::to_string(texts.size()) +
            " elements; " + graph::shapeToString(type) + " has " +
            std::to_string(type.getNumElements());
    return {};
  }
  SmallVector<Attribute> elements;
  for (StringRef text : texts) {
    elements.push_back(parseElement(text.trim(), type.getElementType()));
    if (elements.back())
      continue;
    error = start() + "the given value \"" + text.trim().str() +
            "\" is no element of " + graph::shapeToString(type);
    return {};
  }
  return DenseElementsAttr::get(type, elements);
}

} // namespace tinh
