//===- Quantization.cpp - To and from integers with a scale -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantised tensor is integers q that stand for (q - zero point) · scale,
// with one scale and zero point, or one for each index of an axis, or one for
// each block of indices along it. Products of quantised tensors are computed in
// i32, exactly.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Windows.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

using Kind = graph::ReduceKind;

Type i32(NodeBuilder &b) { return b.graph.raw().getI32Type(); }

/// Which inputs hold the scale and the zero point, and their axis in x.
struct Parameters {
  int scale, zeroPoint;
  int64_t axis, blockSize;
};

/// An input of parameters, in a shape that broadcasts with `x`.
Value align(NodeBuilder &b, int i, Value x, const Parameters &p) {
  Value value = b.input(i);
  if (!value || b.rank(value) == 0 || b.type(value).getNumElements() == 1)
    return b.reshape(value, {});
  auto axis = b.axis(p.axis, b.rank(x));
  if (!axis)
    return {};
  int64_t extent = b.shape(x)[*axis];
  if (b.rank(value) == 1 && b.shape(value)[0] == extent) {
    Ints to(b.rank(x), 1);
    to[*axis] = extent;
    return b.reshape(value, to);
  }
  bool isBlocked =
      p.blockSize > 0 && b.rank(value) == b.rank(x) &&
      b.shape(value)[*axis] == (extent + p.blockSize - 1) / p.blockSize;
  if (!isBlocked)
    return b.fail("the parameters " + graph::shapeToString(value.getType()) +
                  " do not fit axis " + Twine(*axis) + " of " +
                  graph::shapeToString(x.getType()));
  Ints blocks;
  for (int64_t at = 0; at < extent; ++at)
    blocks.push_back(at / p.blockSize);
  return b.gather(value, blocks, *axis);
}

/// (x - zero point) as integers.
Value centre(NodeBuilder &b, Value x, const Parameters &p) {
  Value y = b.cast(x, i32(b));
  if (!y || !b.has(p.zeroPoint))
    return y;
  return b.sub(y, b.cast(align(b, p.zeroPoint, x, p), i32(b)));
}

Value dequantize(NodeBuilder &b, Value x, const Parameters &p) {
  Value scale = align(b, p.scale, x, p);
  if (!scale)
    return {};
  return b.mul(b.cast(centre(b, x, p), b.element(scale)), scale);
}

/// A float as the nearest integer of a type, plus a zero point, which may be
/// null; halves to even.
Value toInteger(NodeBuilder &b, Value x, Value zeroPoint, Type type) {
  auto integer = dyn_cast_or_null<IntegerType>(type);
  if (!x || !integer || integer.getWidth() > 16)
    return b.fail("only integers of 8 and 16 bits are supported as quantised "
                  "elements");
  unsigned width = integer.getWidth();
  bool isUnsigned = integer.isUnsigned();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, static_cast<int>(width) - 1);
  double high = low + std::ldexp(1.0, static_cast<int>(width)) - 1;
  Value y = b.create<graph::RoundOp>({x});
  if (zeroPoint)
    y = b.add(y, b.cast(zeroPoint, b.element(x)));
  y = b.min(b.max(y, b.scalarLike(x, low)), b.scalarLike(x, high));
  return b.cast(y, type);
}

Type quantizedType(NodeBuilder &b, const Parameters &p) {
  if (b.has(p.zeroPoint)) {
    Value zeroPoint = b.input(p.zeroPoint);
    return zeroPoint ? b.element(zeroPoint) : Type();
  }
  constexpr int64_t kUint8 = 2;
  int64_t type = b.intAttribute("output_dtype", 0);
  return b.elementType(type ? type : kUint8);
}

Results quantizeLinear(NodeBuilder &b) {
  Value x = b.input(0);
  Parameters p{1, 2, b.intAttribute("axis", 1),
               b.intAttribute("block_size", 0)};
  Value scale = align(b, p.scale, x, p);
  Type type = quantizedType(b, p);
  if (!scale || !type)
    return {Value()};
  Type float32 = b.graph.raw().getF32Type();
  Type precision = b.element(scale).isF64() ? b.element(scale) : float32;
  Value scaled = b.div(b.cast(x, precision), b.cast(scale, precision));
  Value zeroPoint = b.has(2) ? align(b, 2, x, p) : Value();
  return {toInteger(b, scaled, zeroPoint, type)};
}

Results dequantizeLinear(NodeBuilder &b) {
  Value x = b.input(0);
  Parameters p{1, 2, b.intAttribute("axis", 1),
               b.intAttribute("block_size", 0)};
  Value y = dequantize(b, x, p);
  int64_t type = b.intAttribute("output_dtype", 0);
  return {type ? b.cast(y, b.elementType(type)) : y};
}

Results dynamicQuantizeLinear(NodeBuilder &b) {
  Value x = b.input(0);
  Type ui8 = IntegerType::get(b.graph.context(), 8, IntegerType::Unsigned);
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(b.rank(x)));
  Value zero = b.scalarLike(x, 0);
  Value high = b.max(b.reduce(Kind::Max, x, axes, false), zero);
  Value low = b.min(b.reduce(Kind::Min, x, axes, false), zero);
  Value scale = b.div(b.sub(high, low), b.scalarLike(x, 255));
  // A tensor of zeros has the scale 0, and is 0 in any.
  Value isZero = b.compare(graph::ComparePredicate::Equal, scale, zero);
  Value divisor = b.where(isZero, b.scalarLike(x, 1), scale);
  Value zeroPoint =
      toInteger(b, b.create<graph::NegOp>({b.div(low, divisor)}), {}, ui8);
  Value y = toInteger(b, b.div(x, divisor), zeroPoint, ui8);
  return {y, scale, zeroPoint};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The zero points of a matrix's rows: a vector broadcasts along columns.
Value centreRows(NodeBuilder &b, Value x, int zeroPoint) {
  Value y = b.cast(x, i32(b));
  if (!y || !b.has(zeroPoint))
    return y;
  Value zero = b.cast(b.input(zeroPoint), i32(b));
  if (zero && b.rank(zero) == 1 && b.shape(zero)[0] > 1)
    zero = b.reshape(zero, {b.shape(zero)[0], 1});
  return b.sub(y, zero);
}

Value centreColumns(NodeBuilder &b, Value x, int zeroPoint) {
  Value y = b.cast(x, i32(b));
  if (!y || !b.has(zeroPoint))
    return y;
  return b.sub(y, b.cast(b.input(zeroPoint), i32(b)));
}

Results matmulInteger(NodeBuilder &b) {
  return {
      b.matmul(centreRows(b, b.input(0), 2), centreColumns(b, b.input(1), 3))};
}

/// Scales the exact product from the scales of the operands to the result's.
Value requantize(NodeBuilder &b, Value product, Value from, Value to,
                 Value zeroPoint) {
  if (b.failed() || !product || !from || !to || !zeroPoint)
    return {};
  Type float32 = b.graph.raw().getF32Type();
  Value factor = b.div(b.cast(from, float32), b.cast(to, float32));
  Value scaled = b.mul(b.cast(product, float32), factor);
  return toInteger(b, scaled, zeroPoint, b.element(zeroPoint));
}

/// (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
Results qlinearMatmul(NodeBuilder &b) {
  Value product =
      b.matmul(centreRows(b, b.input(0), 2), centreColumns(b, b.input(3), 5));
  Value aScale = b.input(1), bScale = b.input(4);
  if (aScale && b.rank(aScale) == 1 && b.shape(aScale)[0] > 1)
    aScale = b.reshape(aScale, {b.shape(aScale)[0], 1});
  return {
      requantize(b, product, b.mul(aScale, bScale), b.input(6), b.input(7))};
}

// Zero points are subtracted first, so that padding is 0.
Results convInteger(NodeBuilder &b) {
  Value x = centre(b, b.input(0), {0, 2, 1, 0});
  Value weights = centre(b, b.input(1), {0, 3, 0, 0});
  return {convolve(b, x, weights)};
}

/// (x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point,
/// bias)
Results qlinearConv(NodeBuilder &b) {
  Value weights = b.input(3);
  Value product = convolve(b, centre(b, b.input(0), {1, 2, 1, 0}),
                           centre(b, weights, {4, 5, 0, 0}));
  if (!product)
    return {Value()};
  if (b.has(8))
    product = b.add(product, b.perChannel(b.input(8), b.rank(product)));
  Value wScale = b.input(4);
  if (b.rank(wScale) == 1 && b.shape(wScale)[0] > 1)
    wScale = b.perChannel(wScale, b.rank(product));
  return {requantize(b, product, b.mul(b.input(1), wScale), b.input(6),
                     b.input(7))};
}

} // namespace

ArrayRef<OpEntry> quantizationOps() {
  static const OpEntry entries[] = {
      {"ConvInteger", 10, 2, 4, convInteger},
      {"DequantizeLinear", 10, 2, 3, dequantizeLinear},
      {"DynamicQuantizeLinear", 11, 1, 1, dynamicQuantizeLinear},
      {"MatMulInteger", 10, 2, 4, matmulInteger},
      {"QLinearConv", 10, 8, 9, qlinearConv},
      {"QLinearMatMul", 10, 8, 8, qlinearMatmul},
      {"QuantizeLinear", 10, 2, 3, quantizeLinear},
  };
  return entries;
}

} // namespace tinh::onnx
