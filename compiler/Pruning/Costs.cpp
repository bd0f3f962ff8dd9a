//===- Costs.cpp - What a model takes ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pruning/Costs.h"

#include "compiler/Pruning/Coupling.h"
#include "compiler/Transforms/Constants/Constants.h"

using namespace mlir;

namespace tinh::pruning {

using transforms::tensorType;

static double productOf(ArrayRef<int64_t> extents) {
  double product = 1;
  for (int64_t extent : extents)
    product *= static_cast<double>(extent);
  return product;
}

static double elements(const Cut &cut, Value value) {
  return productOf(cut.shape(value));
}

double multiplications(func::FuncOp main, const Cut &cut) {
  double sum = 0;
  for (Operation &op : main.front()) {
    if (auto conv = dyn_cast<graph::ConvOp>(op))
      sum += elements(cut, conv.getY()) *
             productOf(ArrayRef(cut.shape(conv.getWeights())).drop_front());
    if (auto conv = dyn_cast<graph::ConvTransposeOp>(op))
      sum += elements(cut, conv.getX()) *
             productOf(ArrayRef(cut.shape(conv.getWeights())).drop_front());
    if (auto matmul = dyn_cast<graph::MatmulOp>(op))
      sum += elements(cut, matmul.getY()) *
             static_cast<double>(
                 cut.extent({matmul.getB(), axesOf(matmul).bDepth}));
    if (auto attention = dyn_cast<graph::AttentionOp>(op))
      sum += (elements(cut, attention.getQuery()) +
              elements(cut, attention.getY())) *
             static_cast<double>(cut.extent({attention.getKey(), 2}));
  }
  return sum;
}

double weightBytes(func::FuncOp main, const Cut &cut) {
  double sum = 0;
  for (auto constant : main.getOps<graph::ConstantOp>())
    sum += elements(cut, constant.getY()) *
           static_cast<double>(graph::elementSize(
               tensorType(constant.getY()).getElementType()));
  return sum;
}

/// How often the kernels of a loop's body run, as far as that is known.
static double timesOf(Operation *op) {
  double times = 1;
  for (auto scan = op->getParentOfType<graph::ScanOp>(); scan;
       scan = scan->getParentOfType<graph::ScanOp>())
    times *= static_cast<double>(scan.getLength());
  return times;
}

FailureOr<double> estimateCycles(ModuleOp module,
                                 const CompileOptions &options) {
  CompileReport report;
  if (failed(runPhases(module, Phase::Graph, Phase::Kernels, options.phases,
                       report)))
    return failure();
  double cycles = 0;
  module.lookupSymbol<func::FuncOp>(graph::names::kMain)
      .walk([&](graph::DispatchOp dispatch) {
        Operation *kernel = module.lookupSymbol(dispatch.getKernel());
        if (auto estimate =
                kernel->getAttrOfType<IntegerAttr>(graph::names::kEstimate))
          cycles += timesOf(dispatch) * static_cast<double>(estimate.getInt());
      });
  return cycles;
}

} // namespace tinh::pruning
