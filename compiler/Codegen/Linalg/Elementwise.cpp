//===- Elementwise.cpp - Element-wise ops as linalg.generic -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One linalg.generic for an op. A formula works on scalars of one type; floats
// narrower than f32 are extended before it and rounded after it. That of an op
// is its Graph_ScalarFunction (ElementwiseOps.td), which may name one that
// stands here.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Linalg/StorageFloats.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace tinh::codegen {
namespace {

using graph::ComparePredicate;

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

Value sign(Scalars &s, Value x) {
  Value zero = s.like(x, 0);
  Value positive = s.select(s.less(zero, x), s.like(x, 1), x);
  if (s.isUnsigned || x.getType().isInteger(1))
    return positive;
  return s.select(s.less(x, zero), s.like(x, -1), positive);
}

Value logicalNot(Scalars &s, Value x) {
  return arith::XOrIOp::create(s.b, x, s.integer(x.getType(), -1));
}

/// A comparison and a choice are one instruction (maxps), and keep NaN.
Value relu(Scalars &s, Value x) {
  if (s.isUnsigned)
    return x;
  Value zero = s.like(x, 0);
  if (!isa<FloatType>(x.getType()))
    return s.max(x, zero);
  return s.select(s.less(x, zero), zero, x);
}

Value reciprocal(Scalars &s, Value x) { return s.div(s.like(x, 1), x); }

/// For large negative x the exponential overflows to infinity and the result
/// is 0, as it should be.
Value sigmoid(Scalars &s, Value x) {
  Value one = s.like(x, 1);
  Value exponential = math::ExpOp::create(s.b, s.neg(x));
  return s.div(one, s.add(one, exponential));
}

/// max(x, 0) + log(1 + e^-|x|): nothing overflows.
Value softplus(Scalars &s, Value x) {
  Value exponential = math::ExpOp::create(s.b, s.neg(s.abs(x)));
  Value tail = math::Log1pOp::create(s.b, exponential);
  return s.add(s.max(x, s.like(x, 0)), tail);
}

Value geluErf(Scalars &s, Value x) {
  Value erf = math::ErfOp::create(s.b, s.mul(x, s.like(x, M_SQRT1_2)));
  return s.mul(s.mul(s.like(x, 0.5), x), s.add(s.like(x, 1), erf));
}

Value geluTanh(Scalars &s, Value x) {
  Value cube = s.mul(s.mul(x, x), x);
  Value inner = s.add(x, s.mul(s.like(x, 0.044715), cube));
  Value tanh = math::TanhOp::create(
      s.b, s.mul(s.like(x, M_2_SQRTPI * M_SQRT1_2), inner));
  return s.mul(s.mul(s.like(x, 0.5), x), s.add(s.like(x, 1), tanh));
}

/// A bound that is known to be a number takes one instruction; x keeps its NaN.
bool isBound(Value y) {
  FloatAttr bound;
  return matchPattern(y, m_Constant(&bound)) && !bound.getValue().isNaN();
}
Value max(Scalars &s, Value x, Value y) {
  return isBound(y) ? s.select(s.less(x, y), y, x) : s.max(x, y);
}
Value min(Scalars &s, Value x, Value y) {
  return isBound(y) ? s.select(s.less(y, x), y, x) : s.min(x, y);
}

/// The remainder with y's sign: that with x's, moved by y if the signs differ.
Value mod(Scalars &s, Value x, Value y) {
  Value r = s.rem(x, y);
  if (s.isUnsigned)
    return r;
  Value zero = s.like(x, 0);
  Value differ = arith::XOrIOp::create(s.b, s.less(r, zero), s.less(y, zero));
  Value move = arith::AndIOp::create(s.b, differ, s.notEqual(r, zero));
  return s.select(move, s.add(r, y), r);
}

/// Shifting all bits out leaves 0, or the sign of a signed number shifted to
/// the right.
Value shiftLeft(Scalars &s, Value x, Value y) {
  int64_t width = x.getType().getIntOrFloatBitWidth();
  Value fits = arith::CmpIOp::create(s.b, arith::CmpIPredicate::ult, y,
                                     s.integer(y.getType(), width));
  Value zero = s.like(x, 0);
  Value amount = s.select(fits, y, zero);
  return s.select(fits, arith::ShLIOp::create(s.b, x, amount), zero);
}

Value shiftRight(Scalars &s, Value x, Value y) {
  int64_t width = x.getType().getIntOrFloatBitWidth();
  Value fits = arith::CmpIOp::create(s.b, arith::CmpIPredicate::ult, y,
                                     s.integer(y.getType(), width));
  if (!s.isUnsigned) {
    Value amount = s.select(fits, y, s.integer(y.getType(), width - 1));
    return arith::ShRSIOp::create(s.b, x, amount);
  }
  Value zero = s.like(x, 0);
  Value amount = s.select(fits, y, zero);
  return s.select(fits, arith::ShRUIOp::create(s.b, x, amount), zero);
}

/// x to a power that is known, if there is a cheap formula for it.
Value constantPower(Scalars &s, Value x, double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return s.mul(x, x);
  if (exponent == 3)
    return s.mul(s.mul(x, x), x);
  if (exponent == 4) {
    Value square = s.mul(x, x);
    return s.mul(square, square);
  }
  if (exponent == -1)
    return reciprocal(s, x);
  return {};
}

/// Powers of integers are computed in f64: exact up to 2^53, once they are
/// rounded, as a GPU's are only nearly so.
Value pow(Scalars &s, Value x, Value y) {
  Type type = x.getType();
  FloatAttr exponent;
  if (matchPattern(y, m_Constant(&exponent)))
    if (Value power = constantPower(s, x, exponent.getValueAsDouble()))
      return power;
  if (isa<FloatType>(type))
    return math::PowFOp::create(s.b, x, y);
  Type f64 = s.b.getF64Type();
  Value power = math::PowFOp::create(s.b, s.convert(x, f64), s.convert(y, f64));
  power = math::RoundEvenOp::create(s.b, power);
  return s.convert(power, type, s.isUnsigned);
}

//===----------------------------------------------------------------------===//
// Lowerings
//===----------------------------------------------------------------------===//

using Formula1 = Value (*)(Scalars &, Value);
using Formula2 = Value (*)(Scalars &, Value, Value);

template <typename Op, Formula1 formula>
FailureOr<Value> lowerUnary(Op op, Emitter &e, ValueRange operands) {
  return e.formula(op.getType(), operands,
                   [](Scalars &s, ValueRange v) { return formula(s, v[0]); });
}

template <typename Op, Formula2 formula>
FailureOr<Value> lowerBinary(Op op, Emitter &e, ValueRange operands) {
  return e.formula(op.getType(), operands, [](Scalars &s, ValueRange v) {
    return formula(s, v[0], v[1]);
  });
}

FailureOr<Value> lowerGelu(graph::GeluOp op, Emitter &e, ValueRange operands) {
  Formula1 formula = op.getTanhApproximation() ? geluTanh : geluErf;
  return e.formula(op.getType(), operands,
                   [=](Scalars &s, ValueRange v) { return formula(s, v[0]); });
}

Value castElement(Scalars &s, Value x, graph::CastOp op) {
  Type from = getElementTypeOrSelf(op.getX()),
       to = getElementTypeOrSelf(op.getY()), element = storageType(to);
  if (graph::isStorageFloat(from))
    x = decodeStorageFloat(s, x, from);
  if (graph::isStorageFloat(to)) {
    if (isa<Float8E8M0FNUType>(to))
      return encodePower(s, s.convert(x, s.b.getF32Type()), op.getRounding(),
                         op.getSaturate());
    Type wide = from.isF64() ? from : s.b.getF32Type();
    return encodeStorageFloat(s, s.convert(x, wide), to, op.getSaturate());
  }
  return op.getContract() ? s.convertWithin(x, element)
                          : s.convert(x, element, to.isUnsignedInteger());
}

FailureOr<Value> lowerCast(graph::CastOp op, Emitter &e, ValueRange operands) {
  return e.elementwise(
      shapeOf(operands[0]), getElementTypeOrSelf(op.getType()), operands,
      [=](Scalars &s, ValueRange v) { return castElement(s, v[0], op); });
}

FailureOr<Value> lowerBitcast(graph::BitcastOp op, Emitter &e,
                              ValueRange operands) {
  Type to = storageType(getElementTypeOrSelf(op.getType()));
  return e.elementwise(
      shapeOf(operands[0]), to, operands, [=](Scalars &s, ValueRange v) {
        return v[0].getType() == to
                   ? v[0]
                   : arith::BitcastOp::create(s.b, to, v[0]).getResult();
      });
}

FailureOr<Value> lowerCompare(graph::CompareOp op, Emitter &e,
                              ValueRange operands) {
  ComparePredicate predicate = op.getPredicate();
  return e.formula(op.getType(), operands, [=](Scalars &s, ValueRange v) {
    return s.compare(predicate, v[0], v[1]);
  });
}

FailureOr<Value> lowerWhere(graph::WhereOp op, Emitter &e,
                            ValueRange operands) {
  return e.formula(op.getType(), operands, [](Scalars &s, ValueRange v) {
    return s.select(v[0], v[1], v[2]);
  });
}

} // namespace

void attachElementwiseLowerings(MLIRContext *context) {
#define UNARY_SCALAR(NAME, ...)                                                \
  attachLowerings<                                                             \
      lowerUnary<graph::NAME##Op, [](Scalars &s, Value x) -> Value {           \
        return __VA_ARGS__;                                                    \
      }>>(context);
#define BINARY_SCALAR(NAME, ...)                                               \
  attachLowerings<                                                             \
      lowerBinary<graph::NAME##Op, [](Scalars &s, Value a, Value b) -> Value { \
        return __VA_ARGS__;                                                    \
      }>>(context);
#include "dialects/graph/ElementwiseOps.inc"
  attachLowerings<lowerGelu, lowerCast, lowerBitcast, lowerCompare, lowerWhere>(
      context);
}

} // namespace tinh::codegen
