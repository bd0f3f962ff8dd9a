//===- ForgetGradients.cpp - What is said for gradients goes ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.stop_gradient %x          becomes  graph.round %x
//   %y = graph.custom_gradient (%0) {
//   ^bb0(%a: tensor<4xf32>):
//     %1 = graph.round %a
//     graph.yield %1
//   } gradient { … }
//
// Nothing is differentiated any more then, and loops that gradients run again
// for what they need of them are merged with the first ones.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/MergeRepeated.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_FORGETGRADIENTS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

/// Puts the forward region in the place of the op.
void inlineForward(CustomGradientOp op) {
  Block &block = op.getForward().front();
  for (auto [argument, input] :
       llvm::zip_equal(block.getArguments(), op.getInputs()))
    argument.replaceAllUsesWith(input);
  Operation *yield = block.getTerminator();
  op->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         block.getOperations());
  op->erase();
}

struct ForgetGradientsPass : impl::ForgetGradientsBase<ForgetGradientsPass> {
  void runOnOperation() override { forgetGradients(getOperation()); }
};

} // namespace

void forgetGradients(func::FuncOp function) {
  function.walk([](Operation *op) { // Inner ones first.
    if (auto stop = dyn_cast<StopGradientOp>(op)) {
      stop.replaceAllUsesWith(stop.getX());
      stop.erase();
    } else if (auto custom = dyn_cast<CustomGradientOp>(op)) {
      inlineForward(custom);
    }
  });
  function.walk<WalkOrder::PreOrder>(
      [](Block *block) { gradients::mergeRepeated(*block); });
}

} // namespace tinh::transforms
