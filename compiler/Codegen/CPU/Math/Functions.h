//===- Functions.h - Functions of lanes -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_MATH_FUNCTIONS_H
#define TINH_CODEGEN_CPU_MATH_FUNCTIONS_H

#include "compiler/Codegen/CPU/Math/Lanes.h"

#include <limits>

namespace tinh::cpu::lanes {

/// Accurate for one or two units in the last place, all special values and
/// subnormals; fast for a few units and normal numbers.
enum class Quality { Accurate, Fast };

inline constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                        kNan = std::numeric_limits<double>::quiet_NaN(),
                        kLeastNormal = 0x1p-126;

/// Added to what is below 2^22, it rounds to an integer, which is in the lowest
/// bits then.
inline constexpr double kRounding = 12582912;

// Exponentials.cpp
Float expOf(Float x, Quality quality);
Float exp2Of(Float x, Quality quality);
Float expM1Of(Float x, Quality quality);
Float tanhOf(Float x, Quality quality);
/// 1 / (1 + e^-x), with subnormal results.
Float sigmoidOf(Float x);
/// 2^x for what is powers of f64, which overflow and underflow as floats.
Float exp2OfWide(Float x, Quality quality);

// Logarithms.cpp
Float logOf(Float x, Quality quality);
Float log2Of(Float x, Quality quality);
Float log10Of(Float x, Quality quality);
Float log1pOf(Float x, Quality quality);

/// x = 2^exponent (1 + fraction), where the fraction is from √½ - 1 to √2 - 1.
struct Parts {
  Int exponent;
  Float fraction;
};
/// Of positive numbers; fast: of normal ones.
Parts partsOf(Float x, Quality quality);

// ErrorFunction.cpp
Float erfOf(Float x, Quality quality);

// Powers.cpp
Float powOf(Float x, Float y, Quality quality);

// Trigonometric.cpp: one quality.
Float sinOf(Float x, Quality quality);
Float cosOf(Float x, Quality quality);

} // namespace tinh::cpu::lanes

#endif // TINH_CODEGEN_CPU_MATH_FUNCTIONS_H
