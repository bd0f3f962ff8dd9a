//===- TurnFactors.cpp - Left factors that lie across the depth -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions that sum products of pairs of bf16 want these side by side along
// the depth. The gradient of a product by its weights sums over rows, along
// which neither of its factors lies: both are turned before, by kernels of
// their own, where that takes less time than pairs save.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Layouts/Weights.h"
#include "compiler/Codegen/CPU/Strategies.h"

using namespace mlir;

namespace tinh::cpu {

/// The left factor as an operand of its op.
static OpOperand &leftOperand(const Contraction &c) {
  linalg::GenericOp op = c.op;
  return *op.getDpsInputOperand(op.getDpsInputs()[0] == c.left.value ? 0 : 1);
}

/// The order of its dimensions with that of the last loop over k at the end;
/// nothing if it cannot be turned, or need not be.
static std::optional<SmallVector<int64_t>> turnedOrder(const Contraction &c) {
  bool isBf16 = getElementTypeOrSelf(c.left.value).isBF16() &&
                getElementTypeOrSelf(c.right.value).isBF16();
  // A factor that is repeated along a dimension reads its row 0: of that, there
  // are no panels.
  if (!isBf16 || c.packed || !c.left.map.isProjectedPermutation() ||
      !c.right.map.isProjectedPermutation() ||
      !packableArgument(c.left.value) || !packableArgument(c.right.value))
    return std::nullopt;
  AffineExpr last = getAffineDimExpr(c.depth.back(), c.left.map.getContext());
  int64_t rank = c.left.map.getNumResults(),
          at = *c.left.map.getResultPosition(last);
  if (at == rank - 1)
    return std::nullopt;
  return orderWithLast(rank, at);
}

/// What the kernel would cost in pairs, with what turns both factors.
static std::optional<double> cyclesIfTurned(func::FuncOp kernel,
                                            ArrayRef<int64_t> order,
                                            const Target &target) {
  OpBuilder b(kernel.getContext());
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  auto c = ContractionStrategy::match(*trial);
  auto type = cast<RankedTensorType>(c->left.value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  readInOrder(b, c->left.value, type.clone(shape), order);
  c = ContractionStrategy::match(*trial);
  if (!c || groupOfPanels(*c, target) == 1)
    return std::nullopt;
  PanelsAttr panels =
      panelsOf(*c, panelWidth(*c, target), groupOfPanels(*c, target));
  readPanels(b, *trial, *c, panels);
  const Machine &machine = *target.machine;
  int64_t bytes = graph::elementSize(type.getElementType());
  return strategies().cheapest(*trial, target)->cost() +
         type.getNumElements() *
             copyCycles(machine, bytes, CopyOrder::Columns) +
         panels.getPacked().getNumElements() * 2 * copyCycles(machine, bytes) +
         2 * dispatchCycles(target, /*chunks=*/1);
}

bool turnLeftFactor(DispatchedKernel dispatched, const Target &target) {
  if (!target.paysBf16Pairs())
    return false;
  auto c = ContractionStrategy::match(dispatched.kernel);
  auto order = c ? turnedOrder(*c) : std::nullopt;
  auto cycles =
      order ? cyclesIfTurned(dispatched.kernel, *order, target) : std::nullopt;
  if (!cycles ||
      *cycles >= strategies().cheapest(dispatched.kernel, target)->cost())
    return false;
  packAlong(dispatched, leftOperand(*c), c->depth.back(),
            /*ofConstants=*/false);
  return true;
}

} // namespace tinh::cpu
