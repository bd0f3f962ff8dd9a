//===- WorkAnalysis.cpp - What a kernel reads and writes --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/WorkAnalysis.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Stages.h"
#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tinh::cuda {

static double elementsOf(Value value) {
  return static_cast<double>(
      cast<RankedTensorType>(value.getType()).getNumElements());
}

void WorkAnalysis::keep(linalg::GenericOp op) {
  for (Value result : op->getResults()) {
    kept.push_back({result, compute(result)});
    known[result] = {};
  }
}

double WorkAnalysis::cacheBytes() {
  Loaded all;
  for (auto [value, loaded] : kept)
    all.add(loaded, elementsOf(value));
  for (Value result : codegen::returnedValues(kernel))
    all.add(of(result), elementsOf(result));
  return all.bytes;
}

double WorkAnalysis::loads() {
  Loaded all;
  for (Value result : codegen::returnedValues(kernel))
    all.add(of(result), 1);
  return all.count;
}

WorkAnalysis::Loaded WorkAnalysis::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Loaded loaded = compute(value);
  known[value] = loaded;
  return loaded;
}

WorkAnalysis::Loaded WorkAnalysis::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {double(graph::elementSize(getElementTypeOrSelf(value))), 1};
  if (isa<linalg::FillOp, tensor::EmptyOp>(op))
    return {};
  Loaded loaded;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic) { // A view, of one of several pieces if it is of more than one.
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        loaded.add(of(operand), 1.0 / op->getNumOperands());
    return loaded;
  }
  double times = static_cast<double>(codegen::reducedElements(generic));
  for (OpOperand &operand : generic->getOpOperands())
    if (!generic.getMatchingBlockArgument(&operand).use_empty())
      loaded.add(of(operand.get()), generic.isDpsInput(&operand) ? times : 1);
  generic.getBody()->walk([&](tensor::ExtractOp extract) {
    loaded.add(of(extract.getTensor()), times);
  });
  return loaded;
}

} // namespace tinh::cuda
