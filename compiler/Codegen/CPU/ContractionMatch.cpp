//===- ContractionMatch.cpp - Recognising products --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

static bool usesDim(AffineMap map, unsigned dim) {
  return map.isFunctionOfDim(dim);
}

/// Fills in the loops' roles with operand `w` as the weights.
static std::optional<Contraction> assignRoles(linalg::GenericOp op,
                                              unsigned w) {
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
                op.getStaticLoopRanges()};
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (llvm::is_contained(c.extents, 0)) // Nothing to cut into tiles.
    return std::nullopt;
  if (!output.isProjectedPermutation() || output.getNumResults() < 2 ||
      !c.weightsMap.isProjectedPermutation(/*allowZeroInResults=*/true))
    return std::nullopt;
  c.n = output.getDimPosition(output.getNumResults() - 1);
  if (!usesDim(c.weightsMap, c.n) || usesDim(c.inputMap, c.n))
    return std::nullopt;
  for (unsigned i = 0; i + 1 < output.getNumResults(); ++i) {
    unsigned dim = output.getDimPosition(i);
    if (!usesDim(c.weightsMap, dim))
      c.m.push_back(dim);
    else if (usesDim(c.inputMap, dim))
      c.batch.push_back(dim);
    else
      return std::nullopt;
  }
  if (c.m.empty())
    return std::nullopt;
  // Rows of a tile lie along the last of these: one that has some.
  auto isUnit = [&](unsigned dim) { return c.extents[dim] == 1; };
  unsigned last = c.m.back();
  llvm::erase_if(c.m, isUnit);
  if (c.m.empty())
    c.m = {last};
  op.getReductionDims(c.k);
  for (unsigned dim : c.k)
    if (!usesDim(c.weightsMap, dim) || !usesDim(c.inputMap, dim))
      return std::nullopt;
  return c;
}

std::optional<Contraction> matchContraction(func::FuncOp kernel) {
  return matchProducts<Contraction>(kernel, 1, assignRoles);
}

std::optional<Contraction> matchContractionStage(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || !isSumOfProducts(op))
    return std::nullopt;
  for (unsigned w : {1u, 0u}) {
    auto c = assignRoles(op, w);
    if (!c || c->m.size() > 2 || c->extents[c->n] < 8 ||
        c->extents[c->m.back()] < 8)
      continue;
    // The rows have to follow the batch dimensions.
    AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    bool ordered = true;
    for (unsigned i = 0; i < c->batch.size(); ++i)
      ordered &= output.getDimPosition(i) == c->batch[i];
    if (ordered)
      return c;
  }
  return std::nullopt;
}

} // namespace tinh::cpu
