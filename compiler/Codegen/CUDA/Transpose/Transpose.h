//===- Transpose.h - Moving the last dimension elsewhere --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_H
#define TINH_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"

namespace tinh::cuda {

/// A permutation that moves the last dimension, with what is computed element
/// by element before and after it.
struct Transpose {
  mlir::func::FuncOp kernel;
  mlir::linalg::GenericOp op;
  llvm::SmallVector<int64_t> shape; ///< Of its result.
  unsigned column; ///< The result's dimension that is read last,
  unsigned row() const { return shape.size() - 1; } ///< and its own last one.
  mlir::Value result() const { return op->getOpResult(0); }
  mlir::Type element() const { return mlir::getElementTypeOrSelf(result()); }
  /// The indices in its source of those in its result.
  Indices sourceIndices(const Indices &at) const;
};

/// A tile that a block turns, of so many rows and columns, which a warp has a
/// line of if each of its threads has so many elements.
struct TransposeTile {
  int64_t lanes, side = kWarp * lanes;
  /// Elements from one row of it to the next.
  int64_t pitch() const { return side + lanes; }
};
int64_t countTiles(const Transpose &t, const TransposeTile &tile);

/// The strategy `transpose`: kernels that move the last dimension, by way of
/// shared memory.
struct TransposeStrategy : Functions<Transpose, TransposePlanAttr> {
  /// The one permutation of `kernel`, whose results follow from it element by
  /// element.
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_H
