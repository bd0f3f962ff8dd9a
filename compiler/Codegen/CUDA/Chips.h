//===- Chips.h - Code that depends on the chip ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_CHIPS_H
#define TINH_CODEGEN_CUDA_CHIPS_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tinh::cuda {

/// The intrinsic that tells the chip that code is compiled for.
inline constexpr llvm::StringLiteral kReflect = "llvm.nvvm.reflect";

/// The chip that code is compiled for, such as 800 for sm_80: LLVM folds it,
/// and what depends on it.
mlir::Value emitChip(mlir::OpBuilder &b, EmittedKernel &kernel);
/// Code for chips whose number compares so with this one; `b` goes on with that
/// for the others.
mlir::OpBuilder branchOnChip(mlir::OpBuilder &b, mlir::Value chip,
                             mlir::arith::CmpIPredicate predicate,
                             int64_t number);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_CHIPS_H
