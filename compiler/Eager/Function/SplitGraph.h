//===- SplitGraph.h - A graph with residuals, and its gradient --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_SPLITGRAPH_H
#define TINH_EAGER_FUNCTION_SPLITGRAPH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <vector>

namespace tinh::eager {

/// What the gradients of a function need; see DifferentiableGraph.h.
struct SplitGraph {
  /// The function, with residuals after its own results.
  mlir::OwningOpRef<mlir::ModuleOp> forward;
  /// From needed arguments and results, residuals and the gradients of all
  /// results that are floats, to those of the arguments `given`.
  mlir::OwningOpRef<mlir::ModuleOp> backward;
  /// The same, from all arguments and the gradients.
  mlir::OwningOpRef<mlir::ModuleOp> whole;
  std::vector<size_t> neededArguments, neededResults, given;
};

/// Of @main in `module`, whose first `numResults` results are differentiated by
/// the arguments at which `wanted` is set; the others are what the arguments
/// `changed` hold afterwards. Nothing, after a diagnostic, if that cannot be;
/// modules are null if no result depends on these arguments.
std::optional<SplitGraph> splitGraph(mlir::ModuleOp module, size_t numResults,
                                     const std::vector<bool> &wanted,
                                     const std::vector<size_t> &changed);

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_SPLITGRAPH_H
