//===- WinogradGradient.h - Gradients by Winograd's algorithms --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `winograd_gradient`: the gradient of a convolution of 3 × 3
// taps, side by side, by its filters. It is that of Winograd's algorithm: m × m
// positions of dy become (m + 2)² numbers of each channel, as do those of x
// that they are multiplied by, of which the outer products are summed up,
// number by number. The sums become the 3 × 3 taps when there is no position
// left.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WINOGRAD_WINOGRADGRADIENT_H
#define TINH_CODEGEN_CPU_WINOGRAD_WINOGRADGRADIENT_H

#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"
#include "compiler/Codegen/CPU/Winograd/Transforms.h"

namespace tinh::cpu {

/// Outer products for 3 × 3 taps, which are in the order of the sliding
/// factor's dimensions, as are the loops over positions that they slide along.
struct WinogradGradient : OuterProducts {
  std::array<unsigned, 2> positions;
};

/// Says of the kernel which transforms it may be computed with; nothing if it
/// cannot be by any.
void allowTransforms(mlir::func::FuncOp kernel, AllowedTransforms allowed);

struct WinogradGradientPlan : TapSumsPlan {
  const WinogradTransform *transform;
  /// Of what is summed at a time, at most: loops over positions go from tile to
  /// tile.
  int64_t tiles;
  /// What both factors' parts become, [numbers, tiles, rows or lanes].
  struct Numbers {
    int64_t offset, tileStride, numberStride;
  };
  Numbers rows, lanes;

  int64_t unitOf(const WinogradGradient &g, unsigned loop) const {
    return llvm::is_contained(g.positions, loop) ? transform->outputs : 1;
  }
  /// Iterations of a loop that is summed over, tile by tile.
  int64_t tilesOf(const WinogradGradient &g, unsigned loop) const {
    return llvm::divideCeil(g.extents[loop], unitOf(g, loop));
  }
};

struct WinogradGradientStrategy
    : Functions<WinogradGradient, WinogradGradientPlanAttr,
                WinogradGradientPlan> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
  /// Into parts of the sums and their sum (CPU/Split.cpp).
  static SplitFunction split;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WINOGRAD_WINOGRADGRADIENT_H
