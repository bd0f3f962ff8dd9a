//===- Scatter.h - Elements written where indices say -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_SCATTER_SCATTER_H
#define TINH_CODEGEN_CUDA_SCATTER_SCATTER_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Scatter.h"

namespace tinh::cuda {

/// A scatter, and which of its dimensions are what.
struct ScatterKernel {
  mlir::func::FuncOp kernel;
  Scatter scatter;
  /// Dimensions of the result that positions differ along, and those that they
  /// are neither for nor differ along.
  llvm::SmallVector<unsigned> lineDims, columnDims;
  int64_t lines = 1, rows = 1, updates = 1, columns = 1;

  mlir::Type element() const {
    return mlir::getElementTypeOrSelf(scatter.op->getResult(0));
  }
};

/// How blocks and threads share them.
struct ScatterLayout {
  int64_t columns; ///< Vectors of columns.
  int64_t columnBlocks, ranges, threads, blocks;
  /// Positions of a chunk, and which of them are in the range.
  int64_t chunkBytes() const { return threads * 4; }
  int64_t shared() const {
    return llvm::alignTo(2 * (chunkBytes() + threads / kWarp * 4), 16);
  }
};
ScatterLayout layOutScatter(const ScatterKernel &form, ScatterPlanAttr plan);

/// The strategy `scatter`: elements combined with updates whose positions are
/// computed. The block that owns a position looks for its updates.
struct ScatterStrategy : Functions<ScatterKernel, ScatterPlanAttr> {
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_SCATTER_SCATTER_H
