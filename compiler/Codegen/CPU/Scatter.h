//===- Scatter.h - Elements written where indices say -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `scatter`: a kernel that combines elements of a tensor with
// updates whose positions are computed. It goes through the updates in order,
// so that the outcome does not depend on chance where they meet; chunks share
// the dimensions of the tensor that positions are not for.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SCATTER_H
#define TINH_CODEGEN_CPU_SCATTER_H

#include "compiler/Codegen/CPU/Strategy.h"

namespace tinh::cpu {

struct Scatter {
  mlir::linalg::GenericOp op;
  mlir::Value initial; // What the updates are combined with.
  /// Where updates are for, and in which dimension that is.
  llvm::SmallVector<mlir::OpOperand *> positions;
  llvm::SmallVector<unsigned> targets;
  llvm::SmallVector<int64_t> extents; // Of all loops.
  unsigned rank;                      // Of the result: the first loops.

  bool isTarget(unsigned dim) const { return llvm::is_contained(targets, dim); }
  unsigned last() const { return rank - 1; }
};
std::optional<Scatter> matchScatter(mlir::func::FuncOp kernel);

struct ScatterPlan {
  /// Blocks of the last dimension, if positions are not for it, else 1.
  int64_t blocks, blockSize;
  int64_t units, unitsPerChunk, chunks;
};
ScatterPlan planScatter(const Scatter &scatter);
mlir::LogicalResult emitScatter(EmittedKernel &kernel, const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SCATTER_H
