//===- ForgetDropout.cpp - A model that is run drops nothing ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.dropout %x ratio 0.5
//   %1 = graph.relu %0
// becomes
//   %1 = graph.relu %x
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_FORGETDROPOUT
#include "compiler/Transforms/Passes.h.inc"

namespace {
struct ForgetDropoutPass : impl::ForgetDropoutBase<ForgetDropoutPass> {
  void runOnOperation() override { forgetDropout(getOperation()); }
};
} // namespace

void forgetDropout(func::FuncOp function) {
  function.walk([](graph::DropoutOp op) {
    op.replaceAllUsesWith(op.getX());
    op.erase();
  });
}

} // namespace tinh::transforms
