//===- LowerToLinalg.cpp - Graph ops as linalg on tensors -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "dialects/origin/Origin.h"

using namespace mlir;

namespace tinh::codegen {

LogicalResult lowerOp(Operation &op, OpBuilder &builder,
                      llvm::DenseMap<Value, Value> &values) {
  auto lowering = dyn_cast<graph::LowerToLinalgInterface>(op);
  if (!lowering)
    return op.emitOpError("cannot lie in a kernel: there is no lowering to "
                          "linalg for it");
  SmallVector<Value> operands = llvm::map_to_vector(
      op.getOperands(), [&](Value operand) { return values.at(operand); });
  auto results = lowering.lowerToLinalg(builder, operands);
  if (failed(results))
    return failure();
  for (auto [result, lowered] : llvm::zip_equal(op.getResults(), *results))
    values[result] = lowered;
  return success();
}

void registerLowerToLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    context->loadDialect<origin::OriginDialect>();
    attachElementwiseLowerings(context);
    attachQuantizationLowerings(context);
    attachContractionLowerings(context);
    attachPoolingLowerings(context);
    attachReductionLowerings(context);
    attachNormalizationLowerings(context);
    attachMovementLowerings(context);
    attachGatherLowerings(context);
    attachScatterLowerings(context);
  });
}

} // namespace tinh::codegen
