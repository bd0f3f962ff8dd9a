//===- Costs.h - What a model takes -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_COSTS_H
#define TINH_COMPILER_PRUNING_COSTS_H

#include "compiler/Pipelines/Compile.h"
#include "compiler/Pruning/Groups.h"

namespace tinh::pruning {

/// Multiplications of its products and convolutions, without what is cut.
double multiplications(mlir::func::FuncOp main, const Cut &cut);

/// Of its constants.
double weightBytes(mlir::func::FuncOp main, const Cut &cut);

/// The cycles that one core is estimated to take for a run, with the strategies
/// that the compiler chooses. Changes `module`, which is in phase graph.
mlir::FailureOr<double> estimateCycles(mlir::ModuleOp module,
                                       const CompileOptions &options);

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_COSTS_H
