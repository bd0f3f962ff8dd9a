//===- DecomposeVariance.cpp - Variances become means -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %v = graph.variance %x axes [0]
// becomes
//   %0 = graph.reduce mean %x axes [0]
//   %m = graph.reshape %0
//   %d = graph.sub %x, %m
//   %s = graph.mul %d, %d
//   %v = graph.reduce mean %s axes [0]
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_DECOMPOSEVARIANCE
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

/// The mean of x, with its dimensions, as a reshape of a reduction: so that it
/// is one with other means of x, whatever their dimensions.
Value createMean(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> axes) {
  Value mean = ReduceOp::create(b, loc, ReduceKind::Mean, x, axes,
                                /*keepdims=*/false);
  SmallVector<int64_t> shape(tensorType(x).getShape());
  for (int64_t axis : axes)
    shape[axis] = 1;
  return reshapeTo(b, loc, mean, shape);
}

/// Writes other means of x in the same way.
void rewriteMeans(Value x, ArrayRef<int64_t> axes) {
  for (Operation *user : llvm::make_early_inc_range(x.getUsers())) {
    auto reduce = dyn_cast<ReduceOp>(user);
    if (!reduce || reduce.getKind() != ReduceKind::Mean ||
        !reduce.getKeepdims() || reduce.getAxes() != axes)
      continue;
    OpBuilder b(reduce);
    reduce.replaceAllUsesWith(createMean(b, reduce.getLoc(), x, axes));
    reduce.erase();
  }
}

void decompose(VarianceOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value x = op.getX();
  rewriteMeans(x, op.getAxes());
  Value mean = createMean(b, loc, x, op.getAxes());
  Value distance = SubOp::create(b, loc, x, mean);
  Value square = MulOp::create(b, loc, distance, distance);
  Value variance = ReduceOp::create(b, loc, ReduceKind::Mean, square,
                                    op.getAxes(), op.getKeepdims());
  op.replaceAllUsesWith(variance);
  op.erase();
}

struct DecomposeVariancePass
    : impl::DecomposeVarianceBase<DecomposeVariancePass> {
  void runOnOperation() override {
    numDecomposed += decomposeVariance(getOperation());
  }
};

} // namespace

int64_t decomposeVariance(func::FuncOp function) {
  SmallVector<VarianceOp> ops;
  function.walk([&](VarianceOp op) { ops.push_back(op); });
  llvm::for_each(ops, decompose);
  return static_cast<int64_t>(ops.size());
}

} // namespace tinh::transforms
