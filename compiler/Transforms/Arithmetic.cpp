//===- Arithmetic.cpp - How much an op computes ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Arithmetic.h"

#include "compiler/Transforms/Constants/Constants.h"
#include "dialects/graph/OpFacts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::transforms {

using namespace graph;

static uint64_t elementsOf(Value value) {
  return tensorType(value).getNumElements();
}

/// For each element of a convolution's output the products that are summed up.
static uint64_t tapsOf(RankedTensorType weights) {
  return weights.getNumElements() / std::max<int64_t>(weights.getDimSize(0), 1);
}

static uint64_t summedBy(MatmulOp matmul) {
  ArrayRef<int64_t> shape = tensorType(matmul.getA()).getShape();
  if (shape.size() > 1 && matmul.getTransposeA())
    shape = shape.drop_back();
  return shape.back();
}

static uint64_t productsOf(AttentionOp attention) {
  ArrayRef<int64_t> query = tensorType(attention.getQuery()).getShape();
  ArrayRef<int64_t> value = tensorType(attention.getValue()).getShape();
  uint64_t scores = query[0] * query[1] * query[2] * value[2];
  return scores * (query[3] + value[3]);
}

static uint64_t windowSize(ArrayRef<int64_t> kernel) {
  uint64_t size = 1;
  for (int64_t extent : kernel)
    size *= extent;
  return size;
}

static uint64_t arithmeticInside(Operation *op) {
  uint64_t sum = 0;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      sum += arithmeticOf(&inner);
  return sum;
}

uint64_t arithmeticOf(Operation *op) {
  if (op->getNumResults() == 0)
    return 0;
  Value result = op->getResult(0);
  return llvm::TypeSwitch<Operation *, uint64_t>(op)
      .Case([&](MatmulOp matmul) {
        return 2 * elementsOf(result) * summedBy(matmul);
      })
      .Case([&](ConvOp conv) {
        return 2 * elementsOf(result) * tapsOf(tensorType(conv.getWeights()));
      })
      .Case([&](ConvTransposeOp conv) {
        return 2 * elementsOf(conv.getX()) *
               tapsOf(tensorType(conv.getWeights()));
      })
      .Case([&](ConvWeightGradientOp gradient) {
        return 2 * elementsOf(gradient.getDy()) * tapsOf(tensorType(result));
      })
      .Case([&](AttentionOp attention) { return 2 * productsOf(attention); })
      .Case<MaxPoolOp, AvgPoolOp>([&](auto pool) {
        return elementsOf(result) * windowSize(pool.getKernel());
      })
      .Case([&](MaxPoolGradientOp gradient) {
        return elementsOf(gradient.getDy()) * windowSize(gradient.getKernel());
      })
      .Case([&](ScanOp scan) {
        return scan.getLength() * arithmeticInside(scan);
      })
      .Case<IfOp, WhileOp>([&](Operation *) { return arithmeticInside(op); })
      .Default([&](Operation *) {
        // Others go through their operands or results once.
        uint64_t elements = elementsOf(result);
        for (Value operand : op->getOperands())
          elements = std::max(elements, elementsOf(operand));
        return elements * factsOf(op).costPerElement;
      });
}

} // namespace tinh::transforms
