//===- FoldQuantizationScales.cpp - Scales join those before them ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.dequantize %sums scale %s
//   %1 = graph.add %0, %bias
//   %2 = graph.quantize %1 scale 0.5
// becomes
//   %0 = graph.dequantize %sums scale (s · 2)
//   %1 = graph.add %0, (bias · 2)
//   %2 = graph.quantize %1 scale 1
//
// All that is new is computed of constants.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Quantization/Quantization.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_FOLDQUANTIZATIONSCALES
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

/// Of a product the operand that is one constant, if another has a factor.
OpOperand *constantFactor(MulOp op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isConstantExpression(operand.get()))
      return &operand;
  return nullptr;
}

/// Whether multiples of `value` cost no more than itself.
bool canScale(Value value) {
  if (isConstantExpression(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (auto dequantize = dyn_cast_or_null<DequantizeOp>(op))
    return isConstantExpression(dequantize.getScale());
  if (!op || !op->hasOneUse())
    return false;
  if (auto product = dyn_cast<MulOp>(op))
    return constantFactor(product) != nullptr;
  return isa<AddOp, SubOp, ReluOp>(op) &&
         llvm::all_of(op->getOperands(), canScale);
}

/// `value` times `factor`, which is positive.
Value scaled(OpBuilder &builder, Value value, double factor) {
  if (isConstantExpression(value)) {
    ImplicitLocOpBuilder b(value.getLoc(), builder);
    b.setInsertionPointAfterValue(value);
    auto scalar = RankedTensorType::get({}, tensorType(value).getElementType());
    return MulOp::create(b, value, createSplat(b, b.getLoc(), scalar, factor));
  }
  Operation *op = value.getDefiningOp();
  builder.setInsertionPoint(op);
  if (isa<DequantizeOp>(op)) {
    auto copy = cast<DequantizeOp>(builder.clone(*op));
    copy.getScaleMutable().assign(scaled(builder, copy.getScale(), factor));
    return copy.getY();
  }
  if (auto product = dyn_cast<MulOp>(op)) {
    OpOperand *constant = constantFactor(product);
    constant->set(scaled(builder, constant->get(), factor));
    return value;
  }
  for (OpOperand &operand : op->getOpOperands())
    operand.set(scaled(builder, operand.get(), factor));
  return value;
}

bool foldScale(QuantizeOp op) {
  std::optional<double> scale = splatValue(op.getScale());
  if (!scale || *scale <= 0 || *scale == 1 || !hasReciprocal(*scale) ||
      isConstantExpression(op.getX()) || !canScale(op.getX()))
    return false;
  OpBuilder builder(op);
  op.getXMutable().assign(scaled(builder, op.getX(), 1 / *scale));
  builder.setInsertionPoint(op);
  op.getScaleMutable().assign(
      createSplat(builder, op.getLoc(), tensorType(op.getScale()), 1));
  return true;
}

struct FoldQuantizationScalesPass
    : impl::FoldQuantizationScalesBase<FoldQuantizationScalesPass> {
  void runOnOperation() override {
    getOperation().walk([&](QuantizeOp op) { numFolded += foldScale(op); });
  }
};

} // namespace
} // namespace tinh::transforms
