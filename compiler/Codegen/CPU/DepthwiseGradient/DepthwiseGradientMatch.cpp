//===- DepthwiseGradientMatch.cpp - Recognising them ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/DepthwiseGradient/DepthwiseGradient.h"

using namespace mlir;

namespace tinh::cpu {

/// Whether `loop` alone indexes a dimension of the factor, along which its
/// elements are neighbours in memory.
static bool isContiguous(const Factor &factor, unsigned loop) {
  return factor.access && factor.access->steps[loop] == 1 &&
         llvm::is_contained(factor.map.getResults(),
                            getAffineDimExpr(loop, factor.map.getContext()));
}

static Match<DepthwiseGradient> assignRoles(Product product) {
  constexpr int64_t kMostTaps = 64; // Code is made for each.
  DepthwiseGradient g;
  static_cast<Product &>(g) = std::move(product);
  const unsigned *channel = llvm::find_if(g.batch, [&](unsigned loop) {
    return isContiguous(g.left, loop) && isContiguous(g.right, loop);
  });
  if (channel == g.batch.end())
    return NoMatch{"has no channels that both factors are contiguous along"};
  g.channel = *channel;
  if (g.depth.empty() || g.extentOf(g.right.loops) > 1)
    return NoMatch{"has more than one column a channel, or sums up nothing"};
  if (g.taps() < 2 || g.taps() > kMostTaps)
    return NoMatch{"has not 2 to 64 sums a channel"};
  return g;
}

Match<DepthwiseGradient> DepthwiseGradientStrategy::match(func::FuncOp kernel) {
  return matchProducts<DepthwiseGradient>(kernel, /*first=*/1, assignRoles);
}

} // namespace tinh::cpu
