//===- Strings.cpp - Tensors of strings, as graphs have them --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/Strings.h"

#include "compiler/Graph/Composites.h"

using namespace mlir;

namespace tinh::onnx {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> stringShape(Value bytes) {
  return GraphOps::shape(bytes).drop_back();
}

int64_t stringWidth(Value bytes) { return GraphOps::shape(bytes).back(); }

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::string checkStringLength(uint64_t bytes) {
  return bytes <= kLongestString
             ? ""
             : "a string of " + std::to_string(bytes) +
                   " bytes is longer than the " +
                   std::to_string(kLongestString) + " that are supported";
}

/// The widest string; nothing, with an error, if it is too long.
static std::optional<int64_t> widthOf(const StringList &strings,
                                      std::string &error) {
  size_t width = 1;
  for (const std::string &string : strings)
    width = std::max(width, string.size());
  error = checkStringLength(width);
  return error.empty() ? std::optional<int64_t>(width) : std::nullopt;
}

/// Strings, none of which is wider than a tensor of this type has them.
static DenseElementsAttr denseStrings(RankedTensorType type,
                                      const StringList &strings) {
  int64_t width = type.getShape().back();
  std::vector<char> bytes(strings.size() * width, '\0');
  for (auto [i, string] : llvm::enumerate(strings))
    llvm::copy(string, bytes.begin() + static_cast<ptrdiff_t>(i * width));
  return denseFromBytes(type, bytes);
}

/// The same, as wide as the widest; null, with an error.
static DenseElementsAttr denseStrings(MLIRContext *context,
                                      ArrayRef<int64_t> shape,
                                      const StringList &strings,
                                      std::string &error) {
  std::optional<int64_t> width = widthOf(strings, error);
  if (!width)
    return {};
  SmallVector<int64_t> dims(shape);
  dims.push_back(*width);
  if (!countElements(dims)) {
    error = "strings of " + std::to_string(*width) + " bytes in the shape " +
            formatShape(shape) + " are beyond any memory";
    return {};
  }
  Type byte = IntegerType::get(context, 8, IntegerType::Unsigned);
  return denseStrings(RankedTensorType::get(dims, byte), strings);
}

Value constantStrings(GraphOps &b, ArrayRef<int64_t> shape,
                      const StringList &strings) {
  if (b.failed())
    return {};
  std::string error;
  auto value = denseStrings(b.graph.context(), shape, strings, error);
  return value ? b.graph.constant(value) : b.fail(error);
}

std::optional<StringList> stringsOf(const TensorProto &tensor,
                                    std::string &error) {
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  auto count = countElements(dims);
  if (count && *count == tensor.string_data_size())
    return StringList(tensor.string_data().begin(), tensor.string_data().end());
  error = "tensor \"" + tensor.name() + "\": expected the strings of shape " +
          formatShape(dims) + " in string_data, found " +
          std::to_string(tensor.string_data_size());
  return std::nullopt;
}

Value buildStrings(GraphBuilder &builder, const TensorProto &tensor,
                   std::string &error) {
  auto strings = stringsOf(tensor, error);
  if (!strings)
    return {};
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  auto value = denseStrings(builder.context(), dims, *strings, error);
  if (value)
    return builder.constant(value);
  error = "tensor \"" + tensor.name() + "\": " + error;
  return {};
}

DenseElementsAttr stringValue(const ImportOptions &options, StringRef input,
                              RankedTensorType type, std::string &error) {
  auto given = options.inputValues.find(input);
  if (given == options.inputValues.end())
    return {};
  int64_t count = *countElements(type.getShape().drop_back());
  SmallVector<StringRef> texts;
  StringRef(given->second).split(texts, ',');
  StringList strings;
  for (StringRef text : texts)
    strings.push_back(text.str());
  if (strings.size() == 1)
    strings.resize(count, strings.front());
  if (static_cast<int64_t>(strings.size()) != count)
    error = ("input \"" + input + "\": the given value has " +
             Twine(strings.size()) + " strings; it takes " + Twine(count))
                .str();
  for (const std::string &string : strings)
    if (static_cast<int64_t>(string.size()) > type.getShape().back())
      error = ("input \"" + input + "\": the given value \"" + string +
               "\" is longer than " + Twine(type.getShape().back()) +
               " bytes; give another --string-length")
                  .str();
  return error.empty() ? denseStrings(type, strings) : DenseElementsAttr();
}

StringList stringsAttribute(NodeBuilder &b, StringRef name) {
  auto *a = b.attribute(name, AttributeProto::STRINGS);
  return a ? StringList(a->strings().begin(), a->strings().end())
           : StringList();
}

std::optional<Results> stringConstant(NodeBuilder &b) {
  auto *tensor = b.attribute("value", AttributeProto::TENSOR);
  if (tensor && tensor->t().data_type() == TensorProto::STRING) {
    std::string error;
    Value bytes = buildStrings(b.graph, tensor->t(), error);
    return bytes ? giveStrings(b, bytes) : Results{b.fail(error)};
  }
  if (auto *one = b.attribute("value_string", AttributeProto::STRING))
    return giveStrings(b, constantStrings(b, {}, {one->s()}));
  if (b.hasAttribute("value_strings")) {
    StringList strings = stringsAttribute(b, "value_strings");
    return giveStrings(
        b, constantStrings(b, static_cast<int64_t>(strings.size()), strings));
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Results giveStrings(NodeBuilder &b, Value bytes, Results others) {
  if (!bytes)
    return {Value()};
  b.operandResults = {Operand{bytes, {}, /*isString=*/true}};
  return others;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Zeros, or less than nothing, around the last dimension.
static Value padLast(GraphOps &b, Value x, int64_t front, int64_t back) {
  if (!x || (front == 0 && back == 0))
    return x;
  Ints low(b.rank(x), 0), high(low);
  low.back() = front;
  high.back() = back;
  return b.pad(x, b.scalarLike(x, 0), low, high);
}

Value withWidth(GraphOps &b, Value bytes, int64_t width) {
  return bytes ? padLast(b, bytes, 0, width - stringWidth(bytes)) : bytes;
}

Value movedBy(GraphOps &b, Value x, int64_t places) {
  if (!x || places == 0)
    return x;
  int64_t last = b.rank(x) - 1, extent = b.shape(x)[last];
  int64_t kept = std::max<int64_t>(extent - std::abs(places), 0);
  Value part = b.sliceAxis(x, last, places > 0 ? 0 : extent - kept, kept);
  return places > 0 ? padLast(b, part, extent - kept, 0)
                    : padLast(b, part, 0, extent - kept);
}

Value stringLengths(GraphOps &b, Value bytes) {
  if (!bytes)
    return {};
  Type i64 = b.graph.raw().getI64Type();
  Value isByte = b.compare(Predicate::NotEqual, bytes, b.scalarLike(bytes, 0));
  Value ends = b.where(isByte, b.iota(stringWidth(bytes), 1), b.scalar(i64, 0));
  return b.reduce(Kind::Max, ends, b.rank(bytes) - 1, /*keepdims=*/false);
}

Value areEqual(GraphOps &b, Value x, Value y) {
  if (!x || !y)
    return {};
  int64_t width = std::max(stringWidth(x), stringWidth(y));
  Value same = b.compare(Predicate::Equal, withWidth(b, x, width),
                         withWidth(b, y, width));
  return same ? b.reduce(Kind::Min, same, b.rank(same) - 1, /*keepdims=*/false)
              : Value();
}

Value equalToEach(GraphOps &b, Value bytes, const StringList &others) {
  if (!bytes)
    return {};
  Ints shape(stringShape(bytes));
  shape.append({1, stringWidth(bytes)});
  auto count = static_cast<int64_t>(others.size());
  return areEqual(b, b.reshape(bytes, shape),
                  constantStrings(b, count, others));
}

Value placesIn(GraphOps &b, Value bytes, const StringList &others) {
  Value isOther = equalToEach(b, bytes, others);
  if (!isOther)
    return {};
  auto count = static_cast<int64_t>(others.size());
  Value place = b.where(isOther, b.iota(count),
                        b.scalar(b.graph.raw().getI64Type(), count));
  return b.reduce(Kind::Min, place, b.rank(isOther) - 1, /*keepdims=*/false);
}

Value withoutSizes(GraphOps &b, Value bytes) {
  return bytes && b.graph.isBounded(bytes)
             ? fillPadding(b, bytes, b.scalarLike(bytes, 0))
             : bytes;
}

Value withSizesOf(GraphOps &b, Value y, Value bytes) {
  auto rank = bytes ? static_cast<int64_t>(stringShape(bytes).size()) : 0;
  for (int64_t d = 0; y && d < rank; ++d)
    if (b.graph.isBounded(bytes, d))
      y = b.setDimensionSize(y, d, b.dimensionSize(bytes, d));
  return y;
}

} // namespace tinh::onnx
