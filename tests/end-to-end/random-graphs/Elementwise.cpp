//===- Elementwise.cpp - Random element-wise ops ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Generator.h"

#include <cmath>

using namespace mlir;

namespace tinh::test {

using namespace graph;

namespace {

/// A unary op, as a function so that ops can be listed.
using Make1 = Value (*)(Generator &, Value);
using Make2 = Value (*)(Generator &, Value, Value);

template <typename Op> Value make1(Generator &g, Value x) {
  return g.create<Op>(x);
}
template <typename Op> Value make2(Generator &g, Value x, Value y) {
  return g.create<Op>(x, y);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// Ops that lose nothing.
bool makeExactUnary(Generator &g) {
  Known x = g.any();
  if (x.isBool())
    return g.add(g.create<NotOp>(x.value), 1, x.exact);
  Make1 make = g.choose({make1<NegOp>, make1<AbsOp>, make1<ReluOp>});
  if (!x.isFloat() && g.chance(0.3))
    make = make1<NotOp>;
  // The negative of an unsigned number is a large one.
  double bound = x.element().isUnsignedInteger() ? 0x1p64 : x.bound;
  return g.add(make(g, x.value), bound + !x.isFloat(), x.exact);
}

/// Ops with steps: their operands must be exact.
bool makeStep(Generator &g) {
  Known x = g.any();
  if (!x.exact || x.isBool())
    return false;
  if (!x.isFloat())
    return g.add(g.create<SignOp>(x.value), 1, true);
  Make1 make = g.choose({make1<FloorOp>, make1<CeilOp>, make1<RoundOp>,
                         make1<SignOp>, make1<IsNanOp>, make1<IsInfOp>});
  return g.add(make(g, x.value), x.bound + 1, true);
}

bool makeSmoothUnary(Generator &g) {
  Known x = g.anyBounded(50);
  if (!x.isFloat())
    return false;
  struct Smooth {
    Make1 make;
    double bound; // Of the result; 0: x's.
  };
  Smooth op = g.choose<Smooth>({{make1<ErfOp>, 1},
                                {make1<TanhOp>, 1},
                                {make1<SigmoidOp>, 1},
                                {make1<SinOp>, 1},
                                {make1<CosOp>, 1},
                                {make1<AtanOp>, 1.6},
                                {make1<AsinhOp>, 0},
                                {make1<SoftplusOp>, 0},
                                {[](Generator &g, Value x) -> Value {
                                   return g.create<GeluOp>(x, g.chance(0.5));
                                 },
                                 0}});
  return g.add(op.make(g, x.value), op.bound ? op.bound : x.bound + 1, false);
}

/// Ops that need operands in a part of the numbers.
bool makeUnaryOfDomain(Generator &g) {
  Known x = g.anyBounded(3);
  if (!x.isFloat())
    return false;
  if (g.chance(0.4)) {
    Make1 make = g.choose({make1<ExpOp>, make1<SinhOp>, make1<CoshOp>});
    return g.add(make(g, x.value), std::exp(x.bound), false);
  }
  if (g.chance(0.6)) {
    Make1 make = g.choose(
        {make1<LogOp>, make1<SqrtOp>, make1<RsqrtOp>, make1<ReciprocalOp>});
    return g.add(make(g, g.positive(x).value), x.bound + 1, false);
  }
  // |x| < 0.9, where the inverse functions are tame.
  Value unit = g.create<TanhOp>(x.value);
  Value inside = g.create<MulOp>(unit, g.splat(x.element(), 0.9).value);
  Make1 make =
      g.choose({make1<AsinOp>, make1<AcosOp>, make1<AtanhOp>, make1<TanOp>});
  return g.add(make(g, inside), 3.2, false);
}

//===----------------------------------------------------------------------===//
// Binary and ternary
//===----------------------------------------------------------------------===//

bool makeFloatBinary(Generator &g) {
  Known x = g.any();
  if (!x.isFloat())
    return false;
  Known y = g.partner(x);
  if (g.chance(0.3)) {
    // Losing nothing.
    Make2 make = g.choose({make2<MaxOp>, make2<MinOp>});
    return g.add(make(g, x.value, y.value), std::max(x.bound, y.bound),
                 x.exact && y.exact);
  }
  if (g.chance(0.3))
    return g.add(g.create<MulOp>(x.value, y.value), x.bound * y.bound, false);
  if (g.chance(0.2))
    return g.add(g.create<DivOp>(x.value, g.positive(y).value), x.bound, false);
  if (g.chance(0.2)) {
    Known base = g.positive(g.settle(x, 3));
    Known exponent =
        g.chance(0.3) ? g.settle(y, 2)
                      : g.splat(x.element(),
                                g.choose({-1.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0}));
    return g.add(g.create<PowOp>(base.value, exponent.value), 256, false);
  }
  Make2 make = g.choose({make2<AddOp>, make2<SubOp>});
  return g.add(make(g, x.value, y.value), x.bound + y.bound, false);
}

bool makeIntegerBinary(Generator &g) {
  Known x = g.any();
  if (x.isFloat())
    return false;
  Known y = g.partner(x);
  bool exact = x.exact && y.exact;
  if (x.isBool() || g.chance(0.2)) {
    Make2 make = g.choose({make2<AndOp>, make2<OrOp>, make2<XorOp>});
    return g.add(make(g, x.value, y.value), INFINITY, exact);
  }
  Make2 make =
      g.choose({make2<AddOp>, make2<SubOp>, make2<MulOp>, make2<DivOp>,
                make2<ModOp>, make2<FmodOp>, make2<MaxOp>, make2<MinOp>,
                make2<ShiftLeftOp>, make2<ShiftRightOp>});
  return g.add(make(g, x.value, y.value), INFINITY, exact);
}

bool makeChoice(Generator &g) {
  Known a = g.any(), b = g.partner(a);
  if (!a.exact || !b.exact)
    return false;
  Value condition = g.create<CompareOp>(
      static_cast<ComparePredicate>(g.number(0, 5)), a.value, b.value);
  if (g.chance(0.2)) {
    return g.add(condition, 1, true);
  }
  Known c = g.any(), d = g.partner(c);
  auto shape =
      broadcastShapes({Known{condition}.shape(), c.shape(), d.shape()});
  if (!shape || !isSmall(*shape))
    return false;
  return g.add(g.create<WhereOp>(condition, c.value, d.value),
               std::max(c.bound, d.bound), c.exact && d.exact);
}

/// Whether a type holds all integers up to `bound`.
bool holdsExactly(Type element, double bound) {
  if (auto type = dyn_cast<FloatType>(element))
    return bound <= std::ldexp(1.0, type.getFPMantissaWidth());
  return true;
}

bool makeCast(Generator &g) {
  Known x = g.any();
  Type element = g.randomElement();
  bool toFloat = isa<FloatType>(element);
  if (element == x.element() || (!toFloat && x.isFloat() && !x.exact))
    return false;
  // What a type does not hold, C leaves open.
  double limit = g.special || element.isUnsignedInteger() ? 0 : 100;
  if (x.isFloat() && !toFloat && !element.isInteger(1) && x.bound > limit)
    return false;
  if (toFloat && x.bound > 1000)
    return false;
  Value y =
      g.create<CastOp>(RankedTensorType::get(x.shape(), element), x.value);
  bool exact = x.exact &&
               (x.isFloat() && toFloat ? element.getIntOrFloatBitWidth() >
                                             x.element().getIntOrFloatBitWidth()
                                       : holdsExactly(element, x.bound));
  return g.add(y, x.bound, exact);
}

const Family kFamilies[] = {
    {3, makeExactUnary},    {3, makeStep},        {4, makeSmoothUnary},
    {4, makeUnaryOfDomain}, {9, makeFloatBinary}, {5, makeIntegerBinary},
    {3, makeChoice},        {3, makeCast},
};

} // namespace

ArrayRef<Family> elementwiseFamilies() { return kFamilies; }

} // namespace tinh::test
