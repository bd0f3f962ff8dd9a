//===- Elementwise.cpp - Gradients, element by element
//--------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

using namespace mlir;

namespace tinh::gradients {

static void differentiateAdd(Vjp<graph::AddOp> &vjp) {
  vjp.give(0, [&] { return vjp.dy(); });
  vjp.give(1, [&] { return vjp.dy(); });
}

static void differentiateMul(Vjp<graph::MulOp> &vjp) {
  vjp.give(0, [&] { return vjp.ops.mul(vjp.dy(), vjp.op.getB()); });
  vjp.give(1, [&] { return vjp.ops.mul(vjp.dy(), vjp.op.getA()); });
}

void attachElementwiseRules(MLIRContext *context) {
  attachRule<graph::AddOp, differentiateAdd>(context);
  attachRule<graph::MulOp, differentiateMul>(context);
}

} // namespace tinh::gradients
