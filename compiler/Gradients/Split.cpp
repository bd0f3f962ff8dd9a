//===- Split.cpp - What gradients keep of the computation -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Split.h"

#include "compiler/Graph/GraphBuilder.h"
#include "dialects/graph/Graph.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tinh::gradients {

/// Whether to compute an op again takes neither time nor memory.
static bool isFree(Operation *op) {
  return isa<graph::ConstantOp, graph::IotaOp, graph::BroadcastOp,
             graph::ReshapeOp, graph::StopGradientOp>(op);
}

/// Whether nothing on which `op` depends is computed, or given, in its block.
static bool isInvariant(Operation *op) {
  SmallVector<Operation *> pending = {op};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *next = pending.pop_back_val();
    for (Value value : graph::readValues(next)) {
      if (value.getParentBlock() != op->getBlock())
        continue;
      Operation *definition = value.getDefiningOp();
      if (!definition)
        return false;
      if (seen.insert(definition).second)
        pending.push_back(definition);
    }
  }
  return true;
}

bool Split::isBefore(Operation *op) const {
  return last && (op == last || op->isBeforeInBlock(last));
}

void Split::eraseDeadGradients() {
  Operation *op = block.getTerminator()->getPrevNode();
  while (op && op != last) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    else
      for (Region &region : op->getRegions())
        for (Block &inner : region)
          eraseDeadOps(inner);
    op = before;
  }
}

void Split::need(Value value) {
  if (value.getParentBlock() != &block)
    return;
  Operation *op = value.getDefiningOp();
  if (op && !isBefore(op))
    return;
  if (!op || !(isFree(op) || (repeats && isInvariant(op))))
    kept.insert(value);
  else if (repeated.insert(op).second)
    llvm::append_range(pending, graph::readValues(op));
}

Split::Split(Block &block, Operation *last, ValueRange results, bool repeats)
    : block(block), last(last), results(results), repeats(repeats) {
  eraseDeadGradients();
  llvm::append_range(pending, results);
  for (Operation &op : block.without_terminator())
    if (!isBefore(&op))
      llvm::append_range(pending, graph::readValues(&op));
  while (!pending.empty())
    need(pending.pop_back_val());
  SmallVector<Value> ordered = kept.takeVector();
  auto place = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? argument.getArgNumber()
                    : cast<OpResult>(value).getResultNumber();
  };
  llvm::sort(ordered, [&](Value a, Value b) {
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    if (first == second)
      return place(a) < place(b);
    return !first || (second && first->isBeforeInBlock(second));
  });
  kept.insert(ordered.begin(), ordered.end());
}

SmallVector<Value> Split::copyGradients(OpBuilder &builder,
                                        IRMapping &mapping) const {
  for (Operation &op : block.without_terminator())
    if (!isBefore(&op) || repeated.contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> copies;
  for (Value result : results)
    copies.push_back(mapping.lookupOrDefault(result));
  return copies;
}

void Split::eraseGradients() {
  Operation *op = block.getTerminator()->getPrevNode();
  while (op && op != last) {
    Operation *before = op->getPrevNode();
    op->dropAllUses();
    op->erase();
    op = before;
  }
}

} // namespace tinh::gradients
