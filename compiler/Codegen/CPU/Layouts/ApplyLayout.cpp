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

/// A kernel that converts something for `reader`.
func::FuncOp VariableLayouts::createKernel(func::FuncOp reader,
                                           StringRef suffix, Type from, Type to,
                                           function_ref<Value(Value)> convert) {
  OpBuilder::InsertionGuard guard(b);
  auto kernel =
      func::FuncOp::create(reader.getLoc(), (reader.getName() + suffix).str(),
                           b.getFunctionType(from, to));
  kernel.setPrivate();
  symbols.insert(kernel);
  b.setInsertionPointToStart(kernel.addEntryBlock());
  func::ReturnOp::create(b, kernel.getLoc(), convert(kernel.getArgument(0)));
  return kernel;
}

func::FuncOp VariableLayouts::packKernelFor(const Proposal &proposal,
                                            Type element) {
  Packing packing = proposal.packing.of(element);
  func::FuncOp &kernel = pack[element];
  if (!kernel)
    kernel = createKernel(
        proposal.kernel, "_pack", packing.logical, packing.packed,
        [&](Value x) { return packPanels(b, x.getLoc(), x, packing); });
  return kernel;
}

func::FuncOp VariableLayouts::unpackKernelFor(const Proposal &proposal,
                                              Type element) {
  Packing packing = proposal.packing.of(element);
  func::FuncOp &kernel = unpack[element];
  if (!kernel)
    kernel = createKernel(
        proposal.kernel, "_unpack", packing.packed, packing.logical,
        [&](Value x) { return unpackPanels(b, x.getLoc(), x, packing); });
  return kernel;
}

Value VariableLayouts::dispatch(Value value, func::FuncOp kernel) {
  return graph::DispatchOp::create(b, value.getLoc(), kernel.getResultTypes(),
                                   kernel.getName(), ValueRange(value))
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Readers and updates
//===----------------------------------------------------------------------===//

/// Lets `kernel`, which moves elements of its one argument, find them packed.
static void readPanels(OpBuilder &b, func::FuncOp kernel,
                       const Packing &packing) {
  OpBuilder::InsertionGuard guard(b);
  BlockArgument argument = kernel.getArgument(0);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : argument.getUses())
    uses.push_back(&use);
  b.setInsertionPointToStart(&kernel.getBody().front());
  argument.setType(packing.packed);
  Value plain = unpackPanels(b, kernel.getLoc(), argument, packing);
  for (OpOperand *use : uses)
    use->set(plain);
  kernel.setFunctionType(
      b.getFunctionType(packing.packed, kernel.getResultTypes()));
}

/// Lets what reads `value`, which becomes packed, find it so.
void VariableLayouts::changeReaders(Proposal &proposal, Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (!isReadPacked(proposal, use))
      uses.push_back(&use);
  Packing packing = proposal.packingOf(value);
  Type element = getElementTypeOrSelf(value);
  for (OpOperand *use : uses) {
    Block &block = *value.getParentBlock();
    b.setInsertionPoint(block.findAncestorOpInBlock(*use->getOwner()));
    auto product = productOf(*use);
    if (graph::DispatchOp movement = movementOf(*use)) {
      readPanels(b, kernelOf(movement), packing);
      continue;
    }
    if (!product) {
      use->set(dispatch(value, unpackKernelFor(proposal, element)));
      continue;
    }
    const Packing &own = product->packing;
    if (own != packing) {
      auto repack = createKernel(
          product->kernel, "_pack", packing.packed, own.packed, [&](Value x) {
            return repackPanels(b, x.getLoc(), x, packing, own);
          });
      use->set(dispatch(value, repack));
    }
    readPacked(b, product->kernel, product->contraction, own);
  }
}

void VariableLayouts::changeUpdate(Operation *update,
                                   const llvm::SmallBitVector &operands,
                                   Proposal &proposal) {
  auto dispatch = cast<graph::DispatchOp>(update);
  func::FuncOp kernel = kernelOf(dispatch);
  (void)packKernel(b, kernel, proposal.packing, operands); // As it was tried.
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
      dispatch(value, packKernelFor(proposal, getElementTypeOrSelf(value)));
  for (OpOperand *use : uses)
    use->set(packed);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void VariableLayouts::changeDeclarations(const Proposal &proposal) {
  Type element = proposal.packing.logical.getElementType();
  for (StringAttr name : proposal.variables) {
    graph::VariableOp variable = variables[name];
    variable.setStored(proposal.packing.packed);
    variable.setPack(packKernelFor(proposal, element).getName());
    variable.setUnpack(unpackKernelFor(proposal, element).getName());
    for (Value argument : arguments.lookup(name))
      argument.setType(proposal.packing.packed);
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
