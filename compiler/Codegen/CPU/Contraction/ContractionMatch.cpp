//===- ContractionMatch.cpp - Recognising products --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Contraction.h"

#include "compiler/Codegen/CPU/Layouts/Packing.h"
#include "compiler/Codegen/Kernel/Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

static bool usesDim(AffineMap map, unsigned dim) {
  return map.isFunctionOfDim(dim);
}

/// Fills in the loops' roles with operand `w` as the weights.
static Match<Contraction> assignRoles(linalg::GenericOp op, unsigned w) {
  OpOperand *weights = op.getDpsInputOperand(w);
  OpOperand *input = op.getDpsInputOperand(1 - w);
  Contraction c{op,
                op.getResult(0),
                input->get(),
                op.getMatchingIndexingMap(input),
                weights->get(),
                op.getMatchingIndexingMap(weights),
                0,
                {},
                {},
                {},
                op.getStaticLoopRanges(),
                {}};
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (llvm::is_contained(c.extents, 0)) // Nothing to cut into tiles.
    return NoMatch{"has no elements to compute"};
  if (!output.isProjectedPermutation() || output.getNumResults() < 2 ||
      !c.weightsMap.isProjectedPermutation(/*allowZeroInResults=*/true))
    return NoMatch{"has no matrix of results, or a right factor that is a "
                   "window"};
  c.n = output.getDimPosition(output.getNumResults() - 1);
  if (!usesDim(c.weightsMap, c.n) || usesDim(c.inputMap, c.n))
    return NoMatch{"has a last dimension that is not the right factor's alone"};
  for (unsigned i = 0; i + 1 < output.getNumResults(); ++i) {
    unsigned dim = output.getDimPosition(i);
    if (!usesDim(c.weightsMap, dim))
      c.m.push_back(dim);
    else if (usesDim(c.inputMap, dim))
      c.batch.push_back(dim);
    else
      return NoMatch{"has two dimensions of results that are the right "
                     "factor's alone"};
  }
  if (c.m.empty())
    return NoMatch{"has no rows"};
  // Rows of a tile lie along the last of these: one that has some.
  auto isUnit = [&](unsigned dim) { return c.extents[dim] == 1; };
  unsigned last = c.m.back();
  llvm::erase_if(c.m, isUnit);
  if (c.m.empty())
    c.m = {last};
  op.getReductionDims(c.k);
  for (unsigned dim : c.k)
    if (!usesDim(c.weightsMap, dim) || !usesDim(c.inputMap, dim))
      return NoMatch{"sums over a dimension that one factor has not"};
  return c;
}

/// Whether the weights of `c` are what its packed operand, in `layout`, holds.
static bool unpacksOperand(const Contraction &c, PanelsAttr layout) {
  Value value = c.weights;
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return false;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value).getArgNumber() == *c.packed &&
         c.weightsMap.isProjectedPermutation() &&
         panelsOf(c, layout.getWidth()) == layout;
}

Match<Contraction> matchContraction(func::FuncOp kernel) {
  Match<Contraction> c = matchProducts<Contraction>(kernel, 1, assignRoles);
  for (unsigned i = 0; c && i < kernel.getNumArguments(); ++i) {
    auto layout = kernel.getArgAttrOfType<PanelsAttr>(i, names::kLayout);
    if (!layout)
      continue;
    c->packed = i;
    c->packedWidth = layout.getWidth();
    if (!unpacksOperand(*c, layout))
      return NoMatch{"does not read its packed operand as weights"};
  }
  return c;
}

Match<Contraction> matchContractionStage(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || !isSumOfProducts(op))
    return NoMatch{"is no sum of products"};
  for (unsigned w : {1u, 0u}) {
    auto c = assignRoles(op, w);
    if (!c || c->m.size() > 2 || c->extents[c->n] < 8 || c->rowsOfLine() < 8)
      continue;
    // The rows have to follow the batch dimensions.
    AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    bool ordered = true;
    for (unsigned i = 0; i < c->batch.size(); ++i)
      ordered &= output.getDimPosition(i) == c->batch[i];
    if (ordered)
      return c;
  }
  return NoMatch{"has too few rows or columns for tiles"};
}

} // namespace tinh::cpu
