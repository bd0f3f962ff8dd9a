//===- Weights.cpp - What reads weights, and how they get there -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/Weights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cpu {

std::optional<WeightsReader> findReader(graph::DispatchOp dispatch,
                                        func::FuncOp kernel,
                                        const Target &target) {
  auto c = ContractionStrategy::match(kernel);
  if (!c || !c->right.map.isProjectedPermutation())
    return std::nullopt;
  BlockArgument argument = packableArgument(c->right.value);
  if (!argument)
    return std::nullopt;
  PanelsAttr panels =
      panelsOf(*c, panelWidth(*c, target), groupOfPanels(*c, target));
  auto type = cast<RankedTensorType>(argument.getType());
  if (type != panels.getOf())
    panels = PanelsAttr::get(
        panels.getContext(), type,
        DenseI64ArrayAttr::get(panels.getContext(), panels.getOf().getShape()),
        panels.getOrder(), panels.getBatch(), panels.getWidth(),
        panels.getElement(), panels.getGroup());
  return WeightsReader{dispatch, kernel, *c, argument.getArgNumber(), panels};
}

void readPanels(OpBuilder &b, func::FuncOp kernel, const Contraction &c,
                PanelsAttr panels) {
  PanelsAttr plain = panels.ofPlain();
  unsigned argument = reshapedArgument(c.right.value).getArgNumber();
  changeArgument(b, c.right.value, plain.getPacked(), [&](Value packed) {
    return unpackPanels(b, kernel.getLoc(), packed, plain);
  });
  kernel.setArgAttr(argument, names::kLayout, plain);
}

bool isMovement(func::FuncOp kernel) {
  if (kernel.getNumArguments() != 1 || kernel.getNumResults() != 1 ||
      kernel.getArgAttr(0, graph::names::kStrides) ||
      kernel.getResultAttr(0, graph::names::kStrides))
    return false;
  return llvm::all_of(
      kernel.getBody().front().without_terminator(), [](Operation &op) {
        auto generic = dyn_cast<linalg::GenericOp>(op);
        return generic ? generic.getNumReductionLoops() == 0
                       : isa<arith::ConstantOp, tensor::EmptyOp,
                             tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                             tensor::ExtractSliceOp, tensor::PadOp>(op);
      });
}

graph::DispatchOp asMovement(SymbolTable &symbols, Operation *op) {
  auto dispatch = dyn_cast_or_null<graph::DispatchOp>(op);
  bool moves = dispatch &&
               isMovement(symbols.lookup<func::FuncOp>(dispatch.getKernel()));
  return moves ? dispatch : graph::DispatchOp();
}

void eraseDispatch(SymbolTable &symbols, graph::DispatchOp dispatch) {
  Operation *kernel = symbols.lookup(dispatch.getKernel());
  dispatch.erase();
  if (SymbolTable::symbolKnownUseEmpty(kernel, symbols.getOp()))
    symbols.erase(kernel);
}

} // namespace tinh::cpu
