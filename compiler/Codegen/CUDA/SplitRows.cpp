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
// order of their numbers.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Rows.h"
#include "compiler/Codegen/Kernel/Scan.h"
#include "compiler/Codegen/Kernel/Split.h"

using namespace mlir;

namespace tinh::cuda {

/// Blocks that are better than another kernel, and how many there should be
/// else.
static constexpr int64_t kEnoughBlocks = 16, kWantedBlocks = 512;
/// Elements that one block reads in less time than a kernel takes to start.
static constexpr int64_t kMuch = 1 << 15;

static int64_t blocksOf(func::FuncOp kernel) {
  if (auto plan = planRows(kernel))
    return plan->division.blocks;
  return 1;
}

/// Lets a kernel of its own compute a stage of `kernel`.
static graph::DispatchOp splitStage(OpBuilder &b, SymbolTable &symbols,
                                    func::FuncOp kernel,
                                    graph::DispatchOp dispatch) {
  constexpr StringLiteral kSuffix = "_stage";
  auto plan = planRows(kernel);
  if (plan &&
      (plan->division.blocks >= kEnoughBlocks || largestValue(kernel) < kMuch))
    return {};
  for (linalg::GenericOp op : chooseStages(kernel)) {
    if (op.getNumReductionLoops() == 0)
      continue;
    SmallVector<Value> values = handedOver(op);
    if (values.empty())
      continue;
    // What remains should be worth a kernel, too.
    if (!plan || largestValue(kernel, values[0].getDefiningOp()) >= kMuch)
      return dispatchStage(b, symbols, kernel, dispatch, kSuffix, values);
  }
  return {};
}

/// Lets a kernel of its own compute the parts of a reduction.
static graph::DispatchOp splitReduction(OpBuilder &b, SymbolTable &symbols,
                                        func::FuncOp kernel,
                                        graph::DispatchOp dispatch) {
  constexpr int64_t kLeastReduced = 1024;
  int64_t blocks = blocksOf(kernel);
  if (blocks >= kEnoughBlocks)
    return {};
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    SmallVector<int64_t> extents = op.getStaticLoopRanges();
    SmallVector<unsigned> loops;
    op.getReductionDims(loops);
    int64_t reduced = 1;
    for (unsigned loop : loops)
      reduced *= extents[loop];
    if (ShapedType::getNumElements(extents) < kMuch || loops.empty() ||
        !combinesElements(op) || largestValue(kernel, op) >= kMuch)
      continue;
    int64_t best = 1;
    unsigned split = 0;
    for (unsigned loop : loops) {
      int64_t parts =
          countParts(extents[loop], llvm::divideCeil(kWantedBlocks, blocks),
                     reduced / kLeastReduced);
      if (parts > best && isDivisible(op, loop)) {
        best = parts;
        split = loop;
      }
    }
    if (best > 1)
      return dispatchParts(b, symbols, kernel, dispatch, op, split, best);
  }
  return {};
}

graph::DispatchOp splitRows(OpBuilder &b, SymbolTable &symbols,
                            func::FuncOp kernel, graph::DispatchOp dispatch) {
  if (reducedElements(kernel) <= 1)
    return {};
  if (graph::DispatchOp stage = splitStage(b, symbols, kernel, dispatch))
    return stage;
  return splitReduction(b, symbols, kernel, dispatch);
}

} // namespace tinh::cuda
