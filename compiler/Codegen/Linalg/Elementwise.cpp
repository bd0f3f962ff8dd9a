//===- Elementwise.cpp - Element-wise ops as linalg.generic -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One linalg.generic for an op. A formula works on scalars of one type; floats
// narrower than f32 are extended before it and rounded after it.
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

Value neg(Scalars &s, Value x) { return s.neg(x); }
Value abs(Scalars &s, Value x) { return s.abs(x); }

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

template <typename MathOp> Value math1(Scalars &s, Value x) {
  return MathOp::create(s.b, x);
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

Value isNan(Scalars &s, Value x) { return s.isNan(x); }

Value isInf(Scalars &s, Value x) {
  return s.equal(s.abs(x), s.highest(x.getType()));
}

Value add(Scalars &s, Value x, Value y) { return s.add(x, y); }
Value sub(Scalars &s, Value x, Value y) { return s.sub(x, y); }
Value mul(Scalars &s, Value x, Value y) { return s.mul(x, y); }
Value div(Scalars &s, Value x, Value y) { return s.div(x, y); }

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

Value fmod(Scalars &s, Value x, Value y) { return s.rem(x, y); }

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

template <typename ArithOp> Value arith2(Scalars &s, Value x, Value y) {
  return ArithOp::create(s.b, x, y);
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

Value compare(Scalars &s, ComparePredicate predicate, Value a, Value b) {
  switch (predicate) {
  case ComparePredicate::Equal:
    return s.equal(a, b);
  case ComparePredicate::NotEqual:
    return s.notEqual(a, b);
  case ComparePredicate::Less:
    return s.less(a, b);
  case ComparePredicate::LessEqual:
    return s.lessEqual(a, b);
  case ComparePredicate::Greater:
    return s.less(b, a);
  case ComparePredicate::GreaterEqual:
    return s.lessEqual(b, a);
  }
  llvm_unreachable("all predicates are listed");
}

FailureOr<Value> lowerCompare(graph::CompareOp op, Emitter &e,
                              ValueRange operands) {
  ComparePredicate predicate = op.getPredicate();
  return e.formula(op.getType(), operands, [=](Scalars &s, ValueRange v) {
    return compare(s, predicate, v[0], v[1]);
  });
}

FailureOr<Value> lowerWhere(graph::WhereOp op, Emitter &e,
                            ValueRange operands) {
  return e.formula(op.getType(), operands, [](Scalars &s, ValueRange v) {
    return s.select(v[0], v[1], v[2]);
  });
}

template <typename Op, Formula1 formula> void attach1(MLIRContext *context) {
  attachLowering<Op, lowerUnary<Op, formula>>(context);
}

template <typename Op, Formula2 formula> void attach2(MLIRContext *context) {
  attachLowering<Op, lowerBinary<Op, formula>>(context);
}

void attachUnary(MLIRContext *context) {
  using namespace graph;
  attach1<NegOp, neg>(context);
  attach1<AbsOp, abs>(context);
  attach1<SignOp, sign>(context);
  attach1<NotOp, logicalNot>(context);
  attach1<ReluOp, relu>(context);
  attach1<ExpOp, math1<math::ExpOp>>(context);
  attach1<LogOp, math1<math::LogOp>>(context);
  attach1<SqrtOp, math1<math::SqrtOp>>(context);
  attach1<RsqrtOp, math1<math::RsqrtOp>>(context);
  attach1<ReciprocalOp, reciprocal>(context);
  attach1<ErfOp, math1<math::ErfOp>>(context);
  attach1<TanhOp, math1<math::TanhOp>>(context);
  attach1<SigmoidOp, sigmoid>(context);
  attach1<SoftplusOp, softplus>(context);
  attach1<FloorOp, math1<math::FloorOp>>(context);
  attach1<CeilOp, math1<math::CeilOp>>(context);
  attach1<RoundOp, math1<math::RoundEvenOp>>(context);
  attach1<SinOp, math1<math::SinOp>>(context);
  attach1<CosOp, math1<math::CosOp>>(context);
  attach1<TanOp, math1<math::TanOp>>(context);
  attach1<AsinOp, math1<math::AsinOp>>(context);
  attach1<AcosOp, math1<math::AcosOp>>(context);
  attach1<AtanOp, math1<math::AtanOp>>(context);
  attach1<SinhOp, math1<math::SinhOp>>(context);
  attach1<CoshOp, math1<math::CoshOp>>(context);
  attach1<AsinhOp, math1<math::AsinhOp>>(context);
  attach1<AcoshOp, math1<math::AcoshOp>>(context);
  attach1<AtanhOp, math1<math::AtanhOp>>(context);
  attach1<IsNanOp, isNan>(context);
  attach1<IsInfOp, isInf>(context);
  attachLowering<GeluOp, lowerGelu>(context);
  attachLowering<CastOp, lowerCast>(context);
  attachLowering<BitcastOp, lowerBitcast>(context);
}

void attachBinary(MLIRContext *context) {
  using namespace graph;
  attach2<AddOp, add>(context);
  attach2<SubOp, sub>(context);
  attach2<MulOp, mul>(context);
  attach2<DivOp, div>(context);
  attach2<PowOp, pow>(context);
  attach2<MaxOp, max>(context);
  attach2<MinOp, min>(context);
  attach2<ModOp, mod>(context);
  attach2<FmodOp, fmod>(context);
  attach2<AndOp, arith2<arith::AndIOp>>(context);
  attach2<OrOp, arith2<arith::OrIOp>>(context);
  attach2<XorOp, arith2<arith::XOrIOp>>(context);
  attach2<ShiftLeftOp, shiftLeft>(context);
  attach2<ShiftRightOp, shiftRight>(context);
  attachLowering<CompareOp, lowerCompare>(context);
  attachLowering<WhereOp, lowerWhere>(context);
}

} // namespace

void attachElementwiseLowerings(MLIRContext *context) {
  attachUnary(context);
  attachBinary(context);
}

} // namespace tinh::codegen
