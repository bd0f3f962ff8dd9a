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

BlockArgument onlyReadBy(Value weights) {
  BlockArgument argument = reshapedArgument(weights);
  bool isOnly = argument && argument.hasOneUse() && weights.hasOneUse();
  return isOnly ? argument : BlockArgument();
}

std::optional<WeightsReader> findReader(graph::DispatchOp dispatch,
                                        func::FuncOp kernel,
                                        const Target &target) {
  auto c = matchContraction(kernel);
  if (!c || !c->weightsMap.isProjectedPermutation())
    return std::nullopt;
  BlockArgument argument = onlyReadBy(c->weights);
  if (!argument)
    return std::nullopt;
  PanelsAttr panels = panelsOf(*c, panelWidth(*c, target));
  auto type = cast<RankedTensorType>(argument.getType());
  if (type != panels.getOf())
    panels = PanelsAttr::get(
        panels.getContext(), type,
        DenseI64ArrayAttr::get(panels.getContext(), panels.getOf().getShape()),
        panels.getOrder(), panels.getBatch(), panels.getWidth(),
        panels.getElement());
  return WeightsReader{dispatch, kernel, *c, argument.getArgNumber(), panels};
}

void changeArgument(OpBuilder &b, Value value, Type type, Convert convert) {
  OpBuilder::InsertionGuard guard(b);
  BlockArgument argument = reshapedArgument(value);
  auto kernel = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
  b.setInsertionPointToStart(argument.getOwner());
  argument.setType(type);
  Value converted = convert(argument);
  for (OpOperand *use : uses)
    use->set(converted);
  while (Operation *reshape = value.getDefiningOp()) {
    value = reshape->getOperand(0);
    reshape->erase();
  }
  kernel.setFunctionType(b.getFunctionType(kernel.getBody().getArgumentTypes(),
                                           kernel.getResultTypes()));
}

void readPanels(OpBuilder &b, func::FuncOp kernel, const Contraction &c,
                PanelsAttr panels) {
  PanelsAttr plain = panels.ofPlain();
  unsigned argument = reshapedArgument(c.weights).getArgNumber();
  changeArgument(b, c.weights, plain.getPacked(), [&](Value packed) {
    return unpackPanels(b, kernel.getLoc(), packed, plain);
  });
  kernel.setArgAttr(argument, names::kLayout, plain);
}

func::FuncOp createConversion(OpBuilder &b, SymbolTable &symbols,
                              func::FuncOp reader, StringRef suffix, Type from,
                              Convert convert) {
  OpBuilder::InsertionGuard guard(b);
  auto kernel =
      func::FuncOp::create(reader.getLoc(), (reader.getName() + suffix).str(),
                           b.getFunctionType(from, from));
  kernel.setPrivate();
  symbols.insert(kernel, Block::iterator(reader));
  b.setInsertionPointToStart(kernel.addEntryBlock());
  Value made = convert(kernel.getArgument(0));
  func::ReturnOp::create(b, kernel.getLoc(), made);
  kernel.setFunctionType(b.getFunctionType(from, made.getType()));
  return kernel;
}

Value dispatchTo(OpBuilder &b, Location loc, func::FuncOp kernel, Value value) {
  return graph::DispatchOp::create(b, loc, kernel.getResultTypes(),
                                   kernel.getName(), ValueRange(value))
      .getResult(0);
}

void convertOperand(OpBuilder &b, SymbolTable &symbols,
                    graph::DispatchOp dispatch, unsigned operand, Value source,
                    Type type, Convert convert) {
  auto reader = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  func::FuncOp kernel =
      createConversion(b, symbols, reader, "_pack", type, convert);
  b.setInsertionPoint(
      source.getParentBlock()->findAncestorOpInBlock(*dispatch));
  dispatch.getInputsMutable()[operand].set(
      dispatchTo(b, dispatch.getLoc(), kernel, source));
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

void eraseDispatch(SymbolTable &symbols, graph::DispatchOp dispatch) {
  Operation *kernel = symbols.lookup(dispatch.getKernel());
  dispatch.erase();
  if (SymbolTable::symbolKnownUseEmpty(kernel, symbols.getOp()))
    symbols.erase(kernel);
}

} // namespace tinh::cpu
