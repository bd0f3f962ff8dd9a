//===- LibraryEpilogue.h - What follows a product ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_LIBRARY_LIBRARYEPILOGUE_H
#define TINH_CODEGEN_CUDA_LIBRARY_LIBRARYEPILOGUE_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::cuda {

/// A tensor that is added to the product, by where its element for each index
/// of that lies.
struct Addend {
  unsigned argument;
  llvm::SmallVector<int64_t> strides; ///< By dimension of the product.
};

/// `activation(product + addends)`
struct LibraryEpilogue {
  llvm::SmallVector<Addend> addends;
  graph::Activation activation = graph::Activation::None;
};

/// How the one result of `kernel` follows from `product`, a tensor of its
/// shape; nothing if it does so in another way.
std::optional<LibraryEpilogue> matchEpilogue(mlir::func::FuncOp kernel,
                                             mlir::Value product);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_LIBRARY_LIBRARYEPILOGUE_H
