//===- ScatterPlan.cpp - Cutting scatters -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Scatter/Scatter.h"

using namespace mlir;

namespace tinh::cpu {

Match<Scatter> ScatterStrategy::match(func::FuncOp kernel) {
  if (auto scatter = matchScatter(kernel))
    return *scatter;
  return NoMatch{
      "is no reduction into places that are computed and surely exist"};
}

/// Products of extents: of the loops over updates, of the dimensions that these
/// are for, and of the others but the last one.
struct ScatterExtents {
  int64_t updates = 1, places = 1, outer = 1, last;
  /// Whether the last dimension can be divided: no position is for it.
  bool isDivisible;
};

static ScatterExtents extentsOf(const Scatter &scatter) {
  ScatterExtents result;
  for (auto [dim, extent] : llvm::enumerate(scatter.extents))
    if (dim >= scatter.rank)
      result.updates *= extent;
    else if (scatter.isTarget(dim))
      result.places *= extent;
    else if (dim != scatter.last())
      result.outer *= extent;
  result.last = scatter.extents[scatter.last()];
  result.isDivisible = !scatter.isTarget(scatter.last());
  return result;
}

SmallVector<ScatterPlanAttr> ScatterStrategy::plans(const Scatter &scatter,
                                                    const Target &) {
  constexpr int64_t kLeastBlock = 64, kMostChunks = 48, kLeastWork = 4096;
  ScatterExtents extents = extentsOf(scatter);
  int64_t block = std::max<int64_t>(extents.last, 1), blocks = 1;
  if (extents.isDivisible) {
    block = std::clamp<int64_t>(extents.last, 1, kLeastBlock);
    blocks = llvm::divideCeil(extents.last, block);
  }
  int64_t work =
      (extents.updates + extents.places) * (extents.isDivisible ? block : 1);
  int64_t units = std::max<int64_t>(
      unitsForChunks(extents.outer * blocks, kMostChunks),
      llvm::divideCeil(kLeastWork, std::max<int64_t>(work, 1)));
  linalg::GenericOp op = scatter.op;
  return {ScatterPlanAttr::get(op.getContext(), block, units)};
}

FailureOr<ScatterPlan> ScatterStrategy::expand(const Scatter &scatter,
                                               ScatterPlanAttr attribute,
                                               const Target &,
                                               EmitError emitError) {
  ScatterExtents extents = extentsOf(scatter);
  ScatterPlan plan;
  plan.blockSize = attribute.getBlock();
  plan.unitsPerChunk = attribute.getUnits();
  int64_t most = std::max<int64_t>(extents.last, 1);
  if (failed(checkNumbers(emitError,
                          {{"block", plan.blockSize,
                            within(extents.isDivisible ? 1 : most, most)}})))
    return failure();
  if (extents.isDivisible)
    plan.blocks = llvm::divideCeil(extents.last, plan.blockSize);
  plan.units = extents.outer * plan.blocks;
  plan.chunks = countChunks(plan.units, plan.unitsPerChunk);
  return plan;
}

double ScatterStrategy::cost(const Scatter &scatter, const ScatterPlan &,
                             const Target &target) {
  linalg::GenericOp op = scatter.op;
  auto kernel = op->getParentOfType<func::FuncOp>();
  ScatterExtents extents = extentsOf(scatter);
  // An update is loaded, its place looked up, and what is there changed.
  constexpr double kUpdate = 4;
  double lanes = extents.isDivisible ? target.lanes() : 1;
  double updates = double(extents.updates) * extents.outer *
                   (extents.isDivisible ? extents.last : 1);
  return kUpdate * updates / lanes + trafficCycles(kernel, target) +
         dispatchCycles(target, 1);
}

} // namespace tinh::cpu
