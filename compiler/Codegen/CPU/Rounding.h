//===- Rounding.h - From f32 to bf16 and f16 --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_ROUNDING_H
#define TINH_CODEGEN_CPU_ROUNDING_H

#include "compiler/Codegen/CPU/Target.h"

#include "mlir/IR/PatternMatch.h"

namespace tinh::cpu {

/// Takes what was rounded, without any change, as it was before: the larger of
/// two numbers of bf16 is one.
mlir::LogicalResult skipExactRoundings(mlir::Operation *module);

/// Conversions to and from bf16: by the CPU's instruction where there is one,
/// which takes denormals as zeros, else in integers.
void populateBf16Conversions(mlir::RewritePatternSet &patterns,
                             const Target &target);

/// Makes integers of bf16: nothing computes on it any more, it is loaded,
/// shuffled, chosen and stored. LLVM would take many of these apart and round
/// each element by a call of a function that artifacts do not have.
void moveBf16AsBits(mlir::Operation *module);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_ROUNDING_H
