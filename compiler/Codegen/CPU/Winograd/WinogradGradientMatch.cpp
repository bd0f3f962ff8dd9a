//===- WinogradGradientMatch.cpp - Recognising such gradients ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Winograd/WinogradGradient.h"

using namespace mlir;

namespace tinh::cpu {

Match<WinogradGradient> WinogradGradientStrategy::match(func::FuncOp kernel) {
  auto products = OuterProductsStrategy::match(kernel);
  if (!products)
    return NoMatch{products.whyNot()};
  WinogradGradient g{std::move(*products), {}};
  if (!g.element().isF32() || !getElementTypeOrSelf(g.left.value).isF32() ||
      !getElementTypeOrSelf(g.right.value).isF32())
    return NoMatch{"has factors or sums that are no f32"};
  Loops taps, positions;
  for (AffineExpr expr : g.left.map.getResults()) {
    if (isa<AffineDimExpr>(expr))
      continue;
    auto slide = matchSlide(expr, g.taps, g.depth);
    if (!slide)
      return NoMatch{"has windows at a distance, or with gaps"};
    if (g.extents[slide->first] != WinogradTransform::kTaps)
      return NoMatch{"is not for 3 x 3 filters"};
    taps.push_back(slide->first);
    positions.push_back(slide->second);
  }
  if (taps.size() != 2 || g.taps.size() != 2 || taps[0] == taps[1] ||
      positions[0] == positions[1])
    return NoMatch{"is not for 3 x 3 filters"};
  g.taps = taps;
  llvm::copy(positions, g.positions.begin());
  return g;
}

} // namespace tinh::cpu
