//===- Dimensions.h - Where the dimensions of results come from -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which dimensions of an op's operands become which of its result: a fact of
// the op that importers and passes share, about dimensions whose size the run
// decides (graph.set_dimension_size).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_GRAPH_DIMENSIONS_H
#define TINH_DIALECTS_GRAPH_DIMENSIONS_H

#include "dialects/graph/Graph.h"

namespace tinh::graph {

/// A dimension of an operand that a dimension of the result is made of.
struct DimensionSource {
  unsigned operand;
  int64_t dimension;
  /// Whether both have the same index for the same elements, and so the same
  /// size; else the result's is computed from it (concat, slice, pad, reshape).
  bool isSame = true;
};

/// For each dimension of the one result of `op`, what it is made of. Nothing
/// for an op of which that is not known, such as one with regions.
std::optional<llvm::SmallVector<llvm::SmallVector<DimensionSource, 2>>>
dimensionSources(mlir::Operation *op);

/// Which runs of dimensions of `from` and `to`, in their order, have the same
/// elements: how a reshape maps dimensions. Each run is as short as it can be.
/// Ones that one side alone has are in none.
struct ReshapedRun {
  int64_t fromBegin, fromEnd, toBegin, toEnd;
};
llvm::SmallVector<ReshapedRun> reshapedRuns(llvm::ArrayRef<int64_t> from,
                                            llvm::ArrayRef<int64_t> to);

} // namespace tinh::graph

#endif // TINH_DIALECTS_GRAPH_DIMENSIONS_H
