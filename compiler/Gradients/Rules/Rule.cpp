//===- Rule.cpp - What the rules of ops have in common --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

#include "compiler/Gradients/Gradients.h"

using namespace mlir;

namespace tinh::gradients {

Value VjpBase::dy(unsigned result) {
  if (Value gradient = resultGradients[result])
    return gradient;
  return zerosLike(ops, operation->getResult(result));
}

void VjpBase::give(unsigned index, llvm::function_ref<Value()> build) {
  if (!wants(index))
    return;
  if (Value gradient = build())
    gradients[index] = sumToShape(
        ops, gradient, GraphOps::shape(operation->getOperand(index)));
}

Value zerosLike(GraphOps &ops, Value value) {
  return ops.broadcast(ops.scalarLike(value, 0), GraphOps::shape(value));
}

Value sumToShape(GraphOps &ops, Value value, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = GraphOps::shape(value);
  if (from == shape)
    return value;
  SmallVector<int64_t> axes;
  size_t leading = from.size() - shape.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (i < leading || (shape[i - leading] == 1 && from[i] != 1))
      axes.push_back(static_cast<int64_t>(i));
  Value sum =
      ops.reduce(graph::ReduceKind::Sum, value, axes, /*keepdims=*/true);
  return ops.reshape(sum, shape);
}

void registerRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    attachElementwiseRules(context);
    attachReductionRules(context);
    attachMovementRules(context);
    attachIndexingRules(context);
    attachContractionRules(context);
    attachPoolingRules(context);
    attachNormalizationRules(context);
    attachControlFlowRules(context);
    attachCollectiveRules(context);
  });
}

} // namespace tinh::gradients
