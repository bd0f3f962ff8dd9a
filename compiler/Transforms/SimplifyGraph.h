//===- SimplifyGraph.h - Patterns of simplify-graph -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_SIMPLIFYGRAPH_H
#define TINH_COMPILER_TRANSFORMS_SIMPLIFYGRAPH_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace tinh::transforms {

/// Patterns of simplify-graph that make convolutions simpler.
void populateConvPatterns(mlir::RewritePatternSet &patterns);
/// Patterns of simplify-graph that take scatters apart whose indices are known.
void populateScatterPatterns(mlir::RewritePatternSet &patterns);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_SIMPLIFYGRAPH_H
