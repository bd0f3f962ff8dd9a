//===- Quantization.cpp - To and from integers with a scale, in linalg ----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Quantization/Quantization.h"
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Linalg/StorageFloats.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

bool isZero(Value x) { return matchPattern(x, m_Zero()); }

/// The nearest integer to `x`, which is no larger than 2^21, halves to even, in
/// the low bits of the result. To add 1.5 · 2^23 leaves no bits of an f32 for
/// fractions, and rounds on all machines by two instructions.
Value roundToBits(Scalars &s, Value x) {
  if (x.getType().isF64())
    return s.convert(math::RoundEvenOp::create(s.b, x), s.b.getI32Type());
  Value shifted = s.add(x, s.like(x, 0x1.8p23));
  return arith::BitcastOp::create(s.b, s.b.getI32Type(), shifted);
}

/// `x` between bounds, each by one instruction; NaN becomes the lower one.
Value clamp(Scalars &s, Value x, Value low, Value high) {
  x = s.select(s.less(low, x), x, low);
  return s.select(s.less(x, high), x, high);
}

/// x / scale, by the reciprocal of one that is known and has one.
Value divide(Scalars &s, Value x, Value scale) {
  FloatAttr known;
  if (!matchPattern(scale, m_Constant(&known)))
    return s.div(x, scale);
  double number = known.getValueAsDouble();
  if (!transforms::hasReciprocal(number))
    return s.div(x, scale);
  return number == 1 ? x : s.mul(x, s.like(x, 1 / number));
}

/// round(x / scale) + zero point, within the range of `type`.
Value quantize(Scalars &s, Value x, Value scale, Value zero, IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  auto number = [&](const APInt &value) {
    return s.like(x, isUnsigned ? double(value.getZExtValue())
                                : double(value.getSExtValue()));
  };
  unsigned width = type.getWidth();
  Value low = number(isUnsigned ? APInt::getMinValue(width)
                                : APInt::getSignedMinValue(width));
  Value high = number(isUnsigned ? APInt::getMaxValue(width)
                                 : APInt::getSignedMaxValue(width));
  if (zero) {
    Value shift = Scalars(s.b, isUnsigned).convert(zero, x.getType());
    low = s.sub(low, shift);
    high = s.sub(high, shift);
  }
  Value rounded =
      s.convert(roundToBits(s, clamp(s, divide(s, x, scale), low, high)),
                storageType(type));
  return zero ? s.add(rounded, zero) : rounded;
}

/// x / scale + zero point, as a byte.
Value quantizeToStorageFloat(Scalars &s, Value x, Value scale, Value zero,
                             Type type) {
  Value y = divide(s, x, scale);
  if (zero)
    y = s.add(y, s.convert(decodeStorageFloat(s, zero, type), y.getType()));
  return encodeStorageFloat(s, y, type, /*saturate=*/true);
}

FailureOr<Value> lowerQuantize(graph::QuantizeOp op, Emitter &e,
                               ValueRange operands) {
  Type type = getElementTypeOrSelf(op.getType());
  return e.formula(op.getType(), operands, [&](Scalars &s, ValueRange v) {
    Value zero = v.size() > 2 && !isZero(v[2]) ? v[2] : Value();
    return graph::isStorageFloat(type)
               ? quantizeToStorageFloat(s, v[0], v[1], zero, type)
               : quantize(s, v[0], v[1], zero, cast<IntegerType>(type));
  });
}

/// x - zero point as a float.
Value centre(Scalars &s, Value x, Value zero, FloatType to) {
  Type i32 = s.b.getI32Type();
  x = s.convert(x, i32);
  if (zero)
    x = s.sub(x, s.convert(zero, i32));
  return arith::SIToFPOp::create(s.b, to, x);
}

Value centreStorageFloat(Scalars &s, Value x, Value zero, Type type,
                         FloatType to) {
  x = s.convert(decodeStorageFloat(s, x, type), to);
  return zero ? s.sub(x, s.convert(decodeStorageFloat(s, zero, type), to)) : x;
}

FailureOr<Value> lowerDequantize(graph::DequantizeOp op, Emitter &e,
                                 ValueRange operands) {
  Type type = getElementTypeOrSelf(op.getX().getType());
  return e.formula(op.getType(), operands, [&](Scalars &s, ValueRange v) {
    Value zero = v.size() > 2 && !isZero(v[2]) ? v[2] : Value();
    auto to = cast<FloatType>(v[1].getType());
    Value x = graph::isStorageFloat(type)
                  ? centreStorageFloat(s, v[0], zero, type, to)
                  : centre(s, v[0], zero, to);
    return s.mul(x, v[1]);
  });
}

/// The low or, where `half` is 1, the high four bits of a byte as a number.
Value unpackHalf(Scalars &s, Value byte, Value half, bool isUnsigned) {
  auto number = [&](int64_t value) { return s.integer(byte.getType(), value); };
  Value low = arith::MulIOp::create(s.b, half, number(4));
  if (isUnsigned)
    return arith::AndIOp::create(s.b, arith::ShRUIOp::create(s.b, byte, low),
                                 number(15));
  Value left = arith::SubIOp::create(s.b, number(4), low);
  return arith::ShRSIOp::create(s.b, arith::ShLIOp::create(s.b, byte, left),
                                number(4));
}

FailureOr<Value> lowerUnpackInt4(graph::UnpackInt4Op op, Emitter &e,
                                 ValueRange operands) {
  SmallVector<int64_t> halves(shapeOf(operands[0]));
  int64_t half = static_cast<int64_t>(op.getAxis()) + 1;
  halves.insert(halves.begin() + half, 2);
  SmallVector<AffineExpr> from;
  for (size_t i = 0; i < halves.size(); ++i)
    if (static_cast<int64_t>(i) != half)
      from.push_back(e.dim(i));
  Type byte = e.b.getI8Type();
  Value unpacked = e.parallel(
      halves, byte, operands[0], e.map(halves.size(), from),
      [&](Scalars &s, ValueRange v) {
        Value index =
            arith::IndexCastOp::create(s.b, byte, Emitter::index(s, half));
        return unpackHalf(s, v[0], index,
                          !op.getType().getElementType().isInteger(8) ||
                              hasUnsignedElements(op.getType()));
      });
  return e.reshape(unpacked, op.getType().getShape());
}

} // namespace

void attachQuantizationLowerings(MLIRContext *context) {
  attachLowerings<lowerQuantize, lowerDequantize, lowerUnpackInt4>(context);
}

} // namespace tinh::codegen
