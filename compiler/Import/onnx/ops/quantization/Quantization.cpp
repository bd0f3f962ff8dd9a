//===- Quantization.cpp - To and from integers with a scale -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantised tensor is integers q, or floats of 8 or 4 bits, that stand for
// (q - zero point) · scale, with one scale and zero point, or one for each
// index of an axis, or one for each block of indices along it. Products of
// quantised integers are computed in i32, exactly.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/quantization/Quantization.h"

#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Products.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

Type i32(NodeBuilder &b) { return b.graph.raw().getI32Type(); }

/// x, its scale and its zero point, which may be null, in shapes that broadcast
/// to that of x.
struct Quantized {
  Value x, scale, zeroPoint;
};

/// What a dimension of parameters is reshaped to, and that of x with it.
struct Alignment {
  Ints x, parameters;
};

/// A vector for an axis of x, or one value for each block of indices.
std::optional<Alignment> alignmentOf(NodeBuilder &b, Value x, Value value,
                                     const Parameters &p) {
  if (!x || !value)
    return std::nullopt;
  if (b.rank(value) == 0 || b.type(value).getNumElements() == 1)
    return Alignment{Ints(b.shape(x)), {}};
  auto axis = b.axis(p.axis, b.rank(x));
  if (!axis)
    return std::nullopt;
  int64_t extent = b.shape(x)[*axis];
  if (b.rank(value) == 1 && b.shape(value)[0] == extent) {
    Ints to(b.rank(x), 1);
    to[*axis] = extent;
    return Alignment{Ints(b.shape(x)), to};
  }
  if (b.shape(value) == b.shape(x))
    return Alignment{Ints(b.shape(x)), Ints(b.shape(x))};
  Ints blocks(b.shape(x)), inBlocks(blocks), perBlock;
  if (p.blockSize > 0 && extent % p.blockSize == 0) {
    blocks[*axis] = extent / p.blockSize;
    perBlock = blocks;
    perBlock.insert(perBlock.begin() + *axis + 1, 1);
    inBlocks = blocks;
    inBlocks.insert(inBlocks.begin() + *axis + 1, p.blockSize);
  }
  if (perBlock.empty() || b.shape(value) != ArrayRef(blocks)) {
    b.fail("the parameters " + graph::shapeToString(value.getType()) +
           " do not fit axis " + Twine(*axis) + " of " +
           graph::shapeToString(x.getType()) +
           (p.blockSize ? " in blocks of " + Twine(p.blockSize) : Twine("")));
    return std::nullopt;
  }
  return Alignment{inBlocks, perBlock};
}

/// The parameters of each index of x's axis, if its last block is not whole;
/// otherwise they stay.
Value repeatInBlocks(NodeBuilder &b, Value x, Value value,
                     const Parameters &p) {
  if (!x || !value || p.blockSize <= 0 || b.rank(value) != b.rank(x) ||
      b.rank(x) == 0)
    return value;
  auto axis = b.axis(p.axis, b.rank(x));
  if (!axis)
    return {};
  int64_t extent = b.shape(x)[*axis];
  Ints blocks(b.shape(x));
  blocks[*axis] = llvm::divideCeil(extent, p.blockSize);
  if (extent % p.blockSize == 0 || b.shape(value) != ArrayRef(blocks))
    return value;
  Ints blockOf;
  for (int64_t i = 0; i < extent; ++i)
    blockOf.push_back(i / p.blockSize);
  return b.gather(value, blockOf, *axis);
}

/// What is done with a scale: to divide by 0 gives no integers.
enum class Use { Multiply, Divide };

/// Whether all scales that are known when the model is compiled are finite, and
/// none that divides is 0.
bool isValidScale(NodeBuilder &b, Value scale, Use use) {
  auto known = scale ? b.graph.constantOf(scale) : std::nullopt;
  if (!known || !isa<FloatType>(known->getElementType()))
    return true;
  for (const APFloat &x : known->getValues<APFloat>()) {
    if (x.isFinite() && !(use == Use::Divide && x.isZero()))
      continue;
    SmallString<16> found;
    x.toString(found);
    b.fail(Twine(use == Use::Divide
                     ? "expected scales that are finite and not 0, found "
                     : "expected finite scales, found ") +
           found);
    return false;
  }
  return true;
}

/// A scale to compute with: powers of two become f32, which has them all.
Value inputScale(NodeBuilder &b, int i) {
  Value scale = b.input(i);
  return scale && isa<Float8E8M0FNUType>(b.element(scale))
             ? b.cast(scale, b.graph.raw().getF32Type())
             : scale;
}

std::optional<Quantized> align(NodeBuilder &b, Value x, const Parameters &p,
                               Use use) {
  Value scale = repeatInBlocks(b, x, inputScale(b, p.scale), p);
  auto alignment = alignmentOf(b, x, scale, p);
  if (!alignment || !isValidScale(b, scale, use) || b.failed())
    return std::nullopt;
  Quantized q{
      b.reshape(x, alignment->x), b.reshape(scale, alignment->parameters), {}};
  if (!b.has(p.zeroPoint))
    return q;
  Value zero = repeatInBlocks(b, x, b.input(p.zeroPoint), p);
  if (zero && b.shape(zero) != b.shape(scale) &&
      b.type(zero).getNumElements() > 1) {
    b.fail("the zero point " + graph::shapeToString(zero.getType()) +
           " has not the shape of the scale " +
           graph::shapeToString(scale.getType()));
    return std::nullopt;
  }
  bool isScalar = zero && b.type(zero).getNumElements() == 1;
  q.zeroPoint = b.reshape(zero, isScalar ? Ints() : alignment->parameters);
  return b.failed() ? std::nullopt : std::optional(q);
}

} // namespace

Value dequantize(NodeBuilder &b, Value x, const Parameters &p) {
  auto q = align(b, x, p, Use::Multiply);
  if (!q)
    return {};
  Ints shape(b.shape(x));
  SmallVector<Value> operands{q->x, q->scale};
  if (q->zeroPoint)
    operands.push_back(q->zeroPoint);
  Type type = b.type(q->x).clone(b.element(q->scale));
  return b.reshape(b.create<graph::DequantizeOp>(operands, {}, type), shape);
}

namespace {

/// (x - zero point) as integers.
Value centre(NodeBuilder &b, Value x, int zeroPoint, int64_t axis) {
  Value y = b.cast(x, i32(b));
  if (!y || !b.has(zeroPoint))
    return y;
  Value zero = b.cast(b.input(zeroPoint), i32(b));
  auto alignment = alignmentOf(b, x, zero, {0, 0, axis, 0});
  return alignment ? b.sub(y, b.reshape(zero, alignment->parameters)) : Value();
}

bool isQuantized(Type element) {
  auto integer = dyn_cast_or_null<IntegerType>(element);
  return integer ? integer.getWidth() == 8 || integer.getWidth() == 16
                 : element && graph::isStorageFloat(element) &&
                       !isa<Float8E8M0FNUType>(element);
}

/// Floats as the nearest elements of a type, in units of a scale. What is
/// beyond the range of floats of 8 bits may become infinite, or NaN.
Value quantize(NodeBuilder &b, const Quantized &q, Type element,
               bool saturate = true) {
  if (!isQuantized(element)) {
    std::string found = "none";
    if (element)
      llvm::raw_string_ostream(found = "") << element;
    return b.fail("expected integers of 8 or 16 bits, or floats of 8 or 4, as "
                  "quantised elements, found " +
                  found);
  }
  Type float32 = b.graph.raw().getF32Type();
  Type precision = b.element(q.scale).isF64() ? b.element(q.scale) : float32;
  Value x = b.cast(q.x, precision), scale = b.cast(q.scale, precision);
  if (!saturate && graph::isStorageFloat(element)) {
    Value y = b.div(x, scale);
    if (q.zeroPoint)
      y = b.add(y, b.cast(q.zeroPoint, precision));
    return b.cast(y, element);
  }
  SmallVector<Value> operands{x, scale};
  if (q.zeroPoint)
    operands.push_back(q.zeroPoint);
  return b.create<graph::QuantizeOp>(operands, {}, b.type(q.x).clone(element));
}

/// The TensorProto.DataType that QuantizeLinear makes; 0 if no more is known
/// than what its zero point has become.
int quantizedType(NodeBuilder &b, int zeroPoint) {
  if (b.has(zeroPoint))
    return b.inputType(zeroPoint);
  auto type = static_cast<int>(b.intAttribute("output_dtype", 0));
  return type ? type : TensorProto::UINT8;
}

/// Bytes limited to what so many bits hold.
Value limitToBits(NodeBuilder &b, Value y, int bits) {
  if (!y)
    return {};
  bool isUnsigned = b.element(y).isUnsignedInteger();
  double levels = 1 << bits;
  return b.clamp(y, isUnsigned ? Value() : b.scalarLike(y, -levels / 2),
                 b.scalarLike(y, (isUnsigned ? levels : levels / 2) - 1));
}

Results quantizeLinear(NodeBuilder &b) {
  Value x = b.input(0);
  auto q = align(
      b, x, {1, 2, b.intAttribute("axis", 1), b.intAttribute("block_size", 0)},
      Use::Divide);
  if (!q)
    return {Value()};
  int type = quantizedType(b, 2);
  Type element = type ? valueElementType(type, b.graph.context())
                      : b.element(q->zeroPoint);
  if (!element) // Which says that there is none.
    return {b.cast(x, b.elementType(type))};
  Value y = quantize(b, *q, element, b.intAttribute("saturate", 1) != 0);
  if (int bits = integerBits(type))
    y = limitToBits(b, y, bits);
  return {b.reshape(y, Ints(b.shape(x)))};
}

Results dequantizeLinear(NodeBuilder &b) {
  int64_t type = b.intAttribute("output_dtype", 0);
  Value given = b.input(1);
  if (type == 0 && given && isa<Float8E8M0FNUType>(b.element(given)))
    return {b.fail("a scale of FLOAT8E8M0 does not say which floats the result "
                   "has: attribute output_dtype is missing")};
  Value y = dequantize(
      b, b.input(0),
      {1, 2, b.intAttribute("axis", 1), b.intAttribute("block_size", 0)});
  return {type ? b.cast(y, b.elementType(type)) : y};
}

} // namespace

DynamicallyQuantized quantizeDynamically(NodeBuilder &b, Value x) {
  if (!x)
    return {};
  Type ui8 = IntegerType::get(b.graph.context(), 8, IntegerType::Unsigned);
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(b.rank(x)));
  Value zero = b.scalarLike(x, 0);
  Value high = b.max(b.reduce(Kind::Max, x, axes, false), zero);
  Value low = b.min(b.reduce(Kind::Min, x, axes, false), zero);
  Value scale = b.div(b.sub(high, low), b.scalarLike(x, 255));
  // A tensor of zeros has the scale 0, and is 0 in any.
  Value isZero = b.compare(Predicate::Equal, scale, zero);
  Value divisor = b.where(isZero, b.scalarLike(x, 1), scale);
  // From 0 to 255: low is not above 0, and not lower than -255 times the scale.
  Value zeroPoint = b.cast(
      b.create<graph::RoundOp>({b.create<graph::NegOp>({b.div(low, divisor)})}),
      ui8);
  return {quantize(b, {x, divisor, zeroPoint}, ui8), scale, zeroPoint};
}

namespace {

Results dynamicQuantizeLinear(NodeBuilder &b) {
  DynamicallyQuantized q = quantizeDynamically(b, b.input(0));
  return {q.x, q.scale, q.zeroPoint};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Results matmulInteger(NodeBuilder &b) {
  // Zero points of a are for its rows, those of b for its columns.
  return {b.matmul(centre(b, b.input(0), 2, -2), centre(b, b.input(1), 3, -1))};
}

} // namespace

Value requantize(NodeBuilder &b, Value result, int scale, int zeroPoint,
                 Type otherwise) {
  bool isGiven = !otherwise || b.has(zeroPoint);
  Value zero = isGiven ? b.input(zeroPoint) : Value(), to = b.input(scale);
  if (b.failed() || !result || !isValidScale(b, to, Use::Divide))
    return {};
  Quantized q{result, b.reshape(to, {}), zero ? b.reshape(zero, {}) : zero};
  return b.failed() ? Value()
                    : quantize(b, q, zero ? b.element(zero) : otherwise);
}

namespace {

/// (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
Results qlinearMatmul(NodeBuilder &b) {
  // The parameters of a are for its rows, those of b for its columns.
  Value left = dequantize(b, b.input(0), {1, 2, -2, 0}),
        right = dequantize(b, b.input(3), {4, 5, -1, 0});
  return {requantize(b, b.matmul(left, right), 6, 7)};
}

// Zero points are subtracted first, so that padding is 0.
Results convInteger(NodeBuilder &b) {
  Value x = centre(b, b.input(0), 2, 1);
  Value weights = centre(b, b.input(1), 3, 0);
  return {convolve(b, x, weights)};
}

/// (x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point,
/// bias)
Results qlinearConv(NodeBuilder &b) {
  Value y = convolve(b, dequantize(b, b.input(0), {1, 2, 1, 0}),
                     dequantize(b, b.input(3), {4, 5, 0, 0}));
  if (!y || !b.has(8))
    return {requantize(b, y, 6, 7)};
  // The bias counts in products of the scales.
  Value bias = b.input(8), scale = b.mul(b.input(1), b.input(4));
  if (!bias || !scale)
    return {Value()};
  if (b.type(scale).getNumElements() == 1)
    scale = b.reshape(scale, {});
  bias = b.create<graph::DequantizeOp>({bias, scale}, {},
                                       b.type(bias).clone(b.element(scale)));
  return {requantize(b, b.add(y, b.perChannel(bias, b.rank(y))), 6, 7)};
}

} // namespace

OpFamily quantizationOps() {
  return {{"com.microsoft.DequantizeLinear", dequantizeLinear, {1, 2, 3}},
          {"com.microsoft.QuantizeLinear", quantizeLinear, {1, 2, 3}},
          {"ConvInteger", convInteger},
          {"DequantizeLinear", dequantizeLinear},
          {"DynamicQuantizeLinear", dynamicQuantizeLinear},
          {"MatMulInteger", matmulInteger},
          {"QLinearConv", qlinearConv},
          {"QLinearMatMul", qlinearMatmul},
          {"QuantizeLinear", quantizeLinear}};
}

} // namespace tinh::onnx
