//===- RowsPlan.cpp - Stages, rows and chunks of a kernel -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategy.h"
#include "compiler/Codegen/Kernel/Scan.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cpu {

static AffineMap outputMap(linalg::GenericOp op) {
  return op.getMatchingIndexingMap(op.getDpsInitOperand(0));
}

/// The dimension of `value` that lanes should lie along: the last one, unless
/// it has too few elements for a vector and what `value` is computed from is
/// contiguous along another one.
static int64_t laneDimension(Value value) {
  constexpr int64_t kLongVector = 16;
  auto type = cast<RankedTensorType>(value.getType());
  int64_t last = type.getRank() - 1;
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || op.getNumResults() != 1 ||
      last < 0 || type.getDimSize(last) >= kLongVector ||
      !outputMap(op).isIdentity())
    return last;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (map.getNumResults() == 0)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (dim && type.getDimSize(dim.getPosition()) >= kLongVector)
      return dim.getPosition();
    if (map.isIdentity())
      return laneDimension(operand->get());
  }
  return last;
}

SmallVector<int64_t> RowsPlan::mergedShape(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> result(shape);
  for (int64_t i = 1; i < merged; ++i) {
    int64_t &extent = result[shape.size() - 1 - i];
    result.back() *= extent;
    extent = 1;
  }
  return result;
}

/// Rows of a kernel without stages: all dimensions but the one for lanes.
static void chooseElementwiseRows(RowsPlan &plan) {
  int64_t rank = commonRank(plan.written);
  bool hasLanes = false;
  for (size_t i = 0; i < plan.written.size(); ++i)
    hasLanes |= plan.resultType(i).getRank() == rank;
  plan.rank = hasLanes && rank > 0 ? rank - 1 : rank;
  plan.merged = mergedDimensions(plan.written);
  if (plan.merged > 1)
    plan.rank = std::min(plan.rank, plan.resultType(0).getRank() - plan.merged);
  else if (plan.written.size() == 1) {
    plan.lane = laneDimension(plan.written[0].value);
    plan.rank = std::clamp<int64_t>(plan.lane, 0, plan.rank);
  }
}

/// Rows of a kernel with stages: each is computed from its own part of what the
/// stages leave in scratch memory.
static void chooseStagedRows(RowsPlan &plan, func::FuncOp kernel) {
  plan.rank = sharedRank(kernel, plan.stages, plan.written);
  // Products want several rows together, running sums all along their axis.
  for (linalg::GenericOp stage : plan.stages)
    if (auto c = matchContractionStage(stage))
      plan.rank = std::min<int64_t>(plan.rank, c->batch.size());
    else if (auto scan = matchScan(stage))
      plan.rank = std::min(plan.rank, scan->axis);
}

static void planScratch(RowsPlan &plan) {
  for (linalg::GenericOp stage : plan.stages)
    for (Value result : stage.getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      int64_t size = graph::tensorSize(type);
      for (int64_t i = 0; i < plan.rank; ++i)
        size /= std::max<int64_t>(type.getDimSize(i), 1);
      plan.stagesScratch += alignBytes(size);
    }
  plan.scratch = plan.stagesScratch;
  for (linalg::GenericOp stage : plan.stages)
    if (auto c = matchContractionStage(stage))
      plan.scratch = std::max(plan.scratch,
                              plan.stagesScratch + contractionStageScratch(*c));
}

/// Few long rows are cut into blocks, of whole vectors for any CPU.
static void chooseBlocks(RowsPlan &plan) {
  constexpr int64_t kWork = 1024, kLeastBlock = 64, kEnoughRows = 16;
  int64_t block =
      std::max(kWork / plan.reduced / kLeastBlock, int64_t(1)) * kLeastBlock;
  RankedTensorType first = plan.resultType(0);
  plan.blockSize = first.getRank() > plan.rank
                       ? plan.mergedShape(first.getShape()).back()
                       : 1;
  if (!plan.stages.empty() || plan.rows >= kEnoughRows ||
      first.getRank() != plan.rank + plan.merged || plan.blockSize <= block)
    return;
  for (size_t i = 1; i < plan.written.size(); ++i)
    if (plan.resultType(i).getShape() != first.getShape())
      return;
  plan.blocks = llvm::divideCeil(plan.blockSize, block);
  plan.blockSize = block;
}

/// A chunk should be worth its call, and 48 are enough to share evenly.
static void chooseChunks(RowsPlan &plan) {
  constexpr int64_t kLeastElements = 1024, kMostChunks = 48;
  int64_t units = plan.rows * plan.blocks, elements = 0;
  for (size_t i = 0; i < plan.written.size(); ++i)
    elements += plan.resultType(i).getNumElements();
  int64_t perUnit = std::max<int64_t>(1, elements * plan.reduced /
                                             std::max<int64_t>(units, 1));
  int64_t least =
      plan.stages.empty() ? llvm::divideCeil(kLeastElements, perUnit) : 1;
  plan.unitsPerChunk = std::max<int64_t>(
      {1, least, static_cast<int64_t>(llvm::divideCeil(units, kMostChunks))});
  plan.chunks =
      std::max<int64_t>(1, llvm::divideCeil(units, plan.unitsPerChunk));
}

RowsPlan planRows(func::FuncOp kernel) {
  RowsPlan plan;
  plan.stages = chooseStages(kernel);
  plan.written = writtenValues(kernel);
  if (plan.stages.empty()) {
    plan.reduced = reducedElements(kernel);
    chooseElementwiseRows(plan);
  } else {
    chooseStagedRows(plan, kernel);
  }
  for (int64_t i = 0; i < plan.rank; ++i)
    plan.rows *= plan.resultType(0).getDimSize(i);
  planScratch(plan);
  chooseBlocks(plan);
  chooseChunks(plan);
  return plan;
}

} // namespace tinh::cpu
