//===- ApproximateMath.cpp - Fast rather than accurate math -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tinh::codegen {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "compiler/Codegen/Passes.h.inc"

namespace {

/// What code generation has two ways for.
bool hasTwoQualities(Operation *op) {
  return isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp,
             math::Log2Op, math::Log10Op, math::Log1pOp, math::TanhOp,
             math::ErfOp, math::SinOp, math::CosOp, math::PowFOp>(op);
}

struct ApproximateMath : impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (!graph::isOnCuda(kernel))
        kernel.walk([&](Operation *op) { approximate(op); });
  }

  void approximate(Operation *op) {
    auto math = dyn_cast<arith::ArithFastMathInterface>(op);
    if (!math || !hasTwoQualities(op))
      return;
    arith::FastMathFlags flags = math.getFastMathFlagsAttr().getValue();
    op->setAttr(math.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(
                    op->getContext(), flags | arith::FastMathFlags::afn));
    ++numApproximated;
  }
};

} // namespace

} // namespace tinh::codegen
