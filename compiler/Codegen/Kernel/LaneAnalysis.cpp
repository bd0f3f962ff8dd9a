//===- LaneAnalysis.cpp - What can be pulled in vectors ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include "compiler/Codegen/Kernel/Analysis.h"

using namespace mlir;

namespace tinh::codegen {

LaneAnalysis::LaneAnalysis(func::FuncOp kernel, int64_t lanes)
    : Pull(kernel.getLoc(), lanes), kernel(kernel) {
  for (BlockArgument argument : kernel.getArguments())
    buffers[argument].strides = operandStrides(kernel, argument.getArgNumber());
}

Indices LaneAnalysis::indicesAlong(int64_t rank, int64_t lane) const {
  Indices indices(rank, same());
  indices[lane] = along();
  return indices;
}

bool LaneAnalysis::computes(Value tensor, AffineMap map, const Indices &dims) {
  auto indices = apply(map, dims);
  return succeeded(indices) && computes(tensor, *indices);
}

bool LaneAnalysis::computesResults(const Indices &indices) {
  return llvm::all_of(returnedValues(kernel),
                      [&](Value result) { return computes(result, indices); });
}

bool LaneAnalysis::reducesStep(linalg::GenericOp op, const Indices &dims) {
  return succeeded(
      reduceStep(op, dims, SmallVector<Value>(op.getNumDpsInits())));
}

} // namespace tinh::codegen
