//===- Rows.h - Kernels with stages, for teams of threads -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `rows`: kernels with reductions. A row is an index of the
// leading dimensions that all that depends on the reductions has in common; a
// team of threads, a part of a warp up to a whole block, computes one row:
// stage after stage, then its part of the results. Where reductions keep the
// last dimension, too, a row is cut into columns, and a block has a few vectors
// of them.
//
// Threads share the sums of a stage: they exchange partial ones by shuffles,
// and from warp to warp once through shared memory. One result of a row is in
// registers of all threads, several are in shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_ROWS_ROWS_H
#define TINH_CODEGEN_CUDA_ROWS_ROWS_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Stages.h"

namespace tinh::cuda {

/// How the threads of a team compute a stage. A thread's number is made of
/// that of its place, and of which share of the reduction there it has.
struct RowStage {
  mlir::linalg::GenericOp op;
  bool along = false; ///< Vectors lie along the reduction, not the result.
  int64_t lanes = 1;  ///< Elements of a vector.
  int64_t units = 1;  ///< Vectors of the result in a row; elements if `along`.
  int64_t steps = 1;  ///< Iterations of the reduction for each.
  int64_t places = 1; ///< Threads that compute different units at a time.
  int64_t shares = 1; ///< Threads that compute one unit together.
  bool inMemory = false;
  int64_t offset = 0;   ///< Of the result in shared memory, if it is there.
  int64_t exchange = 0; ///< Of partial results of warps.

  /// Bits of a thread's number that are those of its share.
  int64_t shareBits() const { return llvm::Log2_64(shares); }
  int64_t firstShareBit() const { return along ? 0 : llvm::Log2_64(places); }
  /// Warps that have different shares of one place.
  int64_t warpShares() const {
    int64_t within = kWarp / (along ? 1 : std::min(places, kWarp));
    return std::max<int64_t>(1, shares / within);
  }
};

/// What the strategy sees of a kernel.
struct RowsKernel {
  mlir::func::FuncOp kernel;
  llvm::SmallVector<WrittenValue> written;
  llvm::SmallVector<mlir::linalg::GenericOp> stages;
  int64_t rank = 0; ///< Leading dimensions that all have in common.
  /// The last dimension is one of them, so that it can be cut into columns.
  bool hasColumns = false;

  llvm::ArrayRef<int64_t> shape() const { return written[0].type().getShape(); }
};

/// What a plan comes to.
struct RowsLayout : Division {
  llvm::SmallVector<WrittenValue> written;
  llvm::SmallVector<RowStage> stages;
  int64_t rank; ///< Leading dimensions that a row's number is for.
  int64_t rows = 1;
  int64_t lanes; ///< Of the widest accesses.
  /// Vectors of the last dimension that a block has, and how many such blocks
  /// there are for a row; 0 if rows are not cut into columns.
  int64_t columnUnits, columnBlocks = 1;
  int64_t team;     ///< Threads for a row: a power of two.
  int64_t unrolled; ///< Iterations, of those that are in a loop.

  int64_t rowsPerBlock() const { return threads / team; }
  /// Lanes for a value of `shape` along its last dimension.
  int64_t lanesFor(llvm::ArrayRef<int64_t> shape) const {
    return static_cast<int64_t>(shape.size()) > rank &&
                   shape.back() % lanes == 0
               ? lanes
               : 1;
  }
};
RowsLayout layOutRows(const RowsKernel &rows, RowsPlanAttr plan);

/// Vectors of `shape` that a team has to compute.
int64_t unitsOf(const RowsLayout &layout, llvm::ArrayRef<int64_t> shape,
                int64_t lanes);
/// Whether the code can be made with the layout's vectors.
bool takesVectors(const RowsKernel &rows, const RowsLayout &layout);

/// The strategy `rows`.
struct RowsStrategy
    : Functions<RowsKernel, RowsPlanAttr, RowsLayout, const RowsLayout &> {
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

/// The plan of the kernel; null if it does not fit in shared memory.
RowsPlanAttr planRows(const RowsKernel &rows);
/// Whether teams compute `kernel` better than threads that are alone.
bool isWorthTeams(mlir::func::FuncOp kernel);

/// Lets a dispatch of its own compute a reduction, or parts of one, of
/// the kernel, where few blocks would have much work; null if it changed
/// nothing.
graph::DispatchOp splitRows(DispatchedKernel dispatched);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_ROWS_ROWS_H
