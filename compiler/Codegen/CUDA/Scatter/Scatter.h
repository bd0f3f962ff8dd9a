//===- ScatterPlan.h - Who computes what of a scatter -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of a scatter's dimensions are what, and how blocks and threads share
// them. Scatter.cpp emits the code.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_SCATTERPLAN_H
#define TINH_CODEGEN_CUDA_SCATTERPLAN_H

#include "compiler/Codegen/CUDA/Strategy.h"
#include "compiler/Codegen/Kernel/Scatter.h"

namespace tinh::cuda {

struct ScatterPlan {
  /// Of a block whose threads have a line each.
  static constexpr int64_t kThreads = 256;

  codegen::Scatter scatter;
  /// Dimensions of the result that positions differ along, and those that they
  /// are neither for nor differ along.
  llvm::SmallVector<unsigned> lineDims, columnDims;
  int64_t lines = 1, rows = 1, updates = 1;
  int64_t columns = 1; ///< Vectors of columns.
  int64_t lanes = 1;
  /// Of a block: threads side by side along columns, how many positions have
  /// such threads at a time, and how many it owns; 0 if a thread has a line.
  int64_t columnThreads = 1, slots = 1, rowsOfBlock = 0;
  int64_t columnBlocks = 1, ranges = 1;

  int64_t threads() const {
    return rowsOfBlock ? llvm::alignTo(columnThreads * slots, kWarp) : kThreads;
  }
  int64_t blocks() const {
    return rowsOfBlock ? lines * columnBlocks * ranges
                       : llvm::divideCeil(lines * columns, kThreads);
  }
  /// Positions of a chunk, and which of them are in the range.
  int64_t chunkBytes() const { return threads() * 4; }
  int64_t shared() const {
    return rowsOfBlock
               ? llvm::alignTo(2 * (chunkBytes() + threads() / kWarp * 4), 16)
               : 0;
  }
};

/// The plan of `kernel` with vectors of columns, where these can be read so, or
/// with single ones; nothing unless it is a scatter with results.
std::optional<ScatterPlan> planScatter(mlir::func::FuncOp kernel, bool vectors);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_SCATTERPLAN_H
