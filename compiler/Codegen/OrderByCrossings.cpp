//===- OrderByCrossings.cpp - Two devices at the same time ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.kernel (%x) … attributes {graph.device = "cuda"}
//   %1 = graph.transfer %0 to "cpu"
//   %2 = graph.kernel (%1) …                            // waits for the GPU
//   %3 = graph.kernel (%x) …                            // does not
//   %4 = graph.kernel (%x) … attributes {graph.device = "cuda"}
//
// becomes %0, %1, %3, %4, %2: in a run steps of the CPU are computed in their
// order, so that one that waits for the GPU keeps others from running
// meanwhile. What needs nothing that has come from the GPU comes first, then
// what needs something that has come once, and so on; within that nothing
// changes its place.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/PlaceKernels.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace tinh::codegen {

static bool isToCpu(Operation *op) {
  auto transfer = dyn_cast<graph::TransferOp>(op);
  return transfer && !transfer.isToCuda();
}

/// Of an op: one more than what comes from the GPU to it has.
static unsigned countCrossings(Operation &op,
                               const DenseMap<Operation *, unsigned> &known) {
  llvm::SetVector<Value> values(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), values);
  unsigned most = 0;
  for (Value value : values) {
    Operation *from = value.getDefiningOp();
    auto found = known.find(from);
    if (from && found != known.end())
      most = std::max(most, found->second + isToCpu(from));
  }
  return most;
}

static void orderBlock(Block &block) {
  DenseMap<Operation *, unsigned> crossings;
  SmallVector<Operation *> order;
  for (Operation &op : block.without_terminator()) {
    crossings[&op] = countCrossings(op, crossings);
    order.push_back(&op);
  }
  llvm::stable_sort(order, [&](Operation *a, Operation *b) {
    return crossings.at(a) < crossings.at(b);
  });
  if (Operation *end = block.empty() ? nullptr : &block.back())
    for (Operation *op : order)
      op->moveBefore(end);
}

void orderByCrossings(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<graph::KernelOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        blocks.push_back(&block);
    return WalkResult::advance();
  });
  llvm::for_each(blocks, [](Block *block) { orderBlock(*block); });
}

} // namespace tinh::codegen
