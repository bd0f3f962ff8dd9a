//===- Stages.cpp - What a kernel computes before the rest ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Stages.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Forms/Scan.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::codegen {

/// Whether a value is computed by the kernel, element by element.
static bool isIntermediate(Value value) {
  return value.getDefiningOp() &&
         !isa<linalg::FillOp, tensor::EmptyOp, arith::ConstantOp>(
             value.getDefiningOp());
}

/// The values that are computed from the results of `stages`, and these
/// themselves: of these only the part of one unit exists.
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
  auto order = op ? permutationOf(op) : std::nullopt;
  if (!order || !isIntermediate(op.getDpsInputs()[0]) || order->empty() ||
      order->back() != order->size() - 1)
    return value;
  strides = llvm::map_to_vector(*order, [&](unsigned i) { return strides[i]; });
  return op.getDpsInputs()[0];
}

SmallVector<WrittenValue> writtenValues(func::FuncOp kernel) {
  SmallVector<WrittenValue> values;
  for (auto [i, value] : llvm::enumerate(returnedValues(kernel))) {
    SmallVector<int64_t> strides = graph::resultStrides(kernel, i);
    Value source = peelPermutation(value, strides);
    values.push_back({source, strides});
  }
  return values;
}

SmallVector<linalg::GenericOp> chooseStages(func::FuncOp kernel) {
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

int64_t commonRank(ArrayRef<WrittenValue> written) {
  ArrayRef<int64_t> first = written[0].type().getShape();
  int64_t rank = first.size();
  for (const WrittenValue &other : written.drop_front()) {
    ArrayRef<int64_t> shape = other.type().getShape();
    int64_t same = 0;
    while (same < std::min<int64_t>(rank, shape.size()) &&
           shape[same] == first[same])
      ++same;
    rank = same;
  }
  return rank;
}

int64_t sharedRank(func::FuncOp kernel, ArrayRef<linalg::GenericOp> stages,
                   ArrayRef<WrittenValue> written) {
  Block &body = kernel.getBody().front();
  int64_t rank = commonRank(written);
  llvm::DenseSet<Operation *> peeled;
  for (auto [result, returned] : llvm::zip(written, returnedValues(kernel)))
    if (result.value != returned && returned.hasOneUse())
      peeled.insert(returned.getDefiningOp());
  llvm::DenseSet<Value> partial = findPartial(stages, body);
  for (Operation &op : body.without_terminator())
    if (!peeled.contains(&op))
      rank = sharedRank(&op, rank, partial);
  return rank;
}

int64_t reducedElements(linalg::GenericOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  int64_t count = 1;
  for (unsigned loop : loops)
    count *= op.getStaticLoopRanges()[loop];
  return count;
}

int64_t reducedElements(func::FuncOp kernel) {
  int64_t most = 1;
  kernel.walk([&](linalg::GenericOp op) {
    most = std::max(most, reducedElements(op));
  });
  return most;
}

} // namespace tinh::codegen
