//===- Powers.cpp - pow -----------------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 2^(y log2 |x|), where the logarithm and its product with y are f64: 2^-33 of
// 128 is little in what remains beside an integer, which is f32 again.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Math/Functions.h"

namespace tinh::cpu::lanes {

/// log2(1 + f) / f for f from √½ - 1 to √2 - 1, from coefficients.py: relative
/// error 2^-33.2, 2^-27.9.
static constexpr double kLog2[] = {
    1.4426950409393726,   -0.72134752521291634, 0.48089832071584193,
    -0.36067280058808521, 0.28854064467240742,  -0.24050417300956289,
    0.20609622347110323,  -0.17904694737825011, 0.15900190199484895,
    -0.15698264001507095, 0.15485572845314174,  -0.086343282367221927};
static constexpr double kFastLog2[] = {
    1.4426950408288066,  -0.72134735150052576, 0.4808982414355244,
    -0.3606966496204711, 0.28856738857110942,  -0.23961738302703808,
    0.20460097069580982, -0.19106327324243141, 0.18617297147000558,
    -0.10994586644576074};

/// The exponent of |x|, or what makes the logarithm right where it is 0,
/// infinite or no number.
static Float exponentOf(Float magnitude, Int exponent, Quality quality) {
  double least = quality == Quality::Fast ? kLeastNormal : 0x1p-149;
  Float k = select(magnitude < kInfinity, exponent.number(), magnitude);
  return select(magnitude < least, k.like(-kInfinity), k);
}

/// log2 |x|, as f64.
static Float wideLog2(Float magnitude, Quality quality) {
  auto numbers = quality == Quality::Fast ? llvm::ArrayRef<double>(kFastLog2)
                                          : llvm::ArrayRef<double>(kLog2);
  Parts parts = partsOf(magnitude, quality);
  Float f = parts.fraction.wide();
  return fma(f, polynomial(f, numbers),
             exponentOf(magnitude, parts.exponent, quality).wide());
}

/// What a negative x, or -0, changes in the power of |x|: the sign is that of x
/// if y is odd, and y has to be an integer unless x is infinite or 0.
static Float withSign(Float power, Float x, Float y) {
  Mask isInteger = roundEven(y) == y;
  Float half = y * 0.5;
  Mask isHalved = roundEven(half) == half;
  Int sign = select(isHalved, x.bits().like(0), x.bits() & 0x80000000);
  Float odd = (power.bits() | sign).bits();
  Mask isFinite = x > -kInfinity, isNegative = x < 0;
  Float others = select(isFinite & isNegative, power.like(kNan), power);
  return select(isInteger, odd, others);
}

Float powOf(Float x, Float y, Quality quality) {
  Float magnitude = abs(x);
  Float power = exp2OfWide(wideLog2(magnitude, quality) * y.wide(), quality);
  power = select((y == 0) | (magnitude == 1), power.like(1), power);
  return withSign(power, x, y);
}

} // namespace tinh::cpu::lanes
