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
// repeated in any case: its operand is what should lie in memory.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants.h"
#include "compiler/Transforms/FusionCosts.h"
#include "compiler/Transforms/Passes.h"

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
      FusionCosts::perElement(op) > FusionCosts().cheap || readers.size() < 2 ||
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

/// The readers of a cast to wider floats that should compute it themselves;
/// none if there is one reader, which does so if it can.
SmallVector<Operation *>
wideningReaders(CastOp cast, const SetVector<Operation *> &readers) {
  SmallVector<Operation *> able;
  if (readers.size() > 1 && !isConstantExpression(cast.getX()))
    llvm::copy_if(readers, std::back_inserter(able), [&](Operation *reader) {
      return reader->getBlock() == cast->getBlock() &&
             canComputeOperands(reader);
    });
  // The last one keeps the op itself.
  if (able.size() == readers.size() && !able.empty())
    able.pop_back();
  return able;
}

/// The readers of `op` that get copies of it.
SmallVector<Operation *> readersWithCopies(Operation *op) {
  SetVector<Operation *> readers;
  readers.insert(op->user_begin(), op->user_end());
  if (auto cast = dyn_cast<CastOp>(op); cast && isWidening(cast))
    return wideningReaders(cast, readers);
  if (!isWorthRepeating(op, readers))
    return {};
  return SmallVector<Operation *>(readers.getArrayRef().drop_back());
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
    for (Operation *reader : readersWithCopies(op)) {
      OpBuilder builder(reader);
      Operation *copy = builder.clone(*op);
      reader->replaceUsesOfWith(op->getResult(0), copy->getResult(0));
      ++count;
    }
  }
  return count;
}

} // namespace tinh::transforms
