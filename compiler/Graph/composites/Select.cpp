//===- Select.cpp - As many elements as the run finds -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/Composites.h"

using namespace mlir;

namespace tinh {

/// Each index goes where the running sum of the mask says, those of false
/// behind the last, which is cut off.
Value indicesOfTrue(GraphOps &b, Value mask) {
  if (!mask)
    return {};
  Type i64 = b.graph.raw().getI64Type();
  int64_t extent = b.shape(mask)[0];
  // One is told from other dimensions of one when it is reshaped.
  int64_t bound = extent == 1 ? 2 : extent;
  Value ones = b.cast(mask, i64);
  Value place = b.create<graph::CumsumOp>(
      {ones}, {b.attr("axis", int64_t(0)), b.unit("exclusive")});
  Value target = b.where(mask, place, b.scalar(i64, extent));
  auto assign = graph::ScatterKindAttr::get(b.graph.context(),
                                            graph::ScatterKind::Assign);
  Value indices = b.create<graph::ScatterElementsOp>(
      {b.broadcast(b.scalar(i64, 0), {extent + 1}), target, b.iota(extent)},
      {b.attr("axis", int64_t(0)), b.attr("kind", assign)});
  Value count = b.reduce(graph::ReduceKind::Sum, ones, 0, /*keepdims=*/false);
  if (b.failed())
    return {};
  b.graph.setBound(count, extent);
  return b.setDimensionSize(b.sliceAxis(indices, 0, 0, bound), 0, count);
}

/// What is used is put over the filling, at its own place.
Value fillPadding(GraphOps &b, Value x, Value fill) {
  for (int64_t d = 0; x && d < b.rank(x); ++d) {
    if (!b.graph.isBounded(x, d))
      continue;
    Value places =
        b.setDimensionSize(b.iota(b.shape(x)[d]), 0, b.dimensionSize(x, d));
    auto assign = graph::ScatterKindAttr::get(b.graph.context(),
                                              graph::ScatterKind::Assign);
    // Other dimensions stay as they are, so that the filling has their sizes.
    Value whole = b.broadcast(fill, b.shape(x));
    for (int64_t other = d + 1; other < b.rank(x); ++other)
      if (b.graph.isBounded(x, other))
        whole = b.setDimensionSize(whole, other, b.dimensionSize(x, other));
    x = b.create<graph::ScatterOp>({whole, places, x},
                                   {b.attr("axis", d), b.attr("kind", assign)});
  }
  return x;
}

} // namespace tinh
