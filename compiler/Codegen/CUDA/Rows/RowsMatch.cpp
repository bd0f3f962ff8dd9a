//===- RowsMatch.cpp - Stages, rows and columns of a kernel -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Rows/Rows.h"

#include "compiler/Codegen/Kernel/Forms/Scan.h"

using namespace mlir;

namespace tinh::cuda {

/// Whether `value` depends on a reduction.
static bool followsReduction(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return (generic && generic.getNumReductionLoops() > 0) ||
         llvm::any_of(op->getOperands(), followsReduction);
}

/// Whether a reduction computes `op` much more often than once an element.
static bool isReadAgainAndAgain(linalg::GenericOp op) {
  constexpr int64_t kOften = 4;
  if (op.getNumResults() != 1 || !followsReduction(op.getResult(0)))
    return false;
  int64_t elements =
      cast<RankedTensorType>(op.getResult(0).getType()).getNumElements();
  return llvm::any_of(op.getResult(0).getUsers(), [&](Operation *user) {
    auto reader = dyn_cast<linalg::GenericOp>(user);
    return reader && reader.getNumReductionLoops() > 0 &&
           ShapedType::getNumElements(reader.getStaticLoopRanges()) >=
               kOften * elements;
  });
}

/// The reductions, and what they would compute again and again. What else is
/// read more than once is cheaper computed again than kept.
static SmallVector<linalg::GenericOp> findStages(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> stages;
  kernel.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() > 0 || isReadAgainAndAgain(op))
      stages.push_back(op);
  });
  return stages;
}

/// Whether the last dimension, too, is common to all: then it has columns.
static bool hasColumns(const RowsKernel &rows) {
  auto isWhole = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() == rows.rank && type.getShape() == rows.shape();
  };
  return rows.rank > 0 &&
         llvm::all_of(
             rows.written,
             [&](const WrittenValue &w) { return isWhole(w.value); }) &&
         llvm::all_of(rows.stages, [&](linalg::GenericOp op) {
           return !reducesLanes(op) && llvm::all_of(op.getResults(), isWhole);
         });
}

Match<RowsKernel> RowsStrategy::match(func::FuncOp kernel) {
  RowsKernel rows;
  rows.kernel = kernel;
  rows.stages = findStages(kernel);
  if (rows.stages.empty() || kernel.getNumResults() == 0)
    return NoMatch{"has no reduction"};
  for (linalg::GenericOp op : rows.stages) {
    if (matchScan(op))
      return NoMatch{"has a running sum"};
    if (op.getNumResults() != 1 && op.getNumReductionLoops() == 0)
      return NoMatch{"reads several results of an op again and again"};
    if (llvm::is_contained(op.getStaticLoopRanges(), 0))
      return NoMatch{"has a reduction of no elements"};
  }
  rows.written = writtenValues(kernel);
  rows.rank = sharedRank(kernel, rows.stages, rows.written);
  if (llvm::is_contained(rows.shape().take_front(rows.rank), 0))
    return NoMatch{"has no rows"};
  rows.hasColumns = hasColumns(rows);
  return std::move(rows);
}

} // namespace tinh::cuda
