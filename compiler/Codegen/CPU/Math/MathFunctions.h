//===- MathFunctions.h - exp, log … as polynomials --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_MATH_MATHFUNCTIONS_H
#define TINH_CODEGEN_CPU_MATH_MATHFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace tinh::cpu {

/// Functions of f32, scalars and vectors of one dimension, as polynomials
/// without branches (but for sin and cos), before MLIR's own. An op with
/// `fastmath<afn>` is computed fast, others accurately. The greatest error over
/// all floats, in units in the last place; of pow, over 10⁹ pairs
/// (tests/codegen/cpu/math):
///
///             accurate  fast
///   exp           0.93  2.19  subnormal results
///   exp2          0.88  1.96  the same
///   expm1         1.53  1.53  -0 is -0
///   sigmoid       1.97  3.51  1 / (1 + e^-x), subnormal results
///   tanh          1.97  5.79  -0 is -0
///   log           0.92  3.38  0: -∞; negative: NaN
///   log2          1.05  3.86  the same
///   log10         0.96  3.49  the same
///   log1p         1.46  3.45  -1: -∞; below: NaN; -0 is -0
///   erf           1.49  6.25  -0 is -0
///   sin, cos      1.55  1.55  libm's if a lane is 65536 or more
///   pow           0.98  6.94  all cases of IEEE 754
///
/// NaN gives NaN, and infinities what they should. Fast functions may take
/// subnormal inputs as 0, and results below 2^-125 may be 0.
void populateMathFunctions(mlir::RewritePatternSet &patterns);

/// About how many vector instructions a function of the dialect math becomes,
/// by its flags.
double functionInstructions(mlir::Operation *op);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_MATH_MATHFUNCTIONS_H
