//===- RowsPlan.cpp - Stages, rows and chunks of a kernel -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Scan.h"
#include "compiler/Codegen/CPU/Strategy.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cpu {

/// Whether a value is computed by the kernel, element by element.
static bool isIntermediate(Value value) {
  return value.getDefiningOp() &&
         !isa<linalg::FillOp, tensor::EmptyOp, arith::ConstantOp>(
             value.getDefiningOp());
}

static AffineMap outputMap(linalg::GenericOp op) {
  return op.getMatchingIndexingMap(op.getDpsInitOperand(0));
}

/// The values that are computed from what is in scratch memory, and that
/// itself: of these only the unit's own part exists.
static llvm::DenseSet<Value> findPartial(ArrayRef<linalg::GenericOp> stages,
                                         Block &body) {
  llvm::DenseSet<Value> partial;
  for (linalg::GenericOp stage : stages)
    partial.insert_range(stage->getResults());
  for (Operation &op : body.without_terminator()) {
    bool reads = llvm::any_of(op.getOperands(),
                              [&](Value v) { return partial.contains(v); });
    op.walk([&](tensor::ExtractOp extract) {
      reads |= partial.contains(extract.getTensor());
    });
    if (reads)
      partial.insert_range(op.getResults());
  }
  return partial;
}

/// Leading dimensions, at most `rank`, in which `op` computes each index of its
/// result from that index of its partial operands alone.
static int64_t sharedRank(Operation *op, int64_t rank,
                          const llvm::DenseSet<Value> &partial) {
  auto isPartial = [&](Value value) { return partial.contains(value); };
  if (!llvm::any_of(op->getResults(), isPartial))
    return rank;
  auto keeps = [&](int64_t i) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      AffineMap output = outputMap(generic);
      if (i >= output.getNumResults() ||
          !isa<AffineDimExpr>(output.getResult(i)))
        return false;
      for (OpOperand *operand : generic.getDpsInputOperands()) {
        AffineMap map = generic.getMatchingIndexingMap(operand);
        if (isPartial(operand->get()) &&
            (i >= map.getNumResults() ||
             map.getResult(i) != output.getResult(i)))
          return false;
      }
      bool reads = false;
      generic.getBody()->walk([&](tensor::ExtractOp extract) {
        reads |= isPartial(extract.getTensor());
      });
      return !reads;
    }
    if (isa<linalg::FillOp, tensor::EmptyOp, arith::ConstantOp>(op))
      return true;
    auto sameExtent = [&](RankedTensorType a, RankedTensorType b,
                          ArrayRef<ReassociationIndices> groups) {
      return i < static_cast<int64_t>(groups.size()) && groups[i].size() == 1 &&
             groups[i][0] == i && a.getDimSize(i) == b.getDimSize(i);
    };
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return !isPartial(expand.getSrc()) ||
             sameExtent(expand.getSrcType(), expand.getResultType(),
                        expand.getReassociationIndices());
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      return !isPartial(collapse.getSrc()) ||
             sameExtent(collapse.getSrcType(), collapse.getResultType(),
                        collapse.getReassociationIndices());
    return llvm::none_of(op->getOperands(), isPartial);
  };
  int64_t shared = 0;
  while (shared < rank && keeps(shared))
    ++shared;
  return shared;
}

/// Whether all that depends on `value` reads it at the index it computes.
static bool pulledOnce(Value value) {
  if (!llvm::hasSingleElement(value.getUses()))
    return false;
  Operation *user = *value.user_begin();
  if (isa<func::ReturnOp>(user))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(user);
  if (!generic || generic.getNumReductionLoops() > 0 ||
      generic.getNumResults() != 1)
    return false;
  OpOperand &use = *value.use_begin();
  return generic.getMatchingIndexingMap(&use).isPermutation() &&
         pulledOnce(generic.getResult(0));
}

bool reducesLanes(linalg::GenericOp op) {
  // Some inputs are there for their shape alone.
  SmallVector<OpOperand *> inputs = op.getDpsInputOperands();
  auto read = llvm::find_if(inputs, [&](OpOperand *input) {
    return !op.getMatchingBlockArgument(input).use_empty();
  });
  if (op.getNumReductionLoops() == 0 || read == inputs.end())
    return false;
  AffineMap map = op.getMatchingIndexingMap(*read);
  if (map.getNumResults() == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResult(map.getNumResults() - 1));
  if (!last)
    return false;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  return last.getPosition() == reduced.back();
}

/// If `value` only reorders the dimensions of another value, but for the last:
/// that value, with `strides` those of its elements in memory for `value`.
static Value peelPermutation(Value value, SmallVectorImpl<int64_t> &strides) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || op.getNumDpsInputs() != 1 ||
      op.getNumResults() != 1 || !isIntermediate(op.getDpsInputs()[0]) ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return value;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  unsigned rank = map.getNumDims();
  if (!map.isPermutation() || !outputMap(op).isIdentity() || rank == 0 ||
      map.getDimPosition(rank - 1) != rank - 1)
    return value;
  SmallVector<int64_t> permuted;
  for (unsigned i = 0; i < rank; ++i)
    permuted.push_back(strides[map.getDimPosition(i)]);
  strides.assign(permuted);
  return op.getDpsInputs()[0];
}

static SmallVector<WrittenValue> writtenValues(func::FuncOp kernel) {
  SmallVector<WrittenValue> values;
  Operation *terminator = kernel.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    SmallVector<int64_t> strides = graph::resultStrides(kernel, i);
    Value source = peelPermutation(value, strides);
    values.push_back({source, strides});
  }
  return values;
}

static SmallVector<linalg::GenericOp> chooseStages(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> all, stages;
  kernel.walk([&](linalg::GenericOp op) { all.push_back(op); });
  bool anyReduction = false;
  for (linalg::GenericOp op : all)
    if (op.getNumReductionLoops() > 0 &&
        (reducesLanes(op) || matchScan(op) ||
         !llvm::all_of(op.getResults(), pulledOnce)))
      anyReduction = true;
  if (!anyReduction)
    return {};
  for (linalg::GenericOp op : all) {
    bool shared = op->getNumResults() == 1 && !op.getResult(0).hasOneUse() &&
                  !op.getResult(0).use_empty() && op.getNumDpsInputs() > 0;
    if (op.getNumReductionLoops() > 0 || shared)
      stages.push_back(op);
  }
  return stages;
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

/// Leading dimensions in which all results have the same extents.
static int64_t commonRank(const RowsPlan &plan) {
  ArrayRef<int64_t> first = plan.resultType(0).getShape();
  int64_t rank = first.size();
  for (size_t i = 1; i < plan.written.size(); ++i) {
    ArrayRef<int64_t> shape = plan.resultType(i).getShape();
    int64_t same = 0;
    while (same < std::min<int64_t>(rank, shape.size()) &&
           shape[same] == first[same])
      ++same;
    rank = same;
  }
  return rank;
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
  int64_t rank = commonRank(plan);
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
  Block &body = kernel.getBody().front();
  plan.rank = commonRank(plan);
  llvm::DenseSet<Operation *> peeled;
  for (auto [written, returned] :
       llvm::zip(plan.written, body.getTerminator()->getOperands()))
    if (written.value != returned && returned.hasOneUse())
      peeled.insert(returned.getDefiningOp());
  llvm::DenseSet<Value> partial = findPartial(plan.stages, body);
  for (Operation &op : body.without_terminator())
    if (!peeled.contains(&op))
      plan.rank = sharedRank(&op, plan.rank, partial);
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

static int64_t reducedElements(func::FuncOp kernel) {
  int64_t most = 1;
  kernel.walk([&](linalg::GenericOp op) {
    SmallVector<unsigned> loops;
    op.getReductionDims(loops);
    int64_t count = 1;
    for (unsigned loop : loops)
      count *= op.getStaticLoopRanges()[loop];
    most = std::max(most, count);
  });
  return most;
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
