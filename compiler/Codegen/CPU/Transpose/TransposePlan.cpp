//===- TransposePlan.cpp - Cutting transposes -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Transpose/Transpose.h"

using namespace mlir;

namespace tinh::cpu {

/// Fills in what follows from the decisions of `plan`.
static void follow(const Transpose &t, TransposePlan &plan) {
  plan.columnBlocks = llvm::divideCeil(t.columns.extent, plan.side);
  plan.rowBlocks = llvm::divideCeil(t.rows.extent, plan.rowsPerBlock);
  plan.units = plan.columnBlocks * plan.rowBlocks;
  for (const TransposedDimension &dim : t.outer)
    plan.units *= dim.extent;
  plan.chunks = countChunks(plan.units, plan.unitsPerChunk);
}

SmallVector<TransposePlanAttr> TransposeStrategy::plans(const Transpose &t,
                                                        const Target &target) {
  constexpr int64_t kRowsPerBlock = 512, kChunkElements = 16384,
                    kMostChunks = 48;
  TransposePlan plan;
  plan.side = squareSide(t.together * graph::elementSize(t.element),
                         target.vectorBytes);
  plan.rowsPerBlock = kRowsPerBlock;
  plan.unitsPerChunk = 1;
  follow(t, plan);
  int64_t elements = t.columns.extent * t.rows.extent;
  for (const TransposedDimension &dim : t.outer)
    elements *= dim.extent;
  int64_t wanted =
      std::clamp<int64_t>(elements / kChunkElements, 1, kMostChunks);
  func::FuncOp kernel = t.kernel;
  return {TransposePlanAttr::get(kernel.getContext(), plan.side,
                                 plan.rowsPerBlock,
                                 unitsForChunks(plan.units, wanted))};
}

FailureOr<TransposePlan> TransposeStrategy::expand(const Transpose &t,
                                                   TransposePlanAttr attribute,
                                                   const Target &,
                                                   EmitError emitError) {
  TransposePlan plan;
  plan.side = attribute.getSide();
  plan.rowsPerBlock = attribute.getRows();
  plan.unitsPerChunk = attribute.getUnits();
  follow(t, plan);
  if (failed(checkNumbers(
          emitError, {{"units", plan.unitsPerChunk, within(1, plan.units)}})))
    return failure();
  return plan;
}

double TransposeStrategy::cost(const Transpose &t, const TransposePlan &plan,
                               const Target &target) {
  double elements = t.columns.extent * t.rows.extent;
  for (const TransposedDimension &dim : t.outer)
    elements *= dim.extent;
  elements *= t.together;
  double each =
      copyCycles(*target.machine, t.together * graph::elementSize(t.element),
                 CopyOrder::Columns) /
      t.together;
  if (t.interleaves())
    each = 2 * copyCycles(*target.machine, graph::elementSize(t.element));
  return elements * each + trafficCycles(t.kernel, target) +
         dispatchCycles(target, 1);
}

} // namespace tinh::cpu
