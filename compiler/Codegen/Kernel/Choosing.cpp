//===- Choosing.cpp - What choosing strategies has in common ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Choosing.h"

#include "dialects/graph/Layout.h"

using namespace mlir;

namespace tinh::codegen {

LogicalResult prepareKernels(ModuleOp module, bool onCuda,
                             PrepareKernel prepare) {
  SymbolTable symbols(module);
  SmallVector<graph::DispatchOp> worklist;
  module.walk([&](graph::DispatchOp op) { worklist.push_back(op); });
  std::reverse(worklist.begin(), worklist.end());
  while (!worklist.empty()) {
    graph::DispatchOp dispatch = worklist.pop_back_val();
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    if (!kernel)
      return dispatch.emitOpError("names no kernel function");
    if (graph::isOnCuda(kernel) == onCuda)
      worklist.append(prepare(symbols, kernel, dispatch));
  }
  return success();
}

void setInplace(func::FuncOp kernel,
                function_ref<bool(BlockArgument)> mayShare) {
  if (kernel.getNumResults() != 1 ||
      kernel.getResultAttr(0, graph::names::kStrides))
    return;
  Builder b(kernel.getContext());
  auto result = cast<RankedTensorType>(kernel.getResultTypes()[0]);
  SmallVector<Attribute> pairs;
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (!argument.use_empty() && type.getShape() == result.getShape() &&
        graph::tensorSize(type) == graph::tensorSize(result) &&
        !kernel.getArgAttr(argument.getArgNumber(), graph::names::kStrides) &&
        mayShare(argument))
      pairs.push_back(b.getDenseI64ArrayAttr({argument.getArgNumber(), 0}));
  }
  if (!pairs.empty())
    kernel->setAttr(graph::names::kInplace, b.getArrayAttr(pairs));
}

} // namespace tinh::codegen
