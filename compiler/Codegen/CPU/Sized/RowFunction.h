//===- RowFunction.h - What a function of a row consists of -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SIZED_ROWFUNCTION_H
#define TINH_CODEGEN_CPU_SIZED_ROWFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tinh::cpu {

/// Whether `value` is a row, and not one element.
bool isRow(mlir::Value value);

/// The passes over a row that compute a function of it: one for each reduction,
/// then one for the results, which stands for the function's return.
struct RowFunction {
  explicit RowFunction(mlir::func::FuncOp function);

  /// Whether a pass does so little with each element that one accumulator alone
  /// would wait for its own sums.
  bool doesLittle(mlir::Operation *pass) const;

  mlir::SmallVector<mlir::linalg::GenericOp> reductions; // In order.
  mlir::Operation *terminator;
  /// Rows that are kept in scratch memory by the reduction that reads them
  /// first.
  mlir::SmallVector<std::pair<mlir::Value, mlir::linalg::GenericOp>> kept;
  mlir::SmallVector<mlir::Value> results;
  int64_t widestBytes = 1; // Of all elements that are computed with.
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SIZED_ROWFUNCTION_H
