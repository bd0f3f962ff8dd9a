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
//   %m = graph.reduce mean %x axes [0] keepdims
//   %d = graph.sub %x, %m
//   %s = graph.mul %d, %d
//   %v = graph.reduce mean %s axes [0]
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_DECOMPOSEVARIANCE
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

void decompose(VarianceOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value x = op.getX();
  Value mean = ReduceOp::create(b, loc, ReduceKind::Mean, x, op.getAxes(),
                                /*keepdims=*/true);
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
