//===- Labels.cpp - Labels, of strings or numbers ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of ai.onnx.ml that put one label in the place of another.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/predictors/Scores.h"
#include "compiler/Import/onnx/strings/Strings.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The keys or values of a LabelEncoder: one of these lists.
struct Table {
  Type element; ///< Null of strings.
  SmallVector<double> numbers;
  Ints integers; ///< In their place, of i64.
  StringList strings;

  bool isString() const { return !element; }
  bool isInteger() const { return element && element.isInteger(64); }
  size_t size() const {
    if (isString())
      return strings.size();
    return isInteger() ? integers.size() : numbers.size();
  }
  bool isLike(const Table &other) const { return element == other.element; }
  Value constant(NodeBuilder &b) const {
    auto count = static_cast<int64_t>(size());
    if (isString())
      return constantStrings(b, count, strings);
    return isInteger() ? b.constantInts({count}, integers)
                       : b.constantFloats(element, count, numbers);
  }
};

/// Those of a tensor, if numbers of it are few enough to be known.
std::optional<Table> tableOf(NodeBuilder &b, const AttributeProto *attribute) {
  if (attribute && attribute->t().data_type() == TensorProto::STRING) {
    std::string error;
    auto strings = stringsOf(attribute->t(), error);
    if (strings)
      return Table{{}, {}, {}, *strings};
    b.fail(error);
    return std::nullopt;
  }
  Value value = attribute ? b.tensor(attribute->t()) : Value();
  auto known = value ? b.graph.constantOf(value) : std::nullopt;
  if (!known)
    return std::nullopt;
  Table table{b.element(value), {}, {}, {}};
  if (table.isInteger())
    for (int64_t number : known->getValues<int64_t>())
      table.integers.push_back(number);
  else
    table.numbers = denseToDoubles(*known);
  return table;
}

/// The first attribute of these that is there.
std::optional<Table> readTable(NodeBuilder &b, const std::string &prefix) {
  if (b.hasAttribute(prefix + "_strings"))
    return Table{{}, {}, {}, stringsAttribute(b, prefix + "_strings")};
  if (b.hasAttribute(prefix + "_floats"))
    return Table{b.graph.raw().getF32Type(),
                 floatsAttribute(b, prefix + "_floats"),
                 {},
                 {}};
  if (b.hasAttribute(prefix + "_int64s"))
    return Table{b.graph.raw().getI64Type(),
                 {},
                 b.intsAttribute(prefix + "_int64s"),
                 {}};
  if (auto table =
          tableOf(b, b.attribute(prefix + "_tensor", AttributeProto::TENSOR)))
    return table;
  b.fail("expected " + prefix + "_strings, " + prefix + "_int64s, " + prefix +
         "_floats or a tensor of at most " + Twine(kMaxFoldedElements) +
         " numbers or of strings, " + prefix + "_tensor");
  return std::nullopt;
}

/// Puts what stands for all that is no key behind the values.
void addDefault(NodeBuilder &b, Table &table) {
  auto given =
      tableOf(b, b.attribute("default_tensor", AttributeProto::TENSOR));
  bool isGiven = given && given->size() == 1 && given->isLike(table);
  if (b.hasAttribute("default_tensor") && !isGiven)
    b.fail("attribute default_tensor: expected one element of the type of the "
           "values");
  int64_t integer = b.intAttribute("default_int64", -1);
  std::string string = b.stringAttribute("default_string", "_Unused");
  double number = isa_and_present<FloatType>(table.element)
                      ? b.floatAttribute("default_float", -0.0)
                      : static_cast<double>(integer);
  if (table.isString())
    table.strings.push_back(isGiven ? given->strings.front() : string);
  else if (table.isInteger())
    table.integers.push_back(isGiven ? given->integers.front() : integer);
  else
    table.numbers.push_back(isGiven ? given->numbers.front() : number);
}

/// Which of the keys each number is; their number, if it is none.
Value placesOf(NodeBuilder &b, const Table &keys, Value x) {
  auto count = static_cast<int64_t>(keys.size());
  Ints shape(b.shape(x));
  shape.push_back(1);
  Value key = b.reshape(x, shape);
  Value isKey = b.compare(Predicate::Equal, key, keys.constant(b));
  if (isa<FloatType>(keys.element)) // NaN is a key, too.
    for (auto [i, value] : llvm::enumerate(keys.numbers))
      if (std::isnan(value)) {
        Value here = b.compare(Predicate::Equal, b.iota(count),
                               b.scalar(b.graph.raw().getI64Type(), i));
        isKey = b.where(
            b.create<graph::AndOp>({b.create<graph::IsNanOp>({key}), here}),
            here, isKey);
      }
  Type i64 = b.graph.raw().getI64Type();
  Value place = b.where(isKey, b.iota(count), b.scalar(i64, count));
  return b.reduce(Kind::Min, place, b.rank(x), /*keepdims=*/false);
}

/// Each element replaced by the value of its key, or by a default.
Results replaceLabels(NodeBuilder &b, const Table &keys, Table values) {
  bool isString = b.isString(0);
  Value x = isString ? b.strings(0) : b.input(0);
  if (!x)
    return {Value()};
  auto count = static_cast<int64_t>(keys.size());
  bool fits = isString ? keys.isString() : keys.element == b.element(x);
  if (!fits || count < 1 || values.size() != keys.size())
    return {b.fail("expected as many keys as values, of the type of the input "
                   "elements, found " +
                   Twine(count) + " and " + Twine(values.size()))};
  addDefault(b, values);
  Value place = isString ? placesIn(b, x, keys.strings) : placesOf(b, keys, x);
  Value y = b.gather(values.constant(b), place, 0);
  return values.isString() ? giveStrings(b, y) : Results{y};
}

Results labelEncoder(NodeBuilder &b) {
  auto keys = readTable(b, "keys");
  auto values = keys ? readTable(b, "values") : std::nullopt;
  if (!values)
    return {Value()};
  return replaceLabels(b, *keys, std::move(*values));
}

/// Strings to integers, or these to strings, by two lists.
Results betweenIntegers(NodeBuilder &b, StringList strings, Ints integers) {
  Table ofStrings{{}, {}, {}, std::move(strings)};
  Table ofIntegers{b.graph.raw().getI64Type(), {}, std::move(integers), {}};
  return b.isString(0) ? replaceLabels(b, ofStrings, ofIntegers)
                       : replaceLabels(b, ofIntegers, ofStrings);
}

/// The first operator set of LabelEncoder: a string's place in a list.
Results labelEncoderOfClasses(NodeBuilder &b) {
  StringList classes = stringsAttribute(b, "classes_strings");
  auto count = static_cast<int64_t>(classes.size());
  return betweenIntegers(b, std::move(classes),
                         llvm::to_vector(llvm::seq<int64_t>(count)));
}

Results categoryMapper(NodeBuilder &b) {
  return betweenIntegers(b, stringsAttribute(b, "cats_strings"),
                         b.intsAttribute("cats_int64s"));
}

} // namespace

OpFamily labelOps() {
  return {
      {"ai.onnx.ml.CategoryMapper", categoryMapper, {1, 1, 1}, Takes::Strings},
      {"ai.onnx.ml.LabelEncoder",
       labelEncoderOfClasses,
       {1, 1, 1},
       Takes::Strings},
      {"ai.onnx.ml.LabelEncoder", labelEncoder, {2, 1, 1}, Takes::Strings}};
}

} // namespace tinh::onnx
