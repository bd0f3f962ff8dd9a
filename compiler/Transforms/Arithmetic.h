//===- Arithmetic.h - How much an op computes -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_ARITHMETIC_H
#define TINH_COMPILER_TRANSFORMS_ARITHMETIC_H

#include "mlir/IR/Operation.h"

#include <cstdint>

namespace tinh::transforms {

/// The additions, multiplications and the like of `op`, a multiplication that
/// is added to something counted as two; with those of its regions as often as
/// these run, a loop without a known end once. Movement computes nothing.
uint64_t arithmeticOf(mlir::Operation *op);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_ARITHMETIC_H
