//===- LibraryDescriber.h - Products as libraries see them ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_LIBRARY_LIBRARYDESCRIBER_H
#define TINH_CODEGEN_CUDA_LIBRARY_LIBRARYDESCRIBER_H

#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Library/LibraryEpilogue.h"

namespace tinh::cuda {

/// Describes a kernel's product to a library, as one of matrices or as a
/// convolution. The factors' elements lie in arguments.
struct LibraryDescriber {
  mlir::func::FuncOp kernel;
  const Target &target;
  const Product &p;
  const LibraryEpilogue &epilogue;

  /// Null if it is none.
  graph::LibraryAttr product();
  graph::LibraryAttr convolution();

private:
  /// The operand's elements, where loops step so through it, each of these
  /// lists one dimension of them; null if one is none.
  graph::ViewAttr view(unsigned operand, llvm::ArrayRef<Loops> dimensions,
                       llvm::ArrayRef<int64_t> steps);

  /// The view of an operand through which the product's loops step so; null if
  /// libraries know none such.
  using ViewOf = llvm::function_ref<graph::ViewAttr(
      unsigned operand, llvm::ArrayRef<int64_t> steps)>;
  using Test = llvm::function_ref<bool(graph::ViewAttr)>;

  graph::ViewAttr resultView(ViewOf viewOf);
  /// What is added: at most one bias, and at most one tensor of the result's
  /// shape.
  struct Addends {
    graph::ViewAttr bias, residual;
  };
  std::optional<Addends> addends(ViewOf viewOf, Test isBias, Test isResidual);
  /// How loops step through a tensor of the result's shape with these strides.
  llvm::SmallVector<int64_t> stepsInProduct(llvm::ArrayRef<int64_t> strides);

  graph::ViewAttr makeView(unsigned operand, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> strides);
  graph::LibraryAttr makeCall(graph::LibraryKind kind, graph::ViewAttr left,
                              graph::ViewAttr right, graph::ViewAttr result,
                              const Addends &addends,
                              graph::WindowAttr window = {});
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_LIBRARY_LIBRARYDESCRIBER_H
