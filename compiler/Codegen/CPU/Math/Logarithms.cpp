//===- Logarithms.cpp - log, log2, log10, log1p -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The logarithm of 2^k (1 + f) is k log 2 and f + f² q(f), where q is a
// polynomial (coefficients.py). Logarithms to other bases have the factor of f
// in two parts.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Math/Functions.h"

namespace tinh::cpu::lanes {

static constexpr double kLn2 = 0.693147182;

/// (log(1 + f) - f) / f² for f from √½ - 1 to √2 - 1: relative error of
/// log(1 + f): 2^-27.8, 2^-22.4.
static constexpr double kLog[] = {-0.499999881, 0.333333254,  -0.250015974,
                                  0.200019553,  -0.166088015, 0.141824633,
                                  -0.13245821,  0.128999531,  -0.0760872662};
static constexpr double kFastLog[] = {-0.500003219, 0.333347142,  -0.249712855,
                                      0.199069262,  -0.172427028, 0.161800295,
                                      -0.100832127};

static Parts partsOfNormal(Float x) {
  constexpr int64_t kRootOfHalf = 0x3f3504f3;
  Int exponent = (x.bits() - kRootOfHalf) >> 23;
  return {exponent, (x.bits() - (exponent << 23)).bits() - 1};
}

Parts partsOf(Float x, Quality quality) {
  if (quality == Quality::Fast)
    return partsOfNormal(x);
  Mask isSubnormal = x < kLeastNormal;
  Parts parts = partsOfNormal(select(isSubnormal, x * 0x1p24, x));
  parts.exponent = select(isSubnormal, parts.exponent - 24, parts.exponent);
  return parts;
}

/// q.
static Float logPolynomial(Float f, Quality quality, double factor) {
  auto numbers = quality == Quality::Fast ? llvm::ArrayRef<double>(kFastLog)
                                          : llvm::ArrayRef<double>(kLog);
  return polynomial(
      f, llvm::map_to_vector(numbers, [=](double c) { return c * factor; }));
}

/// What is 0 or infinite, negative or no number has logarithms of its own. Only
/// what is not positive needs to be told from what is 0.
static Float withSpecial(Float result, Float x, Mask isPositive, Mask isZero) {
  result = select(x < kInfinity, result, x);
  Float special = select(isZero, x.like(-kInfinity), kNan);
  return select(isPositive, result, special);
}

/// Of x; subnormal ones are 0 if that is enough.
static Float withSpecial(Float result, Float x, Quality quality) {
  constexpr double kLargestSubnormal = 0x1.fffffcp-127;
  if (quality == Quality::Fast)
    return withSpecial(result, x, x > kLargestSubnormal, x > -kLeastNormal);
  return withSpecial(result, x, x > 0, x == 0);
}

Float logOf(Float x, Quality quality) {
  Parts parts = partsOf(x, quality);
  Float f = parts.fraction;
  Float y = fma(f * f, logPolynomial(f, quality, 1), f);
  return withSpecial(fma(parts.exponent.number(), kLn2, y), x, quality);
}

/// `factor` log(1 + f), where the factor is a float and a rest.
static Float scaledLog(Float f, Quality quality, double factor, double rest) {
  Float small = fma(f * f, logPolynomial(f, quality, factor + rest), f * rest);
  return fma(f, factor, small);
}

Float log2Of(Float x, Quality quality) {
  Parts parts = partsOf(x, quality);
  Float k = parts.exponent.number();
  Float y = scaledLog(parts.fraction, quality, 1.44269502, 1.92596303e-8);
  return withSpecial(k + y, x, quality);
}

Float log10Of(Float x, Quality quality) {
  Parts parts = partsOf(x, quality);
  Float k = parts.exponent.number();
  Float y = scaledLog(parts.fraction, quality, 0.434294492, -1.01005787e-8);
  y = fma(k, -1.43209888e-8, y);
  return withSpecial(fma(k, 0.30103001, y), x, quality);
}

/// Of u = 1 + x and what rounding that has left, which is divided by the power
/// of two that u is. Where the power is 2^127 or more, nothing is left.
Float log1pOf(Float x, Quality quality) {
  Float u = x + 1, left = x - (u - 1);
  Parts parts = partsOfNormal(u);
  Int inverse = u.like(1).bits() - (parts.exponent << 23);
  Float f = fma(left, atLeast(inverse, 0).bits(), parts.fraction);
  Float y = fma(f * f, logPolynomial(f, quality, 1), f);
  Float result = fma(parts.exponent.number(), kLn2, y);
  return copySign(withSpecial(result, x, x > -1, x == -1), x);
}

} // namespace tinh::cpu::lanes
