//===- Reproduce.h - A small model that is computed wrong -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_BISECTION_REPRODUCE_H
#define TINH_COMPILER_BISECTION_REPRODUCE_H

#include "compiler/Bisection/Bisection.h"

namespace tinh::bisection {

/// Fills the report's reproducer: a model in phase graph that ends at `value`
/// of `function`, which is in `phase`, or at what becomes of it. `data` has the
/// function's inputs and variables, `values` what the reference gives for its
/// nodes, which are inputs where the model begins later. Fails after a
/// diagnostic.
llvm::LogicalResult
reproduceAt(mlir::func::FuncOp function, mlir::Value value, Phase phase,
            const Data &data, const llvm::DenseMap<mlir::Value, Stored> &values,
            const BisectOptions &options, BisectReport &report);

} // namespace tinh::bisection

#endif // TINH_COMPILER_BISECTION_REPRODUCE_H
