//===- ApplyLayout.cpp - Storing variables in a layout ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that convert, what reads and updates variables in their layout, and
// the declarations of that.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/VariableLayouts.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Kernels that convert
//===----------------------------------------------------------------------===//

func::FuncOp VariableLayouts::packKernelFor(const Proposal &proposal,
                                            Type element) {
  PanelsAttr layout = proposal.layout.withElement(element);
  func::FuncOp &kernel = pack[element];
  if (!kernel)
    kernel = createConversion(
        b, symbols, proposal.kernel, "_pack", layout.getOf(),
        [&](Value x) { return packPanels(b, x.getLoc(), x, layout); });
  return kernel;
}

func::FuncOp VariableLayouts::unpackKernelFor(const Proposal &proposal,
                                              Type element) {
  PanelsAttr layout = proposal.layout.withElement(element);
  func::FuncOp &kernel = unpack[element];
  if (!kernel)
    kernel = createConversion(
        b, symbols, proposal.kernel, "_unpack", layout.getPacked(),
        [&](Value x) { return unpackPanels(b, x.getLoc(), x, layout); });
  return kernel;
}

//===----------------------------------------------------------------------===//
// Readers and updates
//===----------------------------------------------------------------------===//

/// Lets what reads `value`, which becomes packed, find it so.
void VariableLayouts::changeReaders(Proposal &proposal, Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (!isReadPacked(proposal, use))
      uses.push_back(&use);
  PanelsAttr layout = proposal.layoutOf(value);
  for (OpOperand *use : uses) {
    Operation *user = use->getOwner();
    auto product = productOf(*use);
    if (graph::DispatchOp movement = movementOf(*use)) {
      func::FuncOp kernel = kernelOf(movement);
      changeArgument(b, kernel.getArgument(0), layout.getPacked(),
                     [&](Value packed) {
                       return unpackPanels(b, kernel.getLoc(), packed, layout);
                     });
      continue;
    }
    if (!product) {
      b.setInsertionPoint(value.getParentBlock()->findAncestorOpInBlock(*user));
      use->set(dispatchTo(
          b, value.getLoc(),
          unpackKernelFor(proposal, layout.getOf().getElementType()), value));
      continue;
    }
    PanelsAttr own = product->layout;
    if (product->canRead(layout))
      own = layout;
    else
      convertOperand(b, symbols, product->dispatch, product->operand, value,
                     layout.getPacked(), [&](Value x) {
                       return repackPanels(b, x.getLoc(), x, layout, own);
                     });
    readPanels(b, product->kernel, product->contraction, own);
  }
}

void VariableLayouts::changeUpdate(Operation *update,
                                   const llvm::SmallBitVector &operands,
                                   Proposal &proposal) {
  auto dispatch = cast<graph::DispatchOp>(update);
  func::FuncOp kernel = kernelOf(dispatch);
  (void)packKernel(b, kernel, proposal.layout, operands); // As it was tried.
  for (auto [result, type] :
       llvm::zip_equal(dispatch.getResults(), kernel.getResultTypes()))
    result.setType(type);
}

/// Lets the updates read packed what they make plain themselves.
void VariableLayouts::packAfter(Proposal &proposal, Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (isReadPacked(proposal, use))
      uses.push_back(&use);
  b.setInsertionPointAfterValue(value);
  Value packed =
      dispatchTo(b, value.getLoc(),
                 packKernelFor(proposal, getElementTypeOrSelf(value)), value);
  for (OpOperand *use : uses)
    use->set(packed);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void VariableLayouts::changeDeclarations(const Proposal &proposal) {
  Type element = proposal.layout.getOf().getElementType();
  RankedTensorType packed = proposal.layout.getPacked();
  for (StringAttr name : proposal.variables) {
    graph::VariableOp variable = variables[name];
    variable.setStored(packed);
    variable->setAttr(names::kLayout, proposal.layout);
    variable.setPack(packKernelFor(proposal, element).getName());
    variable.setUnpack(unpackKernelFor(proposal, element).getName());
    for (Value argument : arguments.lookup(name))
      argument.setType(packed);
  }
  for (func::FuncOp function : functions) {
    Block &body = function.getBody().front();
    function.setFunctionType(b.getFunctionType(
        body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  }
}

void VariableLayouts::apply(Proposal &proposal) {
  pack.clear();
  unpack.clear();
  for (Value value : proposal.values)
    changeReaders(proposal, value);
  for (Value value : proposal.packedAfter)
    if (!proposal.values.contains(value))
      packAfter(proposal, value);
  for (auto &[update, operands] : proposal.updates)
    changeUpdate(update, operands, proposal);
  changeDeclarations(proposal);
}

} // namespace tinh::cpu
