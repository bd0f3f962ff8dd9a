//===- SpreadConstants.cpp - Large constants with one value -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/SpreadConstants.h"

#include "compiler/Support/ConstantBudget.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

uint64_t storedConstants(func::FuncOp function) {
  uint64_t bytes = 0;
  function.walk([&](graph::ConstantOp op) {
    bool isSplat = isa<SplatElementsAttr>(op.getValue());
    bytes += isSplat ? 0 : graph::tensorSize(op.getType());
  });
  return bytes;
}

DenseSet<Operation *> spreadInRuns(func::FuncOp function) {
  DenseSet<Operation *> inRuns;
  ConstantBudget budget(storedConstants(function), ConstantBudget::kComputed);
  SmallVector<graph::ConstantOp> constants(
      function.getOps<graph::ConstantOp>());
  for (graph::ConstantOp constant : constants) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    auto isRead = [](OpOperand &use) {
      return isa<graph::ReshapeOp>(use.getOwner()) ||
             graph::isControlFlow(use.getOwner()) ||
             use.getOwner()->hasTrait<OpTrait::IsTerminator>();
    };
    if (!splat || !llvm::any_of(constant->getUses(), isRead) ||
        budget.take(graph::tensorSize(constant.getType())))
      continue;
    OpBuilder builder(constant);
    auto type = cast<RankedTensorType>(constant.getType());
    Value one = graph::ConstantOp::create(
        builder, constant.getLoc(),
        splat.resizeSplat(RankedTensorType::get({}, type.getElementType())));
    auto all =
        graph::BroadcastOp::create(builder, constant.getLoc(), type, one);
    constant.getResult().replaceUsesWithIf(all.getResult(), isRead);
    inRuns.insert(all);
  }
  return inRuns;
}

} // namespace tinh::transforms
