//===- Product.cpp - What follows a product in a kernel ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Product.h"

#include <numeric>

using namespace mlir;

namespace tinh::codegen {

/// The one reader of `value` if it is an `Op`.
template <typename Op> static Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

/// Whether `op` moves elements, none of them along the last dimension.
static bool keepsRows(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return false;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  return map.isPermutation() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() &&
         map.getDimPosition(map.getNumResults() - 1) == map.getNumDims() - 1;
}

/// `value` in panels of its last dimension; itself if they are not made of it.
static Value inPanels(Value value) {
  Value columns = value;
  if (auto pad = onlyUser<tensor::PadOp>(columns)) {
    if (!pad.hasZeroLowPad())
      return value;
    columns = pad.getResult();
  }
  auto split = onlyUser<tensor::ExpandShapeOp>(columns);
  if (!split || split.getReassociationIndices().back().size() != 2)
    return value;
  auto panels = onlyUser<linalg::GenericOp>(split.getResult());
  return panels && keepsRows(panels) ? panels.getResult(0) : value;
}

Value mergedResult(linalg::GenericOp op) {
  Value result = op.getResult(0);
  if (auto merged = onlyUser<tensor::CollapseShapeOp>(result))
    result = merged.getResult();
  return inPanels(result);
}

Indices indicesInResult(Pull &pull, Value product, Value result, Indices at) {
  while (product != result) {
    Operation *user = *product.user_begin();
    if (auto merged = dyn_cast<tensor::CollapseShapeOp>(user)) {
      at = pull.merge(at, merged.getSrcType().getShape(),
                      merged.getReassociationIndices());
    } else if (auto split = dyn_cast<tensor::ExpandShapeOp>(user)) {
      int64_t width = split.getResultType().getShape().back();
      LaneIndex column = at.pop_back_val();
      Value panel = column.base, lane = pull.peel(panel, width);
      at.push_back({panel, 0, 1});
      at.push_back({lane, column.stride, std::gcd(column.alignment, width)});
    } else if (auto moved = dyn_cast<linalg::GenericOp>(user)) {
      AffineMap map = moved.getMatchingIndexingMap(moved.getDpsInputOperand(0));
      Indices source = at;
      for (auto [i, index] : llvm::enumerate(source))
        at[map.getDimPosition(i)] = index;
    }
    product = user->getResult(0);
  }
  return at;
}

llvm::DenseSet<Operation *> opsOfProduct(Value product, Value result) {
  llvm::DenseSet<Operation *> ops{product.getDefiningOp()};
  for (; product != result; product = (*product.user_begin())->getResult(0))
    ops.insert(*product.user_begin());
  return ops;
}

std::optional<int64_t> columnsOfPanels(Value result) {
  auto generic = result.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumReductionLoops() > 0)
    return std::nullopt;
  auto split = generic.getDpsInputs()[0].getDefiningOp<tensor::ExpandShapeOp>();
  return split.getSrcType().getShape().back();
}

bool hasWholeVectors(Value result, int64_t lanes) {
  return !columnsOfPanels(result) ||
         cast<RankedTensorType>(result.getType()).getShape().back() % lanes ==
             0;
}

} // namespace tinh::codegen
