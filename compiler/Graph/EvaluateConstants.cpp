//===- EvaluateConstants.cpp - Computes small constants during import -----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/EvaluateConstants.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Reference/Interpreter.h"
#include "compiler/Support/ConstantBudget.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh {

/// The product of all extents but those of the first `skipped` dimensions.
static double countFrom(ArrayRef<int64_t> shape, size_t skipped) {
  double count = 1;
  for (int64_t extent : shape.drop_front(skipped))
    count *= static_cast<double>(extent);
  return count;
}

/// How many products or the like each element of an op's result takes, about.
static double operationsPerElement(Operation *op) {
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<graph::MaxPoolOp, graph::AvgPoolOp>(
          [](auto pool) { return countFrom(pool.getKernel(), 0); })
      .Case<graph::ConvOp, graph::ConvTransposeOp>(
          [&](auto conv) { return countFrom(shapeOf(conv.getWeights()), 1); })
      .Case([&](graph::MatmulOp op) {
        ArrayRef<int64_t> a = shapeOf(op.getA());
        return static_cast<double>(a[a.size() - (op.getTransposeA() ? 2 : 1)]);
      })
      .Case([&](graph::AttentionOp op) {
        return 2 * countFrom(shapeOf(op.getKey()), 2);
      })
      .Default([](Operation *) { return 1.0; });
}

std::optional<DenseElementsAttr>
evaluateConstant(Operation *op, ArrayRef<DenseElementsAttr> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  double elements = static_cast<double>(type.getNumElements());
  if (elements * operationsPerElement(op) >
      static_cast<double>(ConstantBudget::kMostFolded))
    return std::nullopt;
  auto tensors = llvm::map_to_vector(operands, reference::fromAttribute);
  SmallVector<const reference::Tensor *> pointers;
  for (const reference::Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  auto result = reference::evaluateOp(op, pointers);
  if (!result)
    return std::nullopt;
  return denseFromBytes(result->type, reference::toBytes(*result));
}

} // namespace tinh
