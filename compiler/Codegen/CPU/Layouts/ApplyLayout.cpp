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
#include "compiler/Codegen/Kernel/Rewrites.h"

using namespace mlir;

namespace tinh::cpu {

/// A kernel that packs elements of this type, or unpacks them. Equal ones are
/// merged later.
func::FuncOp VariableLayouts::createKernel(const Proposal &proposal,
                                           Type element, bool packs) {
  PanelsAttr layout = proposal.layout.withElement(element);
  return createConversion(
      b, symbols, proposal.kernel, packs ? "_pack" : "_unpack",
      packs ? layout.getOf() : layout.getPacked(), [&](Value x) {
        return packs ? packPanels(b, x.getLoc(), x, layout)
                     : unpackPanels(b, x.getLoc(), x, layout);
      });
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
    b.setInsertionPoint(
        value.getParentBlock()->findAncestorOpInBlock(*use->getOwner()));
    auto product = productOf(*use);
    if (auto movement = asMovement(symbols, use->getOwner())) {
      BlockArgument argument = kernelOf(movement).getArgument(0);
      changeArgument(b, argument, layout.getPacked(), [&](Value packed) {
        return unpackPanels(b, argument.getLoc(), packed, layout);
      });
    } else if (!product) {
      use->set(dispatchTo(
          b, value.getLoc(),
          createKernel(proposal, getElementTypeOrSelf(value), /*packs=*/false),
          value));
    } else if (product->canRead(layout)) {
      readPanels(b, product->kernel, product->contraction, layout);
    } else {
      PanelsAttr own = product->layout;
      convertOperand(b, {symbols, product->kernel, product->dispatch},
                     product->operand, value, layout.getPacked(), [&](Value x) {
                       return repackPanels(b, x.getLoc(), x, layout, own);
                     });
      readPanels(b, product->kernel, product->contraction, own);
    }
  }
}

/// Lets the updates read packed what they make plain themselves.
void VariableLayouts::packAfter(Proposal &proposal, Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (isReadPacked(proposal, use))
      uses.push_back(&use);
  b.setInsertionPointAfterValue(value);
  Value packed = dispatchTo(
      b, value.getLoc(),
      createKernel(proposal, getElementTypeOrSelf(value), /*packs=*/true),
      value);
  for (OpOperand *use : uses)
    use->set(packed);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void VariableLayouts::changeDeclarations(const Proposal &proposal) {
  Type element = proposal.layout.getOf().getElementType();
  RankedTensorType packed = proposal.layout.getPacked();
  StringRef pack = createKernel(proposal, element, /*packs=*/true).getName(),
            unpack = createKernel(proposal, element, /*packs=*/false).getName();
  for (StringAttr name : proposal.variables) {
    graph::VariableOp variable = variables[name];
    variable.setStored(packed);
    variable.setPack(pack);
    variable.setUnpack(unpack);
    variable->setAttr(names::kLayout, proposal.layout);
    for (Value argument : arguments.lookup(name))
      argument.setType(packed);
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!graph::isEntry(function))
      continue;
    Block &body = function.getBody().front();
    function.setFunctionType(b.getFunctionType(
        body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  }
}

void VariableLayouts::apply(Proposal &proposal) {
  for (Value value : proposal.values)
    changeReaders(proposal, value);
  for (Value value : proposal.packedAfter)
    if (!proposal.values.contains(value))
      packAfter(proposal, value);
  for (auto &[update, operands] : proposal.updates) {
    func::FuncOp kernel = kernelOf(cast<graph::DispatchOp>(update));
    (void)packKernel(b, kernel, proposal.layout, operands); // As it was tried.
    for (auto [result, type] :
         llvm::zip_equal(update->getResults(), kernel.getResultTypes()))
      result.setType(type);
  }
  changeDeclarations(proposal);
}

} // namespace tinh::cpu
