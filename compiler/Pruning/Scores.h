//===- Scores.h - What units are worth --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_SCORES_H
#define TINH_COMPILER_PRUNING_SCORES_H

#include "compiler/Graph/ExternalData.h"
#include "compiler/Pruning/Groups.h"
#include "compiler/Pruning/Pruning.h"

namespace tinh::pruning {

/// A number for each unit of each group. They compare within a group.
using Scores = std::vector<std::vector<double>>;

/// The L2 norm of a unit's part of all weights. The statistics of batch norms
/// are none.
mlir::FailureOr<Scores> magnitudes(mlir::func::FuncOp main, const Slots &slots,
                                   llvm::ArrayRef<Group> groups,
                                   MappedFiles &files);

/// The sum of |gradient · weight| over a unit's part of all weights and the
/// batches of the samples: about how much the loss changes without it.
mlir::FailureOr<Scores> taylorScores(mlir::func::FuncOp main,
                                     const Slots &slots,
                                     llvm::ArrayRef<Group> groups,
                                     const PruneOptions &options,
                                     const CompileOptions &compile);

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_SCORES_H
