//===- Contraction.h - Products in tiles of blocks --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of products is seen as a batch of products of matrices, whatever its
// loops are: those that index one factor only are rows or columns, those of
// the reduction the depth, and those that index both factors the batch. So a
// convolution is a product whose rows, columns and depth have several loops
// each.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
#define TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

namespace tinh::cuda {

/// A codegen::Product without loops of one step, as all of this namespace see
/// it. Those of the depth are in the order in which a factor has them in
/// memory.
struct Product : codegen::Product {
  /// Whether both factors have a type that tensor cores multiply without
  /// rounding, or may be rounded.
  bool takesTensorCores(const Target &target) const;
  /// Whether so many columns lie side by side in the result, from each multiple
  /// on.
  bool hasColumnVectors(int64_t lanes) const;
  /// The digits of `linear` as the indices of `loops` in `dims`: of `lanes`
  /// steps of the last one, if that is more than one.
  void setDigits(Pull &pull, const Loops &loops, mlir::Value linear,
                 int64_t lanes, Indices &dims) const;
  /// The same for the depth `at` of the step of `stepDepth` that begins at
  /// `first`, whose digits are the same for all threads.
  void setDepth(Pull &pull, mlir::Value first, mlir::Value at,
                int64_t stepDepth, int64_t lanes, Indices &dims) const;
};
/// Bytes of `factor` that an asynchronous copy can bring to shared memory at a
/// time; 0 if none can. Single bytes lie along the depth there, which a copy
/// does not turn.
int64_t copyBytes(const Factor &factor);

/// The product of `op`, a sum of products, whose factor number `right` has the
/// columns.
Match<Product> describeProduct(mlir::linalg::GenericOp op, unsigned right);

/// Whether tiles pay for a product, and for that in `kernel`, if there is one.
bool isWorthTiles(const Product &p);
bool isWorthTiles(mlir::func::FuncOp kernel);

/// Lets a dispatch of its own compute what a large product of the kernel reads
/// of other reductions, or the product itself; null if it changed nothing.
graph::DispatchOp splitChain(DispatchedKernel dispatched);

/// Lets a kernel of its own compute parts of the product in the kernel, if that
/// takes less time; null if not.
graph::DispatchOp splitProduct(DispatchedKernel dispatched,
                               const Target &target);
/// Copies the factors for which that pays.
void packFactors(DispatchedKernel dispatched, const Target &target);

/// Tiles of a product that a plan's blocks have.
struct Tiles {
  int64_t rows, columns, batch;
  int64_t blocks() const { return rows * columns * batch; }
};
Tiles tilesOf(const Product &p, ContractionPlanAttr plan);
/// The cheapest plan, whether or not tiles pay.
ContractionPlanAttr planTiles(const Product &p, const Target &target);
/// Cycles of the product, if parts of its sum, of the same depth, are added up
/// by a kernel of their own.
double costInParts(const Product &p, const Target &target, int64_t parts);

//===----------------------------------------------------------------------===//
// What plans go by
//===----------------------------------------------------------------------===//

/// A block computes `rows` × `columns` sums; with FFMA each of its threads has
/// `threadRows` × `threadColumns` of them.
struct Tile {
  int64_t rows, columns, threadRows, threadColumns;
  int64_t threads() const {
    return rows / threadRows * (columns / threadColumns);
  }
};
Tile tileOf(ContractionPlanAttr plan);

/// Bytes of shared memory that a tile takes with FFMA, and in the other code.
int64_t scalarShared(const Product &p, const Tile &tile, int64_t depth);
int64_t pipelineShared(const Tile &tile, int64_t stages);
/// Whether warpgroups can compute the tile.
bool takesWarpgroups(const Product &p, const Tile &tile);

/// Bytes of an element of both factors; of a step's depth on tensor cores; and
/// of what is copied to shared memory at a time.
int64_t bytesOf(const Product &p);
inline constexpr int64_t kStepBytes = 64, kChunkBytes = 16;

/// Whether so many elements of a factor can be loaded as a vector, and how many
/// at most, if each thread is to load some of a step's `elements`.
bool canLoad(const Product &p, const Factor &factor, int64_t lanes);
int64_t loadWidth(const Product &p, const Factor &factor, int64_t elements,
                  int64_t threads);
/// The same where asynchronous copies can bring a factor that is in memory.
int64_t copyWidth(const Product &p, const Factor &factor, int64_t elements,
                  int64_t threads);
/// Fails, with a message, unless threads can load `lanes` elements of a factor,
/// of a step that has `lines` × `depth` of them.
mlir::LogicalResult checkLoad(const Product &p, const Factor &factor,
                              int64_t lanes, int64_t lines, int64_t depth,
                              int64_t threads, EmitError error);

/// Whether as many results follow from so many sums side by side as vectors.
bool canStore(const Product &p, int64_t lanes);
/// How many sums side by side a thread of a warp that has so many columns is to
/// exchange for, to store 16 bytes of results: what `fits` allows.
int64_t exchangedLanes(mlir::func::FuncOp kernel, int64_t warpColumns,
                       llvm::function_ref<bool(int64_t)> fits);

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

/// The strategy `contraction`: matrix products and dense convolutions. A block
/// computes a tile of the result from tiles of both factors in shared memory.
struct ContractionStrategy : Functions<Product, ContractionPlanAttr> {
  /// The kernel's one product; none if what follows it cannot be computed from
  /// its sums one by one.
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
