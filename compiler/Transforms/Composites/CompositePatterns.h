//===- CompositePatterns.h - Patterns of recognize-composites ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_COMPOSITES_COMPOSITEPATTERNS_H
#define TINH_COMPILER_TRANSFORMS_COMPOSITES_COMPOSITEPATTERNS_H

#include "compiler/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace tinh::transforms {

void populateLayerNormPatterns(mlir::RewritePatternSet &patterns,
                               CompositeCounts &counts);
void populateSoftmaxPatterns(mlir::RewritePatternSet &patterns,
                             CompositeCounts &counts);
/// Needs softmaxes recognised.
void populateAttentionPatterns(mlir::RewritePatternSet &patterns,
                               CompositeCounts &counts);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_COMPOSITES_COMPOSITEPATTERNS_H
