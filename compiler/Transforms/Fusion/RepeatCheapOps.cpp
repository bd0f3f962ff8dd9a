//===- RepeatCheapOps.cpp - Cheap ops once for each reader ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.sub %x, %m : tensor<16x56x56x64xf32>, tensor<64xf32> -> …
//   %1 = graph.mul %0, %0 : …
//   %2 = graph.mul %0, %s : …
// becomes
//   %0 = graph.sub %x, %m : tensor<16x56x56x64xf32>, tensor<64xf32> -> …
//   %1 = graph.mul %0, %0 : …
//   %3 = graph.sub %x, %m : tensor<16x56x56x64xf32>, tensor<64xf32> -> …
//   %2 = graph.mul %3, %s : …
//
// if %x is in memory anyway: to read it again, and to subtract again, costs no
// more than to read %0, which then is never written. A cast to wider floats is
// repeated in any case: its operand is what should lie in memory. A cast of an
// argument to narrower floats is, too, so that no copy of a weight waits for
// the backward pass: what reads it packs it anew anyhow.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Fusion/FusionCosts.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/OpFacts.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_REPEATCHEAPOPS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

/// The one operand of `op` that is not small beside its result; null if there
/// are several.
Value onlyLargeOperand(Operation *op) {
  constexpr int64_t kSmall = 8;
  int64_t elements = tensorType(op->getResult(0)).getNumElements();
  Value large;
  for (Value operand : op->getOperands()) {
    if (operand == large ||
        tensorType(operand).getNumElements() * kSmall <= elements)
      continue;
    if (large)
      return {};
    large = operand;
  }
  return large;
}

/// Whether kernels of these ops can compute what they read.
bool canComputeOperands(Operation *op) {
  return op->hasTrait<ElementwiseOpTrait>() || isa<ReduceOp>(op);
}

/// Whether each of several readers should compute `op` itself.
bool isWorthRepeating(Operation *op, const SetVector<Operation *> &readers) {
  constexpr size_t kMostReaders = 4;
  if (!op->hasTrait<ElementwiseOpTrait>() ||
      factsOf(op).costPerElement > FusionCosts().cheap || readers.size() < 2 ||
      readers.size() > kMostReaders)
    return false;
  if (!llvm::all_of(readers, [&](Operation *reader) {
        return reader->getBlock() == op->getBlock() &&
               canComputeOperands(reader);
      }))
    return false;
  Value large = onlyLargeOperand(op);
  // Read by others, it cannot stay in registers for this op alone.
  return large && !isConstantExpression(large) &&
         (!large.getDefiningOp() ||
          llvm::any_of(large.getUsers(),
                       [&](Operation *user) { return user != op; }));
}

/// Whether a cast rounds what the function is given, which is in memory.
bool roundsArgument(CastOp cast) {
  auto to = dyn_cast<FloatType>(tensorType(cast.getY()).getElementType());
  auto from = dyn_cast<FloatType>(tensorType(cast.getX()).getElementType());
  return from && to && to.getWidth() < from.getWidth() &&
         isa<BlockArgument>(cast.getX()) &&
         isa<func::FuncOp>(cast->getParentOp());
}

/// The readers of `op` that get copies of it.
SmallVector<Operation *> readersWithCopies(Operation *op) {
  SetVector<Operation *> readers;
  readers.insert(op->user_begin(), op->user_end());
  auto cast = dyn_cast<CastOp>(op);
  bool widens = ((cast && isWidening(cast)) || isOfBytes(op)) &&
                !isConstantExpression(op->getOperand(0));
  if (widens || (cast && roundsArgument(cast)))
    readers.remove_if([&](Operation *reader) {
      return reader->getBlock() != op->getBlock() ||
             (widens && !canComputeOperands(reader));
    });
  else if (isWorthRepeating(op, readers))
    readers.pop_back(); // It keeps the op itself.
  else
    return {};
  return readers.takeVector();
}

struct RepeatCheapOpsPass : impl::RepeatCheapOpsBase<RepeatCheapOpsPass> {
  void runOnOperation() override {
    numRepeated += repeatCheapOps(getOperation());
  }
};

} // namespace

int64_t repeatCheapOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (op->getNumResults() == 1)
      ops.push_back(op);
  });
  int64_t count = 0;
  for (Operation *op : llvm::reverse(ops)) {
    SmallVector<Operation *> readers = readersWithCopies(op);
    for (Operation *reader : readers) {
      OpBuilder builder(reader);
      Operation *copy = builder.clone(*op);
      reader->replaceUsesOfWith(op->getResult(0), copy->getResult(0));
      ++count;
    }
    if (!readers.empty() && op->use_empty())
      op->erase();
  }
  return count;
}

} // namespace tinh::transforms
