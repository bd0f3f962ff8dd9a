//===- ErrorFunction.cpp - erf ----------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Math/Functions.h"

namespace tinh::cpu::lanes {

// The coefficients are from coefficients.py.

/// erf(x) / x - 1 in x² for |x| below kErfSplit: relative error of erf:
/// 2^-30.1.
static constexpr double kErfSplit = 0.921875;
static constexpr double kSmallErf[] = {
    0.128379166,  -0.376126289,    0.112836257,  -0.0268557277,
    0.0051923776, -0.000804918469, 7.99285408e-5};

/// log2(erfc(x)) from there to 3.92, where erf is 1: relative error of erf:
/// 2^-29.3.
static constexpr double kErfEnd = 3.92;
static constexpr double kLog2Erfc[] = {
    -0.000286425726, -1.62687504,    -0.919288158,  -0.149916738,
    0.0320547782,    -0.00438748533, 0.000282381894};

/// (2^f - 1) / f for |f| up to ½: relative error of 2^f: 2^-23.4.
static constexpr double kErfExp2[] = {0.693147004, 0.240222454, 0.0555070676,
                                      0.00967136119, 0.00132713653};

/// erf(x) / x in x² up to kErfEnd: relative error 2^-24.1.
static constexpr double kFastErf[] = {1.12837911,     0.190398157,
                                      0.052747231,    0.00376528339,
                                      0.000284862734, 2.05028914e-6};
static constexpr double kFastErfBelow[] = {
    1, 0.50206846, 0.114105456, 0.0149684222, 0.00116243039, 3.80910169e-5};

static Float fastErf(Float x) {
  x = atMost(atLeast(x, -kErfEnd), kErfEnd);
  Float square = x * x;
  return x * polynomial(square, kFastErf) / polynomial(square, kFastErfBelow);
}

/// 1 - 2^p(x): errors of the power matter little, as it is below ⅕.
static Float largeErf(Float x) {
  constexpr double kBias = 127;
  Float power = polynomial(atMost(x, kErfEnd), kLog2Erfc);
  Float shifted = power + (kRounding + kBias);
  Float f = power - (shifted - (kRounding + kBias));
  Float scale = (shifted.bits() << 23).bits();
  Float rest = fma(f, polynomial(f, kErfExp2), f.like(1));
  return fma(f.like(0) - scale, rest, f.like(1));
}

Float erfOf(Float x, Quality quality) {
  if (quality == Quality::Fast)
    return fastErf(x);
  Float magnitude = abs(x);
  Float small = fma(x, polynomial(x * x, kSmallErf), x);
  return select(magnitude < kErfSplit, small, copySign(largeErf(magnitude), x));
}

} // namespace tinh::cpu::lanes
