//===- OuterProductsMatch.cpp - Recognising outer products ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"

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

/// The outer products that a product is, with its left factor as the one that
/// slides.
static Match<OuterProducts> assignRoles(Product product) {
  OuterProducts p{std::move(product), {}};
  if (p.left.map.getNumResults() == 0 || p.right.map.getNumResults() == 0)
    return NoMatch{"has a factor that is one number"};
  if (!p.right.map.isProjectedPermutation())
    return NoMatch{"has windows over both factors"};
  for (unsigned loop : p.depth)
    if (!p.left.map.isFunctionOfDim(loop) || !p.right.map.isFunctionOfDim(loop))
      return NoMatch{"sums over a dimension that one factor has not"};
  Loops own;
  for (unsigned loop : p.left.loops) {
    if (!p.left.map.isFunctionOfDim(loop))
      return NoMatch{"has a dimension of results that neither factor has"};
    (isIndexedBy(p.left.map, loop) ? own : p.taps).push_back(loop);
  }
  p.left.loops = own;
  if (p.depth.empty() || own.size() != 1 || p.right.loops.size() != 1)
    return NoMatch{"has not one dimension of each factor's own"};
  unsigned left = own.front(), right = p.right.loops.front();
  // Too small for tiles: as in depthwise convolutions.
  if (std::max(p.extents[left], p.extents[right]) < 8)
    return NoMatch{"is too small for tiles"};
  if (!isLast(p.left.map, left) || !isLast(p.right.map, right))
    return NoMatch{"has a factor that is not contiguous along its own "
                   "dimension"};
  for (unsigned loop : p.batch)
    if (!isIndexedBy(p.left.map, loop))
      return NoMatch{"slides along a dimension that both factors have"};
  return p;
}

Match<OuterProducts> OuterProductsStrategy::match(func::FuncOp kernel) {
  return matchProducts<OuterProducts>(kernel, /*first=*/1, assignRoles);
}

} // namespace tinh::cpu
