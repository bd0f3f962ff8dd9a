//===- LibraryConvolution.h - Products as libraries see them ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What describing matrix products and describing convolutions have in common.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_LIBRARYCONVOLUTION_H
#define TINH_CODEGEN_CUDA_LIBRARYCONVOLUTION_H

#include "compiler/Codegen/CUDA/Contraction.h"
#include "compiler/Codegen/CUDA/LibraryEpilogue.h"

namespace tinh::cuda {

/// How loops index the memory of an argument, as a tensor of this shape and
/// with these strides. Indices beside it stand for zeros.
struct MemoryAccess {
  unsigned argument;
  llvm::SmallVector<int64_t> shape, strides;
  mlir::AffineMap map;

  /// How far one step of `loop` goes along dimension `dim`.
  int64_t coefficient(unsigned dim, unsigned loop) const;
  /// Where dimension `dim` begins.
  int64_t constant(unsigned dim) const;
  /// How far, in elements, one step of each loop goes.
  llvm::SmallVector<int64_t> steps() const;
  /// Whether loops of these extents begin at the first element, and go forward
  /// and not beside the tensor.
  bool staysInside(llvm::ArrayRef<int64_t> extents) const;
};

/// How loops that index `value` by `map` index the argument that it is a part,
/// a reshape, a transposition or a padding of; nothing if it is computed.
std::optional<MemoryAccess> accessMemory(mlir::Value value,
                                         mlir::AffineMap map);

/// How loops step through a tensor of the result's shape with these strides.
llvm::SmallVector<int64_t> stepsInProduct(const Product &p,
                                          llvm::ArrayRef<int64_t> strides);

graph::ViewAttr makeView(mlir::MLIRContext *context, unsigned operand,
                         llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> strides);

struct ProductDescriber {
  mlir::func::FuncOp kernel;
  const Target &target;
  const Product &p;
  const LibraryEpilogue &epilogue;

  /// Null if it is none.
  graph::LibraryAttr product(const MemoryAccess &rows,
                             const MemoryAccess &columns);
  graph::LibraryAttr convolution(const MemoryAccess &rows,
                                 const MemoryAccess &columns);

private:
  graph::LibraryAttr convolution(const MemoryAccess &image,
                                 const Factor &ofImage,
                                 const MemoryAccess &filter,
                                 const Factor &ofFilter);
  graph::LibraryAttr attribute(graph::LibraryKind kind, graph::ViewAttr left,
                               graph::ViewAttr right, graph::ViewAttr result,
                               graph::ViewAttr bias, graph::ViewAttr residual,
                               graph::WindowAttr window);
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_LIBRARYCONVOLUTION_H
