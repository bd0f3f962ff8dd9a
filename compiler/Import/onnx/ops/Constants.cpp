//===- Constants.cpp - Ops that make constants ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/Strings.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

Results constant(NodeBuilder &b) {
  if (auto strings = stringConstant(b))
    return *strings;
  Type f32 = b.graph.raw().getF32Type();
  if (auto *a = b.attribute("value", AttributeProto::TENSOR))
    return {b.tensor(a->t())};
  if (auto *a = b.attribute("value_float", AttributeProto::FLOAT))
    return {b.scalar(f32, a->f())};
  if (auto *a = b.attribute("value_int", AttributeProto::INT))
    return {b.constantInts({}, a->i())};
  if (auto *a = b.attribute("value_floats", AttributeProto::FLOATS)) {
    SmallVector<double> values(a->floats().begin(), a->floats().end());
    return {b.constantFloats(f32, static_cast<int64_t>(values.size()), values)};
  }
  if (b.hasAttribute("value_ints")) {
    Ints values = b.intsAttribute("value_ints");
    return {b.constantInts(static_cast<int64_t>(values.size()), values)};
  }
  return {b.fail("only dense constants are supported: value, value_float, "
                 "value_floats, value_int, value_ints, value_string, "
                 "value_strings")};
}

/// A splat, so that its size does not matter.
Results constantOfShape(NodeBuilder &b) {
  auto extents = b.extents(0, "the shape");
  if (!extents)
    return {Value()};
  const Ints *shape = &extents->bounds;
  if (!countElements(*shape))
    return {b.fail("the shape " + formatShape(*shape) +
                   " is negative or beyond any memory")};
  auto *a = b.attribute("value", AttributeProto::TENSOR);
  Value one = a ? b.tensor(a->t()) : b.scalar(b.graph.raw().getF32Type(), 0);
  if (!one)
    return {Value()};
  auto value = b.graph.constantOf(one);
  if (!value || value->getNumElements() != 1)
    return {b.fail("attribute value must have one element")};
  auto type = RankedTensorType::get(*shape, value->getElementType());
  Value splat = b.graph.constant(
      DenseElementsAttr::get(type, *value->getValues<Attribute>().begin()));
  return {b.withSizes(splat, *extents)};
}

/// From 0 up to a limit that the run decides, by 1; null if it is none.
Value countingRange(NodeBuilder &b) {
  Value limit = b.input(1);
  if (!limit || !b.element(limit).isInteger(64) || b.graph.constantOf(limit) ||
      !b.graph.boundOf(limit))
    return {};
  auto start = b.integer(0, "start"), delta = b.integer(2, "delta");
  if (!start || !delta)
    return {};
  auto bound = denseToInts(*b.graph.boundOf(limit)).front();
  if (*delta != 1 || bound < *start)
    return b.fail("a range whose limit the run decides must go up by 1, from "
                  "at most the limit; found a step of " +
                  Twine(*delta));
  Value count = b.reshape(limit, {});
  if (*start != 0)
    count = b.sub(count, b.scalar(b.element(limit), *start));
  count = b.max(count, b.scalar(b.element(limit), 0));
  return b.setDimensionSize(b.iota(bound - *start, *start), 0, count);
}

/// start + i · delta
Results range(NodeBuilder &b) {
  if (Value counting = countingRange(b); counting || b.failed())
    return {counting};
  auto start = b.number(0, "start"), limit = b.number(1, "limit");
  if (!start || !limit)
    return {Value()};
  auto delta = b.number(2, "delta");
  if (!delta)
    return {Value()};
  Type element = b.element(b.input(0));
  double count = std::ceil((*limit - *start) / *delta);
  if (!(*delta != 0) || !(count < 1e9))
    return {b.fail("a range from " + Twine(std::to_string(*start)) + " to " +
                   Twine(std::to_string(*limit)) + " by " +
                   Twine(std::to_string(*delta)) + " has no sensible length")};
  int64_t size = count > 0 ? static_cast<int64_t>(count) : 0;
  bool isFloat = isa<FloatType>(element);
  int64_t first = isFloat ? 0 : static_cast<int64_t>(*start);
  int64_t step = isFloat ? 1 : static_cast<int64_t>(*delta);
  Value y = b.cast(b.iota(size, first, step), element);
  if (!isFloat)
    return {y};
  return {
      b.add(b.mul(y, b.scalar(element, *delta)), b.scalar(element, *start))};
}

Results eyeLike(NodeBuilder &b) {
  Value x = b.input(0);
  if (b.rank(x) != 2)
    return {b.fail("expected a matrix, found " +
                   graph::shapeToString(x.getType()))};
  Type element = b.hasAttribute("dtype")
                     ? b.elementType(b.intAttribute("dtype", 0))
                     : b.element(x);
  int64_t rows = b.shape(x)[0], columns = b.shape(x)[1];
  Value row = b.reshape(b.iota(rows, b.intAttribute("k", 0)), {rows, 1});
  Value same = b.compare(Predicate::Equal, b.iota(columns), row);
  return {b.cast(same, element)};
}

} // namespace

OpFamily constantOps() {
  return {{"Constant", constant},
          {"ConstantOfShape", constantOfShape},
          {"EyeLike", eyeLike},
          {"Range", range}};
}

} // namespace tinh::onnx
