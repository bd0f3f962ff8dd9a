//===- SplitChain.cpp - Products in kernels with more -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel in which other reductions come before or after a large product, such
// as attention that blocks of queries would not compute as well (Attention.h),
// becomes several: what the product reads of other reductions is
// handed over, and so is the product itself. Each product then has tiles, which
// read an element of their factors once for 32 to 128 sums; teams of `rows`
// would read it for each. Handing over costs the scores' way through memory
// twice, some bytes for each of hundreds of operations.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"

#include "compiler/Codegen/Kernel/Conversions.h"
#include "compiler/Codegen/Kernel/Split.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::cuda {

/// Whether tiles pay for the product `op`, in a kernel of its own.
static bool isWorthAKernel(linalg::GenericOp op) {
  // With fewer multiplications, starting kernels takes longer.
  constexpr int64_t kMany = 1 << 23;
  // What is handed over should not be what fills the memory.
  constexpr int64_t kMost = 1 << 28;
  auto elements = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  };
  if (!isSumOfProducts(op) || op.getNumReductionLoops() == 0 ||
      ShapedType::getNumElements(op.getStaticLoopRanges()) < kMany ||
      llvm::any_of(op->getOperands(),
                   [&](Value value) { return elements(value) > kMost; }))
    return false;
  OpBuilder b(op.getContext());
  auto alone = func::FuncOp::create(
      op.getLoc(), "product",
      b.getFunctionType(ValueRange(op.getDpsInputs()).getTypes(),
                        op->getResultTypes()));
  b.setInsertionPointToStart(alone.addEntryBlock());
  IRMapping mapping;
  for (auto [input, argument] :
       llvm::zip_equal(op.getDpsInputs(), alone.getArguments()))
    mapping.map(input, argument);
  Operation *init = op.getDpsInits()[0].getDefiningOp();
  for (Value operand : init->getOperands())
    b.clone(*operand.getDefiningOp(), mapping);
  b.clone(*init, mapping);
  Operation *product = b.clone(*op, mapping);
  func::ReturnOp::create(b, op.getLoc(), product->getResults());
  bool worth = isWorthTiles(alone);
  alone.erase();
  return worth;
}

/// What the input of a product is a reshape of, if it depends on a reduction.
static Value chainedInput(Value input) {
  Operation *op = input.getDefiningOp();
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    input = op->getOperand(0);
    op = input.getDefiningOp();
  }
  if (!op)
    return {};
  bool chained = llvm::any_of(dependencies(op), [](Operation *before) {
    auto generic = dyn_cast<linalg::GenericOp>(before);
    return generic && generic.getNumReductionLoops() > 0;
  });
  return chained ? input : Value();
}

/// Lets `op` read `chained`, of which its operand `use` is a reshape, in the
/// narrow type of its other factor: tensor cores multiply such. What it is now.
static Value narrowChained(linalg::GenericOp op, OpOperand &use,
                           Value chained) {
  Value other = op.getDpsInputs()[use.getOperandNumber() == 0 ? 1 : 0];
  Type wide = getElementTypeOrSelf(chained),
       narrow = getElementTypeOrSelf(other);
  if (!wide.isF32() || narrow.getIntOrFloatBitWidth() != 16)
    return chained;
  OpBuilder b(op);
  SmallVector<Operation *> reshapes;
  for (Value value = use.get(); value != chained;
       value = value.getDefiningOp()->getOperand(0))
    reshapes.push_back(value.getDefiningOp());
  Value rounded = convertElements(b, op.getLoc(), chained, narrow);
  IRMapping mapping;
  mapping.map(chained, rounded);
  Value input = rounded;
  for (Operation *reshape : llvm::reverse(reshapes)) {
    input = b.clone(*reshape, mapping)->getResult(0);
    input.setType(cast<RankedTensorType>(input.getType()).clone(narrow));
    mapping.map(reshape->getResult(0), input);
  }
  use.set(input);
  BlockArgument argument = op.getMatchingBlockArgument(&use);
  argument.setType(narrow);
  b.setInsertionPointToStart(op.getBody());
  Value extended = arith::ExtFOp::create(b, op.getLoc(), wide, argument);
  argument.replaceAllUsesExcept(extended, extended.getDefiningOp());
  return rounded;
}

graph::DispatchOp splitChain(DispatchedKernel dispatched) {
  func::FuncOp kernel = dispatched.kernel;
  if (onlyReduction(kernel) && isWorthTiles(kernel))
    return {};
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    if (!isWorthAKernel(op))
      continue;
    for (OpOperand *use : op.getDpsInputOperands())
      if (Value chained = chainedInput(use->get()))
        return dispatchStage(dispatched, "_stage",
                             narrowChained(op, *use, chained));
    SmallVector<Value> values = handedOver(op);
    if (!values.empty())
      return dispatchStage(dispatched, "_product", values);
  }
  return {};
}

} // namespace tinh::cuda
