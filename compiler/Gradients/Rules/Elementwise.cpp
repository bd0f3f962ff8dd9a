//===- Elementwise.cpp - Gradients, element by element --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At kinks and ties gradients are PyTorch's: none for relu and abs at 0, half
// for each of two equal operands of max and min. Where the op's result helps,
// it is used again.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::gradients {

using graph::ComparePredicate;

//===----------------------------------------------------------------------===//
// Unary: dx = dy · f'(x)
//===----------------------------------------------------------------------===//

namespace {

/// x, y and f' of a unary op, with short names for what f' is made of.
struct Slope {
  GraphOps &ops;
  Value x, y;

  Value number(double value) { return ops.scalarLike(x, value); }
  template <typename Op> Value apply(Value value) {
    return ops.create<Op>({value});
  }
  Value square(Value value) { return ops.mul(value, value); }
  /// 1 - value.
  Value complement(Value value) { return ops.sub(number(1), value); }
  /// 1 + value.
  Value increment(Value value) { return ops.add(number(1), value); }
};

} // namespace

/// The rule of an op whose f' is `slope`.
template <typename Op, Value (*slope)(Slope &)>
static void differentiateUnary(Vjp<Op> &vjp) {
  vjp.give(0, [&] {
    Slope at = {vjp.ops, vjp.op.getX(), vjp.op.getY()};
    return vjp.ops.mul(vjp.dy(), slope(at));
  });
}

template <typename Op, Value (*slope)(Slope &)>
static void attachUnary(MLIRContext *context) {
  attachRules<differentiateUnary<Op, slope>>(context);
}

static Value slopeOfAbs(Slope &s) { return s.apply<graph::SignOp>(s.x); }
static Value slopeOfExp(Slope &s) { return s.y; }
static Value slopeOfLog(Slope &s) { return s.apply<graph::ReciprocalOp>(s.x); }
static Value slopeOfSqrt(Slope &s) { return s.ops.div(s.number(0.5), s.y); }
static Value slopeOfRsqrt(Slope &s) {
  return s.ops.mul(s.number(-0.5), s.ops.mul(s.y, s.square(s.y)));
}
static Value slopeOfReciprocal(Slope &s) {
  return s.apply<graph::NegOp>(s.square(s.y));
}
static Value slopeOfErf(Slope &s) {
  constexpr double kTwoOverRootPi = 1.1283791670955126;
  Value power = s.apply<graph::NegOp>(s.square(s.x));
  return s.ops.mul(s.number(kTwoOverRootPi), s.apply<graph::ExpOp>(power));
}
static Value slopeOfTanh(Slope &s) { return s.complement(s.square(s.y)); }
static Value slopeOfSigmoid(Slope &s) {
  return s.ops.mul(s.y, s.complement(s.y));
}
static Value slopeOfSoftplus(Slope &s) {
  return s.apply<graph::SigmoidOp>(s.x);
}
/// 1 / (1 + |x|)²
static Value slopeOfSoftsign(Slope &s) {
  Value size = s.increment(s.apply<graph::AbsOp>(s.x));
  // The square of a large f16 is none.
  return s.square(s.apply<graph::ReciprocalOp>(size));
}
static Value slopeOfSin(Slope &s) { return s.apply<graph::CosOp>(s.x); }
static Value slopeOfCos(Slope &s) {
  return s.apply<graph::NegOp>(s.apply<graph::SinOp>(s.x));
}
static Value slopeOfTan(Slope &s) { return s.increment(s.square(s.y)); }
static Value slopeOfAsin(Slope &s) {
  return s.apply<graph::RsqrtOp>(s.complement(s.square(s.x)));
}
static Value slopeOfAcos(Slope &s) {
  return s.apply<graph::NegOp>(slopeOfAsin(s));
}
static Value slopeOfAtan(Slope &s) {
  return s.apply<graph::ReciprocalOp>(s.increment(s.square(s.x)));
}
static Value slopeOfSinh(Slope &s) { return s.apply<graph::CoshOp>(s.x); }
static Value slopeOfCosh(Slope &s) { return s.apply<graph::SinhOp>(s.x); }
static Value slopeOfAsinh(Slope &s) {
  return s.apply<graph::RsqrtOp>(s.increment(s.square(s.x)));
}
static Value slopeOfAcosh(Slope &s) {
  return s.apply<graph::RsqrtOp>(s.ops.sub(s.square(s.x), s.number(1)));
}
static Value slopeOfAtanh(Slope &s) {
  return s.apply<graph::ReciprocalOp>(s.complement(s.square(s.x)));
}

/// x Φ(x) has the slope Φ(x) + x φ(x).
static Value slopeOfGelu(Slope &s) {
  constexpr double kRootHalf = 0.7071067811865476;
  constexpr double kOneOverRootTwoPi = 0.3989422804014327;
  Value erf = s.apply<graph::ErfOp>(s.ops.mul(s.x, s.number(kRootHalf)));
  Value distribution = s.ops.mul(s.number(0.5), s.increment(erf));
  Value power = s.ops.mul(s.number(-0.5), s.square(s.x));
  Value density =
      s.ops.mul(s.number(kOneOverRootTwoPi), s.apply<graph::ExpOp>(power));
  return s.ops.add(distribution, s.ops.mul(s.x, density));
}

/// x/2 · (1 + t), t = tanh(u(x)), has the slope (1 + t)/2 + x/2 · (1 - t²) u'.
static Value slopeOfGeluTanh(Slope &s) {
  constexpr double kScale = 0.7978845608028654; // √(2/π)
  constexpr double kCubic = 0.044715;
  Value square = s.square(s.x);
  Value inner = s.increment(s.ops.mul(s.number(kCubic), square));
  Value u = s.ops.mul(s.ops.mul(s.number(kScale), s.x), inner);
  Value t = s.apply<graph::TanhOp>(u);
  Value slopeOfU = s.ops.mul(
      s.number(kScale), s.increment(s.ops.mul(s.number(3 * kCubic), square)));
  Value steep = s.ops.mul(s.ops.mul(s.x, s.complement(s.square(t))), slopeOfU);
  return s.ops.mul(s.number(0.5), s.ops.add(s.increment(t), steep));
}

static void differentiateGelu(Vjp<graph::GeluOp> &vjp) {
  vjp.give(0, [&] {
    Slope at = {vjp.ops, vjp.op.getX(), vjp.op.getY()};
    return vjp.ops.mul(vjp.dy(), vjp.op.getTanhApproximation()
                                     ? slopeOfGeluTanh(at)
                                     : slopeOfGelu(at));
  });
}

static void differentiateNeg(Vjp<graph::NegOp> &vjp) {
  vjp.give(0, [&] { return vjp.ops.create<graph::NegOp>({vjp.dy()}); });
}

static void differentiateRelu(Vjp<graph::ReluOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    Value zero = ops.scalarLike(vjp.y(), 0);
    return ops.where(ops.compare(ComparePredicate::Greater, vjp.y(), zero),
                     vjp.dy(), zero);
  });
}

/// Of steps, which are flat almost everywhere.
template <typename Op> static void differentiateStep(Vjp<Op> &vjp) {
  vjp.give(0, [&] { return zerosLike(vjp.ops, vjp.op.getX()); });
}

static void differentiateCast(Vjp<graph::CastOp> &vjp) {
  vjp.give(0, [&] {
    return vjp.ops.cast(vjp.dy(), GraphOps::element(vjp.op.getX()));
  });
}

//===----------------------------------------------------------------------===//
// Binary and ternary
//===----------------------------------------------------------------------===//

static void differentiateAdd(Vjp<graph::AddOp> &vjp) {
  vjp.give(0, [&] { return vjp.dy(); });
  vjp.give(1, [&] { return vjp.dy(); });
}

static void differentiateSub(Vjp<graph::SubOp> &vjp) {
  vjp.give(0, [&] { return vjp.dy(); });
  vjp.give(1, [&] {
    Value sum = sumToShape(vjp.ops, vjp.dy(), GraphOps::shape(vjp.op.getB()));
    return vjp.ops.create<graph::NegOp>({sum});
  });
}

static void differentiateMul(Vjp<graph::MulOp> &vjp) {
  vjp.give(0, [&] { return vjp.ops.mul(vjp.dy(), vjp.op.getB()); });
  vjp.give(1, [&] { return vjp.ops.mul(vjp.dy(), vjp.op.getA()); });
}

/// db = -dy·y / b, divided when it is summed up.
static void differentiateDiv(Vjp<graph::DivOp> &vjp) {
  GraphOps &ops = vjp.ops;
  Value b = vjp.op.getB();
  vjp.give(0, [&] { return ops.div(vjp.dy(), b); });
  vjp.give(1, [&] {
    Value sum = sumToShape(ops, ops.mul(vjp.dy(), vjp.y()), GraphOps::shape(b));
    return ops.create<graph::NegOp>({ops.div(sum, b)});
  });
}

/// The one value of a constant's elements.
static std::optional<double> splatOf(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  return denseToDoubles(elements.resizeSplat(
      RankedTensorType::get({}, elements.getElementType())))[0];
}

static Value raise(GraphOps &ops, Value a, double exponent) {
  if (exponent == 0 || exponent == 1)
    return exponent == 0 ? ops.scalarLike(a, 1) : a;
  return ops.create<graph::PowOp>({a, ops.scalarLike(a, exponent)});
}

/// b · a^(b-1); 0 where b is, whatever a is.
static Value slopeOfBase(GraphOps &ops, graph::PowOp op) {
  Value a = op.getA(), b = op.getB(), zero = ops.scalarLike(b, 0);
  if (auto exponent = splatOf(b))
    return *exponent == 0 ? zero
                          : ops.mul(ops.scalarLike(a, *exponent),
                                    raise(ops, a, *exponent - 1));
  Value power = ops.create<graph::PowOp>({a, ops.sub(b, ops.scalarLike(b, 1))});
  return ops.where(ops.compare(ComparePredicate::Equal, b, zero), zero,
                   ops.mul(b, power));
}

/// a^b · log a; 0 where a is, but for negative b.
static Value slopeOfExponent(GraphOps &ops, graph::PowOp op) {
  Value a = op.getA(), b = op.getB(), zero = ops.scalarLike(a, 0);
  Value isZero = ops.create<graph::AndOp>(
      {ops.compare(ComparePredicate::Equal, a, zero),
       ops.compare(ComparePredicate::GreaterEqual, b, zero)});
  return ops.where(isZero, zero,
                   ops.mul(op.getY(), ops.create<graph::LogOp>({a})));
}

static void differentiatePow(Vjp<graph::PowOp> &vjp) {
  GraphOps &ops = vjp.ops;
  vjp.give(0, [&] { return ops.mul(vjp.dy(), slopeOfBase(ops, vjp.op)); });
  vjp.give(1, [&] { return ops.mul(vjp.dy(), slopeOfExponent(ops, vjp.op)); });
}

/// Everything to the operand that is the result; of equal ones halves, or all
/// to the one that the other is a bound of.
template <typename Op> static void differentiateExtreme(Vjp<Op> &vjp) {
  GraphOps &ops = vjp.ops;
  constexpr bool largest = std::is_same_v<Op, graph::MaxOp>;
  auto share = [&](Value own, Value other, double ofEqual) {
    Value loses = ops.compare(largest ? ComparePredicate::Less
                                      : ComparePredicate::Greater,
                              own, other);
    Value won = ops.where(loses, ops.scalarLike(own, 0), vjp.dy());
    if (ofEqual == 1)
      return won;
    Value part = ops.mul(vjp.dy(), ops.scalarLike(own, ofEqual));
    return ops.where(ops.compare(ComparePredicate::Equal, own, other), part,
                     won);
  };
  Value a = vjp.op.getA(), b = vjp.op.getB();
  bool isBound = vjp.op.getBound();
  vjp.give(0, [&] { return share(a, b, isBound ? 1 : 0.5); });
  vjp.give(1, [&] { return share(b, a, isBound ? 0 : 0.5); });
}

/// a mod b = a - b·q with a whole number q.
template <typename Op> static void differentiateRemainder(Vjp<Op> &vjp) {
  GraphOps &ops = vjp.ops;
  vjp.give(0, [&] { return vjp.dy(); });
  vjp.give(1, [&] {
    Value quotient = ops.create<graph::RoundOp>(
        {ops.div(ops.sub(vjp.op.getA(), vjp.y()), vjp.op.getB())});
    return ops.create<graph::NegOp>({ops.mul(vjp.dy(), quotient)});
  });
}

/// (x - zero point) · scale: integers have no gradient, their scale has.
static void differentiateDequantize(Vjp<graph::DequantizeOp> &vjp) {
  vjp.give(1, [&] {
    GraphOps &ops = vjp.ops;
    Type i32 = IntegerType::get(vjp.op.getContext(), 32);
    Value x = ops.cast(vjp.op.getX(), i32);
    if (Value zero = vjp.op.getZeroPoint())
      x = ops.sub(x, ops.cast(zero, i32));
    return ops.mul(vjp.dy(), ops.cast(x, getElementTypeOrSelf(vjp.y())));
  });
}

static void differentiateWhere(Vjp<graph::WhereOp> &vjp) {
  GraphOps &ops = vjp.ops;
  Value condition = vjp.op.getCondition(), zero = ops.scalarLike(vjp.y(), 0);
  vjp.give(1, [&] { return ops.where(condition, vjp.dy(), zero); });
  vjp.give(2, [&] { return ops.where(condition, zero, vjp.dy()); });
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

static void attachUnaryRules(MLIRContext *context) {
  attachRules<
      differentiateNeg, differentiateRelu, differentiateGelu, differentiateCast,
      differentiateStep<graph::SignOp>, differentiateStep<graph::FloorOp>,
      differentiateStep<graph::CeilOp>, differentiateStep<graph::RoundOp>>(
      context);
  attachUnary<graph::AbsOp, slopeOfAbs>(context);
  attachUnary<graph::ExpOp, slopeOfExp>(context);
  attachUnary<graph::LogOp, slopeOfLog>(context);
  attachUnary<graph::SqrtOp, slopeOfSqrt>(context);
  attachUnary<graph::RsqrtOp, slopeOfRsqrt>(context);
  attachUnary<graph::ReciprocalOp, slopeOfReciprocal>(context);
  attachUnary<graph::ErfOp, slopeOfErf>(context);
  attachUnary<graph::TanhOp, slopeOfTanh>(context);
  attachUnary<graph::SigmoidOp, slopeOfSigmoid>(context);
  attachUnary<graph::SoftplusOp, slopeOfSoftplus>(context);
  attachUnary<graph::SoftsignOp, slopeOfSoftsign>(context);
  attachUnary<graph::SinOp, slopeOfSin>(context);
  attachUnary<graph::CosOp, slopeOfCos>(context);
  attachUnary<graph::TanOp, slopeOfTan>(context);
  attachUnary<graph::AsinOp, slopeOfAsin>(context);
  attachUnary<graph::AcosOp, slopeOfAcos>(context);
  attachUnary<graph::AtanOp, slopeOfAtan>(context);
  attachUnary<graph::SinhOp, slopeOfSinh>(context);
  attachUnary<graph::CoshOp, slopeOfCosh>(context);
  attachUnary<graph::AsinhOp, slopeOfAsinh>(context);
  attachUnary<graph::AcoshOp, slopeOfAcosh>(context);
  attachUnary<graph::AtanhOp, slopeOfAtanh>(context);
}

void attachElementwiseRules(MLIRContext *context) {
  attachUnaryRules(context);
  attachRules<
      differentiateAdd, differentiateSub, differentiateMul, differentiateDiv,
      differentiatePow, differentiateExtreme<graph::MaxOp>,
      differentiateExtreme<graph::MinOp>, differentiateRemainder<graph::ModOp>,
      differentiateRemainder<graph::FmodOp>, differentiateWhere,
      differentiateDequantize>(context);
}

} // namespace tinh::gradients
