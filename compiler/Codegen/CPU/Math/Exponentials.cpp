//===- Exponentials.cpp - exp, exp2, expm1, tanh, sigmoid -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exponent's integral part becomes bits of a float, the rest goes through a
// polynomial (coefficients.py). Adding 3 · 2^22 rounds to an integer and leaves
// it in the lowest bits; what is added to that is a bias of the exponent.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Math/Functions.h"

#include <cmath>

namespace tinh::cpu::lanes {

static constexpr double kLog2E = 1.4426950408889634;
// ln 2 as a sum of two floats.
static constexpr double kLn2High = 0.693147182, kLn2Low = -1.90465421e-9;

/// (e^r - 1 - r) / r² for |r| up to ln 2 / 2: relative error of e^r - 1:
/// 2^-26.1.
static constexpr double kExp[] = {0.49999997, 0.166665465, 0.0416674428,
                                  0.00836625323, 0.0013869945};
/// The same, with one coefficient less: relative error of e^r: 2^-23.2.
static constexpr double kFastExp[] = {0.499992311, 0.166671127, 0.0418901891,
                                      0.00831269193};
/// (2^f - 1) / f for |f| up to ½: relative error of 2^f: 2^-28.3, 2^-23.4.
static constexpr double kExp2[] = {0.693147182,   0.240226477,
                                   0.0555035956,  0.00961849932,
                                   0.00133909704, 0.000153292756};
static constexpr double kFastExp2[] = {0.693147004, 0.240222454, 0.0555070676,
                                       0.00967136119, 0.00132713653};

namespace {

/// A number as its nearest integer, and what the caller knows to be left.
struct Rounded {
  Float shifted; // The integer and the bias, in the lowest bits.
  Float integer;
};

} // namespace

/// Of `factor` x.
static Rounded round(Float x, double factor, double bias) {
  Float shifted = fma(x, factor, kRounding + bias);
  return {shifted, shifted - (kRounding + bias)};
}

/// x - n ln 2 / divisor.
static Float remainder(Float x, Float n, double divisor) {
  return fma(n, -kLn2Low / divisor, fma(n, -kLn2High / divisor, x));
}

//===----------------------------------------------------------------------===//
// Powers of two
//===----------------------------------------------------------------------===//

// Two factors of nearly the same size make all exponents from -151 to 129, with
// one rounding at most: half of what was shifted, and the other half.
static constexpr double kTwoFactors = 254;

static Float scaleByTwo(Float x, Float shifted) {
  Int half = (shifted.bits() << 22) & 0x7f800000;
  Int other = (shifted.bits() << 23) - half;
  return x * half.bits() * other.bits();
}

/// One factor: 2^-126 and below are 0.
static Float powerOfTwo(Float shifted) { return (shifted.bits() << 23).bits(); }

//===----------------------------------------------------------------------===//
// exp, exp2
//===----------------------------------------------------------------------===//

static llvm::SmallVector<double> times(llvm::ArrayRef<double> numbers,
                                       double factor) {
  return llvm::map_to_vector(numbers, [=](double x) { return factor * x; });
}

/// (e^(scale r) - 1) / scale.
static Float expM1Polynomial(Float r, double scale) {
  llvm::SmallVector<double> scaled;
  for (auto [i, c] : llvm::enumerate(kExp))
    scaled.push_back(c * std::pow(scale, i + 1));
  return fma(r * r, polynomial(r, scaled), r);
}

/// x is at least -104.
static Float scaledExp(Float x) {
  Rounded n = round(x, kLog2E, kTwoFactors);
  Float r = remainder(x, n.integer, 1);
  Float power = fma(r, fma(r, polynomial(r, kExp), r.like(1)), r.like(1));
  return scaleByTwo(power, n.shifted);
}

/// Twice the polynomial by half the power: e^x up to 2^128 needs no other
/// factor.
static Float fastExp(Float x) {
  x = atMost(atLeast(x, -87.3), 89);
  Rounded n = round(x, kLog2E, 126);
  Float r = remainder(x, n.integer, 1);
  Float twice = fma(r, polynomial(r, times(kFastExp, 2)), r.like(2));
  return fma(r, twice, r.like(2)) * powerOfTwo(n.shifted);
}

Float expOf(Float x, Quality quality) {
  if (quality == Quality::Fast)
    return fastExp(x);
  return scaledExp(atMost(atLeast(x, -104), 89));
}

/// 2^(n + f).
static Float exp2OfParts(const Rounded &n, Float f, Quality quality) {
  if (quality == Quality::Fast)
    return fma(f, polynomial(f, times(kFastExp2, 2)), f.like(2)) *
           powerOfTwo(n.shifted);
  Float power = fma(f, polynomial(f, kExp2), f.like(1));
  return scaleByTwo(power, n.shifted);
}

static double exp2Bias(Quality quality) {
  return quality == Quality::Fast ? 126 : kTwoFactors;
}

/// Where 2^x is 0.
static double leastPower(Quality quality) {
  return quality == Quality::Fast ? -126 : -151;
}

Float exp2Of(Float x, Quality quality) {
  x = atMost(atLeast(x, leastPower(quality)), 129);
  Rounded n = round(x, 1, exp2Bias(quality));
  return exp2OfParts(n, x - n.integer, quality);
}

Float exp2OfWide(Float x, Quality quality) {
  x = atMost(atLeast(x, leastPower(quality)), 128.5);
  Rounded n = round(x.narrow(), 1, exp2Bias(quality));
  return exp2OfParts(n, (x - n.integer.wide()).narrow(), quality);
}

//===----------------------------------------------------------------------===//
// What has e^x - 1
//===----------------------------------------------------------------------===//

/// 2^n (e^r - 1) + (2^n - 1), with half the power of two: it does not overflow.
Float expM1Of(Float original, Quality) {
  Float x = atMost(atLeast(original, -18), 89);
  Rounded n = round(x, kLog2E, 126);
  Float r = remainder(x, n.integer, 1);
  Float p = expM1Polynomial(r, 1);
  Float half = powerOfTwo(n.shifted);
  return copySign(fma(half, p, half - 0.5) * 2, original);
}

/// tanh(x) / x in x² for |x| up to 9.01: relative error 2^-24.6.
static constexpr double kTanh[] = {1, 0.133803263, 0.00349476258, 2.05953365e-5,
                                   1.33363454e-8};
static constexpr double kTanhBelow[] = {1, 0.467136443, 0.0258738324,
                                        0.000328427879, 7.76880142e-7};

static Float fastTanh(Float x) {
  x = atMost(atLeast(x, -9.01), 9.01);
  Float square = x * x;
  return x * polynomial(square, kTanh) / polynomial(square, kTanhBelow);
}

/// With e = e^(-2 |x|) it is (1 - e) / (1 + e), the halves of which are rounded
/// once each.
Float tanhOf(Float x, Quality quality) {
  if (quality == Quality::Fast)
    return fastTanh(x);
  Float y = atLeast(minusAbs(x), -9.02);
  Rounded n = round(y, 2 * kLog2E, 127);
  Float p = expM1Polynomial(remainder(y, n.integer, 2), 2);
  Float power = powerOfTwo(n.shifted);
  Float minus = fma(power, p, fma(power, 0.5, -0.5));
  Float plus = fma(power, p, fma(power, 0.5, 0.5));
  return copySign(minus / plus, x);
}

/// e = e^-|x| is at most 1: 1 / (1 + e), or e / (1 + e). What rounding the sum
/// loses would be half a unit more.
Float sigmoidOf(Float x) {
  Float e = scaledExp(atLeast(minusAbs(x), -104));
  Float sum = e + 1, lost = e - (sum - 1);
  Float quotient = select(x < 0, e, e.like(1)) / sum;
  return fma(quotient.like(0) - quotient, lost, quotient);
}

} // namespace tinh::cpu::lanes
