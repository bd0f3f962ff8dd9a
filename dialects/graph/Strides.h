//===- Strides.h - Tensors that are parts of larger ones --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor is dense and row-major in memory, or a part of one that is: then its
// elements are rows of bytes, each as far behind the one before.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_GRAPH_STRIDES_H
#define TINH_DIALECTS_GRAPH_STRIDES_H

#include "dialects/graph/Graph.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tinh::graph {

namespace names {
/// Of an argument or result of a kernel that is a part of a larger tensor: its
/// strides in elements (DenseI64ArrayAttr). Without it the tensor is dense.
inline constexpr llvm::StringLiteral kStrides = "graph.strides";
} // namespace names

/// Strides in elements of a dense row-major tensor.
llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape);

/// `count` times `run` bytes, each `pitch` bytes after the one before; one row
/// of all bytes if they are contiguous.
struct Rows {
  int64_t count = 1, run = 0, pitch = 0;
  /// From the first byte to behind the last one.
  int64_t span() const { return (count - 1) * pitch + run; }
};

/// The bytes of a tensor with `strides`; nothing if its elements, in their
/// order, are no such rows.
std::optional<Rows> rowsOf(mlir::RankedTensorType type,
                           llvm::ArrayRef<int64_t> strides);

/// Whether a tensor with `strides` is contiguous.
bool isDense(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> strides);

/// The strides of an argument or of a result of a kernel function.
llvm::SmallVector<int64_t> argumentStrides(mlir::FunctionOpInterface kernel,
                                           unsigned argument);
llvm::SmallVector<int64_t> resultStrides(mlir::FunctionOpInterface kernel,
                                         unsigned result);

} // namespace tinh::graph

#endif // TINH_DIALECTS_GRAPH_STRIDES_H
