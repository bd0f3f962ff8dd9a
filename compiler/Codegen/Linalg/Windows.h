//===- Windows.h - Indices of sliding windows -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convolution and pooling share: where channels and spatial dimensions lie
// in a layout, padding, and the affine maps of a generic over windows. Such a
// generic's dimension 0 is the batch and 1 … rank are the result's spatial
// ones.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_LINALG_WINDOWS_H
#define TINH_CODEGEN_LINALG_WINDOWS_H

#include "compiler/Codegen/Linalg/Emitter.h"
#include "dialects/graph/Graph.h"

namespace tinh::codegen {

inline int64_t channelAxis(graph::Layout layout, int64_t rank) {
  return layout == graph::Layout::ChannelsFirst ? 1 : rank - 1;
}
inline int64_t spatialAxis(graph::Layout layout, int64_t i) {
  return layout == graph::Layout::ChannelsFirst ? i + 2 : i + 1;
}

/// Pads the spatial dimensions by `padding`: all begins, then all ends.
inline mlir::Value padSpatial(Emitter &e, mlir::Value x,
                              llvm::ArrayRef<int64_t> padding,
                              graph::Layout layout, mlir::Value scalar) {
  size_t rank = padding.size() / 2;
  llvm::SmallVector<int64_t> low(rank + 2, 0), high(rank + 2, 0);
  for (size_t i = 0; i < rank; ++i) {
    low[spatialAxis(layout, i)] = padding[i];
    high[spatialAxis(layout, i)] = padding[rank + i];
  }
  return e.pad(x, low, high, scalar);
}

/// The map of an image in a generic with `dims` dimensions: the batch, the
/// channels, the spatial indices, in the order of its layout.
inline mlir::AffineMap imageMap(Emitter &e, int64_t dims, graph::Layout layout,
                                mlir::AffineExpr batch,
                                llvm::ArrayRef<mlir::AffineExpr> channels,
                                llvm::ArrayRef<mlir::AffineExpr> spatial) {
  llvm::SmallVector<mlir::AffineExpr> exprs{batch};
  bool first = layout == graph::Layout::ChannelsFirst;
  llvm::append_range(exprs, first ? channels : spatial);
  llvm::append_range(exprs, first ? spatial : channels);
  return e.map(dims, exprs);
}

/// The maps of a generic with `dims` dimensions of which those of the kernel
/// start at `firstKernel`.
class WindowMaps {
public:
  using Exprs = llvm::SmallVector<mlir::AffineExpr>;

  /// `sparse` spatial dimensions of the input are two: tap and output.
  WindowMaps(Emitter &e, int64_t dims, graph::Layout layout,
             int64_t firstKernel, llvm::ArrayRef<int64_t> strides,
             llvm::ArrayRef<int64_t> dilations,
             llvm::ArrayRef<bool> sparse = {})
      : e(e), dims(dims), layout(layout), firstKernel(firstKernel),
        strides(strides), dilations(dilations), sparse(sparse) {}

  /// The kernel's indices.
  Exprs kernel() {
    Exprs exprs;
    for (size_t i = 0; i < strides.size(); ++i)
      exprs.push_back(e.dim(firstKernel + i));
    return exprs;
  }
  /// The element of the input under the window.
  mlir::AffineMap input(llvm::ArrayRef<mlir::AffineExpr> channels) {
    Exprs spatial;
    for (size_t i = 0; i < strides.size(); ++i) {
      mlir::AffineExpr tap = e.dim(firstKernel + i), output = e.dim(i + 1);
      if (!sparse.empty() && sparse[i])
        spatial.append({tap, output});
      else
        spatial.push_back(output * strides[i] + tap * dilations[i]);
    }
    return imageMap(e, dims, layout, e.dim(0), channels, spatial);
  }
  /// The result's element.
  mlir::AffineMap output(llvm::ArrayRef<mlir::AffineExpr> channels) {
    Exprs spatial;
    for (size_t i = 0; i < strides.size(); ++i)
      spatial.push_back(e.dim(i + 1));
    return imageMap(e, dims, layout, e.dim(0), channels, spatial);
  }

private:
  Emitter &e;
  int64_t dims;
  graph::Layout layout;
  int64_t firstKernel;
  llvm::ArrayRef<int64_t> strides, dilations;
  llvm::ArrayRef<bool> sparse;
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_LINALG_WINDOWS_H
