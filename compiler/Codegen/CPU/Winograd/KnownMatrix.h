//===- KnownMatrix.h - Products with a matrix that is known - -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WINOGRAD_KNOWNMATRIX_H
#define TINH_CODEGEN_CPU_WINOGRAD_KNOWNMATRIX_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/CPU/Winograd/Transforms.h"

#include "mlir/IR/Builders.h"

namespace tinh::cpu {

/// M x Mᵀ for a square x whose elements are vectors of lanes, row by row; what
/// it gives is, too. What rows or columns of M have in common is computed once.
llvm::SmallVector<mlir::Value> multiplyBothSides(mlir::OpBuilder &b,
                                                 mlir::Location loc,
                                                 const Matrix &matrix,
                                                 llvm::ArrayRef<mlir::Value> x);

/// Cycles of that where `in` elements are loaded and `out` stored.
double transformCycles(const Matrix &matrix, double in, double out,
                       const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WINOGRAD_KNOWNMATRIX_H
