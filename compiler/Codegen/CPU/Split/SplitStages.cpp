//===- SplitStages.cpp - Stages of large kernels as kernels -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of rows whose results need all of what one of its stages computes is
// one chunk: no two workers could share it. Where that is much work, the stage
// becomes a kernel of its own, and its result an operand.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Split/SplitStages.h"

#include "compiler/Codegen/CPU/Rows/Rows.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::cpu {

/// Lets a kernel of its own compute a stage of a kernel that would be one chunk
/// with much work.
static graph::DispatchOp splitStage(OpBuilder &b, SymbolTable &symbols,
                                    func::FuncOp kernel,
                                    graph::DispatchOp dispatch) {
  constexpr StringLiteral kSuffix = "_stage";
  // What one worker does in less time than it takes to share it.
  constexpr int64_t kLeastElements = 1 << 15;
  if (largestValue(kernel) < kLeastElements)
    return {};
  Rows rows = *RowsStrategy::match(kernel);
  if (cutRows(rows).chunks > 1)
    return {};
  for (linalg::GenericOp op : rows.stages) {
    SmallVector<Value> values = handedOver(op);
    if (values.empty())
      continue;
    SmallVector<unsigned> inputs;
    OwningOpRef<func::FuncOp> stage =
        outlineStage(b, kernel, kSuffix, values, inputs);
    if (cutRows(*RowsStrategy::match(*stage)).chunks > 1 ||
        largestValue(kernel, values[0].getDefiningOp()) >= kLeastElements)
      return dispatchStage(b, symbols, kernel, dispatch, kSuffix, values);
  }
  return {};
}

graph::DispatchOp RowsStrategy::split(OpBuilder &b, SymbolTable &symbols,
                                      func::FuncOp kernel,
                                      graph::DispatchOp dispatch,
                                      const Target &) {
  if (graph::DispatchOp stage = splitStage(b, symbols, kernel, dispatch))
    return stage;
  return splitReduction(b, symbols, kernel, dispatch);
}

} // namespace tinh::cpu
