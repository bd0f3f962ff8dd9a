//===- DepthwiseGradient.h - Sums of products by channel --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `depthwise_gradient`: the gradient of a depthwise convolution by
// its weights, and its like,
//
//   dw[c, i, j] = Σ over n, h, w of dy[n, h, w, c] · x[n, h + i, w + j, c]
//
// Lanes lie along the channels, which both factors have. The sums of a vector
// of channels, one for each tap, are registers; each vector of dy is multiplied
// with the elements of x that all taps meet.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_DEPTHWISEGRADIENT_DEPTHWISEGRADIENT_H
#define TINH_CODEGEN_CPU_DEPTHWISEGRADIENT_DEPTHWISEGRADIENT_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

namespace tinh::cpu {

/// A product with a few rows, the taps, and one column for each channel, a loop
/// that both factors have and are contiguous along. The left factor may slide.
struct DepthwiseGradient : Product {
  unsigned channel;

  int64_t channels() const { return extents[channel]; }
  int64_t taps() const { return extentOf(left.loops); }
};

/// What a plan says, and what follows from it.
struct DepthwiseGradientPlan : Division {
  int64_t tapsPerTile, channelsPerBlock;
  /// What is summed at a time: all of the loops after `level`, and some of it.
  size_t level;
  int64_t sumsPerBlock;

  int64_t channelBlocks;
  llvm::SmallVector<int64_t> slab; // What that reads of the left factor,
  int64_t sumsOffset;              // followed by sums [taps, channels].
};

struct DepthwiseGradientStrategy
    : Functions<DepthwiseGradient, DepthwiseGradientPlanAttr,
                DepthwiseGradientPlan> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
  /// Into parts of the sums and their sum (CPU/Split.cpp).
  static SplitFunction split;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_DEPTHWISEGRADIENT_DEPTHWISEGRADIENT_H
