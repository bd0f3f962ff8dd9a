//===- OuterProducts.h - Sums of outer products -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `outer_products`: contractions over more indices than their
// results have, such as the gradient of a convolution by its weights,
//
//   dw[o, c, i, j] = Σ over n, h, w of dy[n, h, w, o] · x[n, h + i, w + j, c]
//
// Both factors are contiguous along a dimension of the result: one gives the
// lanes of vectors, the other the rows of register tiles. For several taps one
// of them is shifted.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTS_H
#define TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTS_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

namespace tinh::cpu {

/// A product whose left factor slides: of its own loops, one is that along
/// which its elements are contiguous, as the right factor's are along its one
/// loop.
struct OuterProducts : Product {
  Loops taps; ///< The left factor's others, along which it slides.
};
/// Whether tiles of AMX can multiply the factors.
bool hasTilesFor(const OuterProducts &products, const Target &target);
/// Whether the last result of `map` is this loop alone.
bool isLast(mlir::AffineMap map, unsigned loop);
/// Whether vectors of both factors can be copied to slabs.
bool canStage(const OuterProducts &products, int64_t lanes);
/// Whether the sliding factor had better give the lanes.
bool shouldLanesSlide(const OuterProducts &products, const Target &target);
/// Elements between neighbours of rows of so many elements: an odd number of
/// cache lines, so that rows do not meet in a few sets of the cache.
int64_t rowStride(int64_t elements, int64_t elementBytes);

/// Where AMX finds what is summed over: at equal positions in both factors, of
/// which two are a pair. Positions go through all dimensions but the last, so
/// that of one tap the sliding factor's lie at one distance from the plain
/// one's; where no element is, the plain factor has zeros. If the sliding
/// factor moves by several steps, its elements lie in as many planes.
struct PairSlabs {
  // For each dimension: the sliding factor's step, positions of a plane, and
  // how far these lie apart.
  llvm::SmallVector<int64_t> steps, extents, pitches;
  /// The iterations of the loop that is summed over, or of the batch.
  llvm::SmallVector<int64_t> ranges;
  int64_t planes, planeSize; // Positions.
  int64_t depth;             // Positions that are summed over.
  int64_t rowPositions;      // From a row of the turned slab to the next one.
};

/// How results are cut into blocks of rows by lanes, whose sums for all taps
/// are in scratch memory.
struct TapSumsPlan : Division {
  bool lanesSlide; // The sliding factor gives the lanes, else the rows.
  /// Rows are the elements of as many taps of the last such loop, too, which
  /// lie side by side.
  int64_t tapsPerRow = 1;
  int64_t tileRows, tileColumns; // Of a register tile.
  int64_t rowsPerBlock, lanesPerBlock;
  /// What is summed at a time: all of the loops after `level`, and some of it.
  size_t level;
  int64_t sumsPerBlock;

  int64_t rowBlocks, laneBlocks;
  /// The sums of a block: [taps, rows, lanes], rounded up to tiles.
  int64_t paddedRows, paddedLanes, tapStride, sumsOffset;
  /// Both factors' parts of what is summed at a time, in scratch memory.
  llvm::SmallVector<int64_t> slidingSlab, plainSlab;
  int64_t slidingOffset, plainOffset;

  /// Takes what the plan of a strategy says of these.
  template <typename Attribute> void take(Attribute plan) {
    lanesSlide = plan.getLanes() == LanesOf::Sliding;
    tileRows = plan.getTileRows();
    tileColumns = plan.getTileColumns();
    rowsPerBlock = plan.getRowsPerBlock();
    lanesPerBlock = plan.getLanesPerBlock();
    level = plan.getLevel();
    sumsPerBlock = plan.getSums();
  }
};

/// Whether blocks fit the products; `iterations` are those of a loop that is
/// summed over.
llvm::LogicalResult
checkBlocks(const OuterProducts &products, const TapSumsPlan &plan,
            int64_t mostTileRows,
            llvm::function_ref<int64_t(unsigned loop)> iterations,
            const Target &target, EmitError emitError);

/// How outer products are cut: what their plan says, and what follows from it.
struct OuterProductsPlan : TapSumsPlan {
  Multiplier multiplier = Multiplier::Vectors;

  /// With AMX, how pairs lie in both slabs, and where those of the sliding
  /// factor are before they are turned.
  PairSlabs pairs;
  int64_t unturnedOffset;

  bool usesAmx() const { return multiplier == Multiplier::Amx; }
  OuterProductsPlanAttr attribute(mlir::MLIRContext *context) const;
};
/// With at least `enoughChunks` where there is work for them.
OuterProductsPlan planOuterProducts(const OuterProducts &products,
                                    const Target &target,
                                    int64_t enoughChunks = 8);

struct OuterProductsStrategy
    : Functions<OuterProducts, OuterProductsPlanAttr, OuterProductsPlan> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
  /// Into parts of the sums and their sum (CPU/Split.cpp).
  static SplitFunction split;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTS_H
