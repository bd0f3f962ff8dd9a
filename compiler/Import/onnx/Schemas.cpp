//===- Schemas.cpp - What ONNX says of its ops ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/Schemas.h"

#include "compiler/Import/onnx/Tensors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

struct Schema {
  Signature signature;
  StringRef inputs, attributes;
};

/// The schema of an op of ONNX's own domain; null if it has none.
const Schema *findSchema(StringRef op) {
  static const llvm::StringMap<Schema> schemas = {
#define TYPES(letter, types)
#define OP(name, since, minInputs, maxInputs, inputs, attributes)              \
  {name, {{since, minInputs, maxInputs}, inputs, attributes}},
#include "compiler/Import/onnx/Schemas.inc"
#undef OP
#undef TYPES
  };
  auto found = schemas.find(op);
  return found == schemas.end() ? nullptr : &found->second;
}

const Schema *findSchema(const Node &node) {
  return node.domain().empty() ? findSchema(node.proto->op_type()) : nullptr;
}

/// The names of the element types that a letter stands for.
StringRef typesOf(char letter) {
  switch (letter) {
#define TYPES(letter, types)                                                   \
  case letter:                                                                 \
    return types;
#define OP(...)
#include "compiler/Import/onnx/Schemas.inc"
#undef OP
#undef TYPES
  }
  return "";
}

bool hasWord(StringRef words, StringRef word) {
  return llvm::is_contained(llvm::split(words, ' '), word);
}

/// The type that a schema has for an attribute; empty if it has none.
StringRef attributeType(const Schema &schema, StringRef name) {
  for (StringRef entry : llvm::split(schema.attributes, ' ')) {
    auto [known, type] = entry.split(':');
    if (known == name)
      return type;
  }
  return "";
}

/// Whether an integer attribute is no size, count, axis or the like, but an
/// element of a tensor, a label or a place that is clamped.
bool isAnyNumber(StringRef name) {
  static constexpr StringLiteral kNames[] = {"end",
                                             "ends",
                                             "ignore_index",
                                             "seed",
                                             "start",
                                             "starts",
                                             "value_int",
                                             "value_ints",
                                             "cats_int64s",
                                             "classlabels_int64s",
                                             "classlabels_ints",
                                             "default_int64",
                                             "imputed_value_int64s",
                                             "keys_int64s",
                                             "replaced_value_int64",
                                             "values_int64s"};
  return llvm::is_contained(kNames, name);
}

bool isInRange(int64_t value) {
  return value >= -kLargestNumber && value <= kLargestNumber;
}

} // namespace

/// What is wrong with an attribute that a schema, which may be null, has;
/// empty if nothing is.
static std::string checkAttribute(const AttributeProto &attribute,
                                  const Schema *schema) {
  const std::string &name = attribute.name();
  StringRef expected = schema ? attributeType(*schema, name) : "";
  StringRef found = AttributeProto::AttributeType_Name(attribute.type());
  // Files of IR version 1 leave the type out.
  if (!expected.empty() && found != expected &&
      attribute.type() != AttributeProto::UNDEFINED)
    return ": expected " + expected.str() + ", found " + found.str();
  if (isAnyNumber(name))
    return "";
  if (!isInRange(attribute.i()))
    return ": " + std::to_string(attribute.i()) + " is out of range";
  for (int64_t value : attribute.ints())
    if (!isInRange(value))
      return ": " + std::to_string(value) + " is out of range";
  return "";
}

Signature signatureOf(StringRef op) {
  const Schema *schema = findSchema(op);
  assert(schema && "ONNX has no such op: its entry needs a signature");
  return schema->signature;
}

std::vector<std::string> checkAttributes(const Node &node) {
  // Schemas are of operator sets from 7 on; before, some attributes had other
  // types, which builders know.
  const Schema *schema = node.opset() < 7 ? nullptr : findSchema(node);
  llvm::StringSet<> seen;
  std::vector<std::string> problems;
  for (const AttributeProto &attribute : node.proto->attribute()) {
    std::string problem = seen.insert(attribute.name()).second
                              ? checkAttribute(attribute, schema)
                              : " is given twice";
    if (!problem.empty())
      problems.push_back("attribute " + attribute.name() + problem);
  }
  return problems;
}

std::string checkInputType(const Node &node, int i, int dataType) {
  const Schema *schema = findSchema(node);
  if (!schema)
    return "";
  StringRef letters = schema->inputs;
  bool isVariadic = letters.consume_back("*");
  if (isVariadic)
    i = std::min(i, static_cast<int>(letters.size()) - 1);
  if (i >= static_cast<int>(letters.size()) || letters[i] == '.')
    return "";
  StringRef types = typesOf(letters[i]);
  std::string found = elementTypeName(dataType);
  // Numbers of 4 bits are bytes outside of files.
  StringRef same = llvm::StringSwitch<StringRef>(found)
                       .Case("INT4", "INT8")
                       .Case("INT8", "INT4")
                       .Case("UINT4", "UINT8")
                       .Case("UINT8", "UINT4")
                       .Default(found);
  if (hasWord(types, found) || hasWord(types, same))
    return "";
  return "expected elements of " + llvm::join(llvm::split(types, ' '), ", ") +
         ", found " + found;
}

} // namespace tinh::onnx
