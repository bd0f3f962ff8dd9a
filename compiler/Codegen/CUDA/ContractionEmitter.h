//===- ContractionEmitter.h - Code of products in tiles ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_CONTRACTIONEMITTER_H
#define TINH_CODEGEN_CUDA_CONTRACTIONEMITTER_H

#include "compiler/Codegen/CUDA/Contraction.h"

namespace tinh::cuda {

using Values = llvm::SmallVector<mlir::Value>;

/// The elements that shared memory has of one factor in a step of the depth.
struct SharedTile {
  Factor factor;
  int64_t extent;    ///< Of all of the factor's loops.
  int64_t elements;  ///< Along these in the tile.
  mlir::Value first; ///< The tile's first one.
  int64_t offset;    ///< In shared memory, in elements, from the step's start.
  /// Elements from one row, or one step of the depth, to the next.
  int64_t rowStride, depthStride;
};

/// Emits a product with FFMA; what differs elsewhere is virtual.
class ContractionEmitter {
public:
  ContractionEmitter(EmittedKernel &kernel, const Product &p,
                     mlir::OpBuilder builder, const Tile &tile)
      : kernel(kernel), p(p), plan(planContraction(p)), tile(tile), b(builder),
        loc(kernel.source.getLoc()), scalar(b, loc, 1) {}
  virtual ~ContractionEmitter() = default;
  mlir::LogicalResult emit();

protected:
  /// The type of elements in shared memory.
  virtual mlir::Type storedType() const { return p.element(); }
  /// Elements of shared memory for a step.
  virtual int64_t stepElements() const { return tile.stepElements(); }
  /// Where elements lie in a step.
  virtual void layOut();
  virtual void findThread();
  /// A thread's sums before the first step.
  virtual Values startSums();
  /// Adds the products of the step at `base` in shared memory.
  virtual Values multiply(mlir::Value base, mlir::ValueRange sums);
  virtual mlir::LogicalResult emitResults(const Values &sums);

  /// Stores what follows from a vector of sums, of a row and the columns from
  /// this one on.
  mlir::LogicalResult emitGroup(mlir::Value sums, mlir::Value row,
                                mlir::Value column);
  mlir::LogicalResult when(mlir::Value index, int64_t end,
                           llvm::function_ref<mlir::LogicalResult()> body);
  mlir::VectorType vectorType(int64_t lanes) const {
    return mlir::VectorType::get({lanes}, p.element());
  }

  EmittedKernel &kernel;
  const Product &p;
  ContractionPlan plan;
  Tile tile;
  mlir::OpBuilder b;
  mlir::Location loc;
  Pull scalar;
  SharedTile rows, columns;
  mlir::Value threadRow, threadColumn; ///< The thread's place in the tile.
  mlir::Value memory;                  ///< Shared.

private:
  /// One element or vector that the thread loads of a tile in each step.
  struct Unit {
    mlir::Value row, depth; // From the tile's first one.
  };
  Unit unitOf(const SharedTile &shared, int64_t number);
  mlir::FailureOr<mlir::Value> loadUnit(const SharedTile &shared,
                                        const Unit &unit, mlir::Value depth);
  mlir::FailureOr<Values> loadTile(SharedTile &shared, mlir::Value depth);
  void storeTile(const SharedTile &shared, llvm::ArrayRef<mlir::Value> values,
                 mlir::Value base);
  void findBlock();
  mlir::Value sharedVector(const SharedTile &shared, mlir::Value base,
                           int64_t depth, mlir::Value thread, int64_t group,
                           int64_t groups);
  mlir::FailureOr<Values> emitSums();
  mlir::LogicalResult emitRow(llvm::ArrayRef<mlir::Value> sums,
                              mlir::Value row);
  mlir::LogicalResult emitLanes(mlir::Value sums, mlir::Value row,
                                mlir::Value column, int64_t lanes);
  mlir::FailureOr<Indices> resultIndices(Pull &pull, mlir::Value row,
                                         mlir::Value column);
  mlir::LogicalResult finish(Pull &pull, mlir::Value sums, mlir::Value row,
                             mlir::Value column);
  int64_t resultLanes(int64_t most) const;
  mlir::Value minimum(mlir::Value x, int64_t most);

  int64_t unitsPerThread(const SharedTile &shared) const {
    return shared.elements * tile.depth / (width(shared) * tile.threads());
  }
  /// A vector must not leave threads without one.
  int64_t width(const SharedTile &shared) const {
    return std::min(shared.factor.width,
                    shared.elements * tile.depth / tile.threads());
  }

  Indices batch; // The loops' indices, as far as blocks have them.
};

/// The same with tensor cores of sm_80 and later, from f16, bf16, or f32 that is
/// rounded to tf32.
mlir::LogicalResult emitWithTensorCores(EmittedKernel &kernel, const Product &p,
                                        mlir::OpBuilder builder);
/// Bytes of shared memory that this takes.
int64_t tensorCoreShared(const Tile &tile);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_CONTRACTIONEMITTER_H
