//===- Winograd.h - Winograd convolutions -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `winograd`: convolutions with 3 × 3 kernels, undilated.
// Their filters come transformed (Layouts/TransformFilters.cpp), each as
// (m + 2)² numbers; a tile of m × m outputs becomes that many numbers of each
// channel, which are multiplied as matrices, [tiles, channels] by
// [channels, columns], one for each of the numbers.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WINOGRAD_WINOGRAD_H
#define TINH_CODEGEN_CPU_WINOGRAD_WINOGRAD_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/CPU/Winograd/Transforms.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

namespace tinh::cpu {

/// A convolution that can be computed so: its right factor is filters whose
/// columns are the last dimension of the result, its left factor images in
/// which windows of 3 × 3 lie side by side, in two of its dimensions.
struct WindowedProduct : Product {
  unsigned y, x;     // The loops over positions.
  unsigned channel;  // The loop over the channels of the images.
  Loops images;      // The loops over rows that are no position.
  mlir::Value image; // The left factor before it is padded with zeros,
  llvm::SmallVector<int64_t> low; // of so many in front in each dimension.

  int64_t columns() const { return extents[right.loops.back()]; }
  int64_t channels() const { return extents[channel]; }
  /// The loops over taps, in the dimensions of y and x.
  std::array<unsigned, 2> taps;
};
/// What `conv` is with its input 1 - `right` as the images.
Match<WindowedProduct> matchWindowedProduct(mlir::linalg::GenericOp conv,
                                            unsigned right);

/// One whose filters come transformed.
struct Winograd : WindowedProduct {
  const WinogradTransform *transform;
  unsigned filters;   // The operand that has them, in panels,
  int64_t panelWidth; // of so many columns.

  int64_t tilesOf(unsigned loop) const {
    return llvm::divideCeil(extents[loop], transform->outputs);
  }
  /// Tiles of outputs in all images.
  int64_t tiles() const { return extentOf(images) * tilesOf(y) * tilesOf(x); }
};

struct WinogradPlan : Division {
  int64_t tileRows;       // Tiles of outputs that a register tile has as rows.
  int64_t tilesPerBlock;  // Of outputs: some register tiles.
  int64_t panelsPerGroup; // That a chunk computes.

  int64_t panels, blocks;
  int64_t
      channelStride; // Between rows of transformed images in scratch memory.
  // In scratch memory: of these, of their products, and of one tile's numbers.
  int64_t imagesOffset, productsOffset, tileOffset;
};

struct WinogradStrategy : Functions<Winograd, WinogradPlanAttr, WinogradPlan> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
};

/// How linalg says what filters were before they were transformed: of `type`,
/// with their taps, channels and columns in these dimensions.
struct FilterDims {
  std::array<int64_t, 2> taps;
  int64_t channel, column;
};
/// From [m + 2, m + 2, channels, columns].
mlir::Value restoreFilters(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value transformed, mlir::RankedTensorType type,
                           const FilterDims &dims,
                           const WinogradTransform &transform);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WINOGRAD_WINOGRAD_H
