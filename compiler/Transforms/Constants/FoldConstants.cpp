//===- FoldConstants.cpp - Ops on small constants are evaluated -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.constant dense<[1.0, 2.0]>
//   %1 = graph.constant dense<3.0>
//   %2 = graph.add %0, %1
// becomes
//   %2 = graph.constant dense<[4.0, 5.0]>
//
// Ops on large constants stay: they run, compiled, when the artifact is
// written. What has no elements is a constant, too.
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/EvaluateConstants.h"
#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_FOLDCONSTANTS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}

/// The operands' elements, if all are inline constants of a moderate size.
bool constantOperands(Operation *op, int64_t maxElements,
                      SmallVectorImpl<DenseElementsAttr> &operands) {
  for (Value operand : op->getOperands()) {
    auto constant = operand.getDefiningOp<ConstantOp>();
    auto elements =
        constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
    if (!elements || elements.getNumElements() > maxElements)
      return false;
    operands.push_back(elements);
  }
  return true;
}

/// The values of an op's results, if they are known.
SmallVector<DenseElementsAttr> evaluate(Operation *op, int64_t maxElements) {
  SmallVector<DenseElementsAttr> values, operands;
  if (llvm::all_of(op->getResultTypes(), isEmpty)) {
    for (Type type : op->getResultTypes())
      values.push_back(DenseElementsAttr::get(cast<RankedTensorType>(type),
                                              ArrayRef<Attribute>()));
    return values;
  }
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (op->getNumResults() == 1 && type &&
      type.getNumElements() <= maxElements &&
      constantOperands(op, maxElements, operands))
    if (std::optional<DenseElementsAttr> value = evaluateConstant(op, operands))
      values.push_back(*value);
  return values;
}

bool foldOp(Operation *op, int64_t maxElements) {
  if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
      isa<ConstantOp, WeightOp, DispatchOp>(op) || !isMemoryEffectFree(op) ||
      isOfBytes(op)) // Products may do with bytes.
    return false;
  SmallVector<DenseElementsAttr> values = evaluate(op, maxElements);
  if (values.empty())
    return false;
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    result.replaceAllUsesWith(ConstantOp::create(
        builder, op->getLoc(), result.getType(), cast<TypedAttr>(value)));
  op->erase();
  return true;
}

struct FoldConstantsPass : impl::FoldConstantsBase<FoldConstantsPass> {
  using FoldConstantsBase::FoldConstantsBase;
  void runOnOperation() override {
    numFolded += foldConstants(getOperation(), maxElements);
  }
};

} // namespace

int64_t foldConstants(func::FuncOp function, int64_t maxElements) {
  if (function.isExternal())
    return 0;
  int64_t folded = 0;
  function.walk([&](Operation *op) { folded += foldOp(op, maxElements); });
  eraseDeadOps(function.getBody().front());
  return folded;
}

} // namespace tinh::transforms
