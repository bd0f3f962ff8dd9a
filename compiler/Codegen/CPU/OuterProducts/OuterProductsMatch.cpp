//===- OuterProductsMatch.cpp - Recognising outer products ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"

#include "compiler/Codegen/Kernel/Product.h"

using namespace mlir;

namespace tinh::cpu {

/// Whether a result of `map` is this loop alone.
static bool isIndexedBy(AffineMap map, unsigned loop) {
  return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim && dim.getPosition() == loop;
  });
}

bool isLast(AffineMap map, unsigned loop) {
  auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
  return dim && dim.getPosition() == loop;
}

/// Fills in the loops' roles with operand `s` as the sliding factor.
static Match<OuterProducts> assignRoles(linalg::GenericOp op, unsigned s) {
  OuterProducts p;
  p.op = op;
  p.result = op.getResult(0);
  p.extents = op.getStaticLoopRanges();
  for (auto [factor, i] :
       {std::pair(&p.sliding, s), std::pair(&p.plain, 1 - s)}) {
    OpOperand *operand = op.getDpsInputOperand(i);
    factor->value = operand->get();
    factor->map = op.getMatchingIndexingMap(operand);
    if (factor->map.getNumResults() == 0)
      return NoMatch{"has a factor that is one number"};
  }
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!output.isProjectedPermutation() ||
      !p.plain.map.isProjectedPermutation() || llvm::is_contained(p.extents, 0))
    return NoMatch{"has windows over both factors, or no elements"};
  op.getReductionDims(p.sums);
  SmallVector<unsigned> ofSliding, ofPlain;
  for (unsigned loop = 0; loop < p.extents.size(); ++loop) {
    bool slides = p.sliding.map.isFunctionOfDim(loop),
         plain = p.plain.map.isFunctionOfDim(loop);
    bool isSum = llvm::is_contained(p.sums, loop);
    if (isSum ? !slides || !plain : !slides && !plain)
      return NoMatch{"sums over a dimension that one factor has not"};
    if (isSum)
      continue;
    if (slides && plain)
      p.batch.push_back(loop);
    else if (plain)
      ofPlain.push_back(loop);
    else if (isIndexedBy(p.sliding.map, loop))
      ofSliding.push_back(loop);
    else
      p.taps.push_back(loop);
  }
  if (p.sums.empty() || ofSliding.size() != 1 || ofPlain.size() != 1)
    return NoMatch{"has not one dimension of each factor's own"};
  p.sliding.loop = ofSliding[0];
  p.plain.loop = ofPlain[0];
  // Too small for tiles: as in depthwise convolutions.
  if (std::max(p.extents[p.sliding.loop], p.extents[p.plain.loop]) < 8)
    return NoMatch{"is too small for tiles"};
  if (!isLast(p.sliding.map, p.sliding.loop) ||
      !isLast(p.plain.map, p.plain.loop))
    return NoMatch{"has a factor that is not contiguous along its own "
                   "dimension"};
  for (unsigned loop : p.batch)
    if (!isIndexedBy(p.sliding.map, loop))
      return NoMatch{"slides along a dimension that both factors have"};
  return p;
}

Match<OuterProducts> matchOuterProducts(func::FuncOp kernel) {
  return matchProducts<OuterProducts>(kernel, 0, assignRoles);
}

} // namespace tinh::cpu
