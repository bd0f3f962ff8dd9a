//===- Prepare.cpp - Kernels made for strategies ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before plans are chosen, kernels become several where each alone is computed
// better, and operands are copied to where vectors of them lie side by side.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/Attention.h"
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Rows/Rows.h"
#include "compiler/Codegen/CUDA/Windows/Windows.h"

using namespace mlir;

namespace tinh::cuda {

/// Splits and packs, until the kernel is what its strategy wants; one that has
/// a plan already is.
static SmallVector<graph::DispatchOp>
prepare(OpBuilder &b, SymbolTable &symbols, func::FuncOp kernel,
        graph::DispatchOp dispatch, const Target &target) {
  if (kernel->hasAttr(graph::names::kPlan) || isWorthBlocks(kernel, target))
    return {};
  if (graph::DispatchOp stage = splitChain(b, symbols, kernel, dispatch))
    return {dispatch, stage};
  if (graph::DispatchOp parts =
          splitProduct(b, symbols, kernel, dispatch, target))
    packFactors(b, symbols, symbols.lookup<func::FuncOp>(parts.getKernel()),
                parts, target);
  else if (isWorthTiles(kernel))
    packFactors(b, symbols, kernel, dispatch, target);
  else if (graph::DispatchOp stage = splitRows(b, symbols, kernel, dispatch))
    return {dispatch, stage};
  else
    packTaps(b, symbols, kernel, dispatch);
  return {};
}

LogicalResult prepareKernels(ModuleOp module) {
  OpBuilder b(module.getContext());
  auto target = targetOf(module);
  if (failed(target))
    return failure();
  return codegen::prepareKernels(module, /*onCuda=*/true,
                                 [&](SymbolTable &symbols, func::FuncOp kernel,
                                     graph::DispatchOp dispatch) {
                                   return prepare(b, symbols, kernel, dispatch,
                                                  *target);
                                 });
}

} // namespace tinh::cuda
