//===- SplitRows.cpp - Reductions with too few rows -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose results need all of what a reduction gives has one row, which
// one block computes. Where that is much work, the reduction becomes a kernel
// of its own; and a long one whose result is small becomes two: one of its
// parts, in as many blocks as a GPU likes, and one that combines these in the
// order of their numbers. One that reads vectors along another dimension than
// the last one of its result, such as the gradient of a depthwise convolution's
// weights, has that dimension last in a kernel of its own.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Rows/Rows.h"
#include "compiler/Codegen/Kernel/Conversions.h"
#include "compiler/Codegen/Kernel/Split.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tinh::cuda {

/// Blocks that are better than another kernel, and how many there should be
/// else: two for each multiprocessor.
static constexpr int64_t kEnoughBlocks = 16, kWantedBlocks = 264;
/// Elements that one block reads in less time than a kernel takes to start, and
/// so many that it takes longer than starting two.
static constexpr int64_t kMuch = 1 << 15, kTooMuch = 1 << 17;

/// Those that teams would have; nothing if the kernel is not for them.
static std::optional<int64_t> blocksOf(func::FuncOp kernel) {
  auto rows = RowsStrategy::match(kernel);
  RowsPlanAttr plan = rows ? planRows(*rows) : RowsPlanAttr();
  if (!plan)
    return std::nullopt;
  return layOutRows(*rows, plan).chunks;
}

/// Lets a kernel of its own compute a reduction that is a stage of `kernel`.
static graph::DispatchOp splitRowsStage(DispatchedKernel dispatched) {
  func::FuncOp kernel = dispatched.kernel;
  auto blocks = blocksOf(kernel);
  if (blocks && (*blocks >= kEnoughBlocks || largestValue(kernel) < kMuch))
    return {};
  SmallVector<linalg::GenericOp> reductions =
      llvm::filter_to_vector(chooseStages(kernel), [](linalg::GenericOp op) {
        return op.getNumReductionLoops() > 0;
      });
  // What remains should be worth a kernel, too.
  auto isWorth = [&](ValueRange values) {
    return !blocks || largestValue(kernel, values[0].getDefiningOp()) >= kMuch;
  };
  return splitStage(dispatched, reductions, isWorth);
}

/// Parts that give a GPU enough blocks, which have enough to do: a block has a
/// row, or a few vectors of columns.
static Parts partsOf(linalg::GenericOp op, int64_t blocks) {
  constexpr int64_t kLeastReduced = 16, kLeastOfBlock = 1 << 13,
                    kColumns = kWarp * 4;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  int64_t results = type.getNumElements(),
          elements = ShapedType::getNumElements(op.getStaticLoopRanges());
  if (!reducesLanes(op))
    results = llvm::divideCeil(results, kColumns);
  blocks = std::max(blocks, results);
  int64_t wanted = llvm::divideCeil(kWantedBlocks, blocks);
  return {std::min(wanted, elements / (blocks * kLeastOfBlock)), kLeastReduced};
}

/// Lets a kernel of its own compute the parts of a reduction.
static graph::DispatchOp splitLongRows(DispatchedKernel dispatched) {
  func::FuncOp kernel = dispatched.kernel;
  int64_t blocks = blocksOf(kernel).value_or(1);
  if (blocks >= plannedMachine().multiprocessors ||
      (blocks >= kEnoughBlocks && largestValue(kernel) / blocks < kTooMuch))
    return {};
  return splitReduction(dispatched, kMuch, [&](linalg::GenericOp op) {
    return partsOf(op, blocks);
  });
}

//===----------------------------------------------------------------------===//
// Results in another order
//===----------------------------------------------------------------------===//

/// The loop that indexes the last dimension of more than one element; none if
/// that is not indexed by a loop alone.
static std::optional<unsigned> lastLoop(linalg::GenericOp op, AffineMap map) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (AffineExpr expr : llvm::reverse(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    if (extents[dim.getPosition()] > 1)
      return dim.getPosition();
  }
  return std::nullopt;
}

/// The loop along which all inputs of `op` are contiguous, if it is not one of
/// the reduction.
static std::optional<unsigned> contiguousLoop(linalg::GenericOp op) {
  std::optional<unsigned> found;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (op.getMatchingBlockArgument(operand).use_empty())
      continue;
    auto last = lastLoop(op, op.getMatchingIndexingMap(operand));
    if (!last || (found && *found != *last))
      return std::nullopt;
    found = last;
  }
  if (!found ||
      op.getIteratorTypesArray()[*found] != utils::IteratorType::parallel)
    return std::nullopt;
  return found;
}

/// Lets a kernel of its own compute a large reduction with vectors.
static graph::DispatchOp splitMoved(DispatchedKernel dispatched) {
  func::FuncOp kernel = dispatched.kernel;
  constexpr int64_t kLeastLong = 8;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    auto loop = op.getNumReductionLoops() > 0 ? contiguousLoop(op)
                                              : std::optional<unsigned>();
    if (!loop || op.getNumResults() != 1 || !combinesElements(op) ||
        op.getStaticLoopRanges()[*loop] < kLeastLong ||
        ShapedType::getNumElements(op.getStaticLoopRanges()) < kMuch)
      continue;
    AffineMap output = outputMap(op);
    auto dim =
        output.getResultPosition(getAffineDimExpr(*loop, op.getContext()));
    auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    if (!fill || !dim ||
        ShapedType::getNumElements(type.getShape().drop_front(*dim + 1)) == 1)
      continue;
    OpBuilder b(op);
    SmallVector<int64_t> order = orderWithLast(type.getRank(), *dim);
    Value moved = reducePermuted(b, op, fill, order);
    op.getResult(0).replaceAllUsesWith(
        permute(b, op.getLoc(), moved, invertPermutationVector(order)));
    op.erase();
    return dispatchStage(dispatched, "_stage", moved);
  }
  return {};
}

graph::DispatchOp splitRows(DispatchedKernel dispatched) {
  if (reducedElements(dispatched.kernel) <= 1)
    return {};
  if (graph::DispatchOp moved = splitMoved(dispatched))
    return moved;
  if (graph::DispatchOp stage = splitRowsStage(dispatched))
    return stage;
  return splitLongRows(dispatched);
}

} // namespace tinh::cuda
