//===- ScatterPlan.cpp - Who computes what of a scatter ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Scatter/Scatter.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::cuda {

/// Divides lines, columns and rows among blocks and their threads.
static void divideBlocks(ScatterPlan &plan) {
  // As many threads need no others to share a line.
  constexpr int64_t kEnoughLines = 1 << 15, kWantedBlocks = 512;
  // All blocks read all positions: of many, many at a time.
  constexpr int64_t kManyUpdates = 1 << 14, kMostThreads = 1024;
  int64_t threads =
      plan.updates >= kManyUpdates ? kMostThreads : ScatterPlan::kThreads;
  if (plan.lines * plan.columns >= kEnoughLines && plan.lines > 1)
    return;
  plan.columnBlocks = llvm::divideCeil(plan.columns, ScatterPlan::kThreads);
  plan.columnThreads = llvm::divideCeil(plan.columns, plan.columnBlocks);
  plan.slots =
      std::min(std::max<int64_t>(1, threads / plan.columnThreads), plan.rows);
  int64_t wanted =
      llvm::divideCeil(kWantedBlocks, plan.lines * plan.columnBlocks);
  plan.rowsOfBlock = llvm::alignTo(
      llvm::divideCeil(plan.rows, std::max<int64_t>(wanted, 1)), plan.slots);
  plan.ranges = llvm::divideCeil(plan.rows, plan.rowsOfBlock);
}

std::optional<ScatterPlan> planScatter(func::FuncOp kernel, bool vectors) {
  auto scatter = matchScatter(kernel);
  if (!scatter || scatter->rank == 0)
    return std::nullopt;
  linalg::GenericOp op = scatter->op;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (type.getNumElements() == 0)
    return std::nullopt;
  ScatterPlan plan;
  for (unsigned dim = 0; dim < scatter->extents.size(); ++dim) {
    bool differs = llvm::any_of(scatter->positions, [&](OpOperand *position) {
      return op.getMatchingIndexingMap(position).isFunctionOfDim(dim);
    });
    bool isUpdate = dim >= scatter->rank;
    int64_t &count = isUpdate                 ? plan.updates
                     : scatter->isTarget(dim) ? plan.rows
                     : differs                ? plan.lines
                                              : plan.columns;
    count *= scatter->extents[dim];
    if (&count == &plan.lines)
      plan.lineDims.push_back(dim);
    if (&count == &plan.columns)
      plan.columnDims.push_back(dim);
  }
  int64_t lanes = 16 / graph::elementSize(type.getElementType());
  if (vectors && llvm::is_contained(plan.columnDims, scatter->last()) &&
      scatter->extents[scatter->last()] % lanes == 0)
    plan.lanes = lanes;
  plan.columns /= plan.lanes;
  plan.scatter = *scatter;
  divideBlocks(plan);
  return plan;
}

} // namespace tinh::cuda
