//===- RowsPlan.cpp - Stages, rows and chunks of a kernel -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Rows/Rows.h"

#include "compiler/Codegen/Kernel/Forms/Scan.h"

using namespace mlir;

namespace tinh::cpu {

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

int64_t RowsPlan::lanesFor(int64_t extent, int64_t reduced) const {
  // A reduction takes several registers of neighbours together: one alone would
  // wait for its own sums.
  constexpr int64_t kRegisters = 4;
  if (reduced > 1 && lanes > 1 && extent >= kRegisters * lanes)
    return kRegisters * lanes;
  return extent <= 1 ? 1 : lanes;
}

Match<Rows> RowsStrategy::match(func::FuncOp kernel) {
  Rows rows{kernel, writtenValues(kernel), chooseStages(kernel)};
  if (rows.stages.empty())
    rows.reduced = reducedElements(kernel);
  return rows;
}

//===----------------------------------------------------------------------===//
// Rows and blocks
//===----------------------------------------------------------------------===//

/// Rows of a kernel without stages: all dimensions but the one for lanes.
static void chooseElementwiseRows(const Rows &rows, RowsPlan &plan) {
  int64_t rank = commonRank(rows.written);
  bool hasLanes = false;
  for (size_t i = 0; i < rows.written.size(); ++i)
    hasLanes |= rows.resultType(i).getRank() == rank;
  plan.outer = hasLanes && rank > 0 ? rank - 1 : rank;
  plan.merged = mergedDimensions(rows.written);
  if (plan.merged > 1)
    plan.outer =
        std::min(plan.outer, rows.resultType(0).getRank() - plan.merged);
  else if (rows.written.size() == 1) {
    int64_t lane = laneDimension(rows.written[0].value);
    if (lane + 1 < rows.resultType(0).getRank())
      plan.along = lane;
    plan.outer = std::clamp<int64_t>(lane, 0, plan.outer);
  }
}

/// Rows of a kernel with stages: each is computed from its own part of what the
/// stages leave in scratch memory.
static int64_t sharedRows(const Rows &rows) {
  int64_t outer = sharedRank(rows.kernel, rows.stages, rows.written);
  // Products want several rows together, running sums all along their axis.
  for (linalg::GenericOp stage : rows.stages)
    if (auto c = matchContractionStage(stage))
      outer = std::min<int64_t>(outer, c->batch.size());
    else if (auto scan = matchScan(stage))
      outer = std::min(outer, scan->axis);
  return outer;
}

int64_t rowLength(const Rows &rows, const RowsPlan &plan) {
  RankedTensorType first = rows.resultType(0);
  if (first.getRank() <= plan.outer)
    return 1;
  return rows.stages.empty() ? plan.mergedShape(first.getShape()).back()
                             : first.getDimSize(plan.outer);
}

/// Whether rows can be cut into blocks: all results have them alike.
static bool hasBlocks(const Rows &rows, const RowsPlan &plan) {
  if (!rows.stages.empty())
    return canCutStages(rows, plan);
  RankedTensorType first = rows.resultType(0);
  if (first.getRank() != plan.outer + plan.merged || plan.along >= 0)
    return false;
  for (size_t i = 1; i < rows.written.size(); ++i)
    if (rows.resultType(i).getShape() != first.getShape())
      return false;
  return true;
}

/// Few long rows are cut into blocks, of whole vectors for any CPU.
static void chooseBlocks(const Rows &rows, RowsPlan &plan) {
  constexpr int64_t kWork = 1024, kLeastBlock = 64, kEnoughRows = 16;
  int64_t block =
      std::max(kWork / rows.reduced / kLeastBlock, int64_t(1)) * kLeastBlock;
  plan.blockSize = rowLength(rows, plan);
  if (rows.stages.empty() && plan.rows < kEnoughRows &&
      plan.blockSize > block && hasBlocks(rows, plan))
    plan.blockSize = block;
}

/// A chunk should be worth its call, and 48 are enough to share evenly.
static void chooseUnits(const Rows &rows, RowsPlan &plan) {
  constexpr int64_t kLeastElements = 1024, kMostChunks = 48;
  int64_t elements = 0;
  for (size_t i = 0; i < rows.written.size(); ++i)
    elements += rows.resultType(i).getNumElements();
  int64_t perUnit = std::max<int64_t>(
      1, elements * rows.reduced / std::max<int64_t>(plan.units(), 1));
  int64_t least =
      rows.stages.empty() ? llvm::divideCeil(kLeastElements, perUnit) : 1;
  plan.unitsPerChunk =
      std::max({int64_t(1), least, unitsForChunks(plan.units(), kMostChunks)});
}

void follow(const Rows &rows, RowsPlan &plan) {
  plan.rows = 1;
  for (int64_t i = 0; i < plan.outer; ++i)
    plan.rows *= rows.resultType(0).getDimSize(i);
  if (plan.blockSize > 0)
    plan.blocks = std::max<int64_t>(
        1, llvm::divideCeil(rowLength(rows, plan), plan.blockSize));
  plan.cutsStages = !rows.stages.empty() && plan.blocks > 1;
  plan.chunks = plan.cutsStages ? plan.rows * plan.chunksPerRow()
                                : countChunks(plan.units(), plan.unitsPerChunk);
}

RowsPlan cutRows(const Rows &rows) {
  RowsPlan plan;
  if (rows.stages.empty())
    chooseElementwiseRows(rows, plan);
  else
    plan.outer = sharedRows(rows);
  follow(rows, plan);
  chooseBlocks(rows, plan);
  follow(rows, plan);
  chooseUnits(rows, plan);
  follow(rows, plan);
  return plan;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

SmallVector<RowsPlanAttr> RowsStrategy::plans(const Rows &rows,
                                              const Target &target) {
  RowsPlan plan = cutRows(rows);
  plan.lanes = target.lanes();
  if (!hasVectors(rows, plan))
    plan.lanes = 1;
  planStages(rows, plan, target);
  func::FuncOp kernel = rows.kernel;
  Builder b(kernel.getContext());
  SmallVector<Attribute> products(plan.products.begin(), plan.products.end());
  return {RowsPlanAttr::get(
      kernel.getContext(), plan.outer, plan.merged, plan.along, plan.lanes,
      plan.blocks > 1 ? plan.blockSize : 0, plan.unitsPerChunk,
      products.empty() ? ArrayAttr() : b.getArrayAttr(products))};
}

/// Whether the dimensions that the plan speaks of are there, and can be what it
/// makes of them.
static LogicalResult checkDimensions(const Rows &rows, const RowsPlan &plan,
                                     EmitError emitError) {
  int64_t most =
      rows.stages.empty() ? commonRank(rows.written) : sharedRows(rows);
  int64_t rank = rows.resultType(0).getRank();
  int64_t mostMerged =
      rows.stages.empty() ? std::max<int64_t>(1, mergedDimensions(rows.written))
                          : 1;
  if (failed(checkNumbers(emitError,
                          {{"outer", plan.outer, within(0, most)},
                           {"merged", plan.merged, within(1, mostMerged)}})))
    return failure();
  if (plan.merged > 1 && plan.outer + plan.merged > rank)
    return emitError() << "'outer' and 'merged' must be no more than the "
                       << rank << " dimensions of the results together, found "
                       << plan.outer << " and " << plan.merged;
  if (plan.along == -1)
    return success();
  if (rows.written.size() != 1 || plan.merged > 1)
    return emitError() << "'along' must be -1 but for one result whose "
                          "dimensions are not merged, found "
                       << plan.along;
  return checkNumbers(emitError,
                      {{"along", plan.along, within(plan.outer, rank - 1)}});
}

FailureOr<RowsPlan> RowsStrategy::expand(const Rows &rows,
                                         RowsPlanAttr attribute, const Target &,
                                         EmitError emitError) {
  RowsPlan plan;
  plan.outer = attribute.getOuter();
  plan.merged = attribute.getMerged();
  plan.along = attribute.getAlong();
  plan.lanes = attribute.getLanes();
  plan.unitsPerChunk = attribute.getUnits();
  if (ArrayAttr products = attribute.getProducts())
    llvm::append_range(plan.products,
                       products.getAsRange<ContractionPlanAttr>());
  if (failed(checkDimensions(rows, plan, emitError)))
    return failure();
  int64_t length = rowLength(rows, plan);
  plan.blockSize = attribute.getBlock() ? attribute.getBlock() : length;
  if (attribute.getBlock() != 0) {
    if (!hasBlocks(rows, plan))
      return emitError() << "'block' must be 0, as rows of this kernel cannot "
                            "be cut, found "
                         << plan.blockSize;
    if (failed(checkNumbers(emitError,
                            {{"block", plan.blockSize, within(1, length)}})))
      return failure();
  }
  if (plan.lanes > 1 && !hasVectors(rows, plan))
    return emitError() << "'lanes' must be 1, as some element of the kernel "
                          "is not found at a step from its neighbour, found "
                       << plan.lanes;
  follow(rows, plan);
  if (failed(followStages(rows, plan, emitError)))
    return failure();
  return plan;
}

double RowsStrategy::cost(const Rows &rows, const RowsPlan &plan,
                          const Target &target) {
  func::FuncOp kernel = rows.kernel;
  RankedTensorType first = rows.resultType(0);
  int64_t length = first.getRank() > 0 ? first.getShape().back() : 1;
  ElementLoops loops{plan.lanes, plan.along, length >= 4 * plan.lanes ? 4 : 1,
                     /*followsInRegisters=*/false};
  double cycles =
      trafficCycles(kernel, target) + dispatchCycles(target, plan.chunks);
  // Against a strategy whose only work it is: where both factors lie is found
  // anew in each row.
  constexpr double kWithinRows = 1.15;
  llvm::DenseSet<Operation *> products;
  for (const RowStage &stage : plan.stages)
    if (stage.form == RowStage::Product) {
      products.insert(stage.op);
      cycles += kWithinRows * stageCycles(*stage.product, stage.plan, target);
    } else if (stage.form == RowStage::AlongLanes) {
      loops.alongReduced.insert(stage.op);
    }
  return cycles + elementwiseCycles(kernel, products, loops, target);
}

} // namespace tinh::cpu
