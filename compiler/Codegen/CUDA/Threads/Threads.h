//===- Threads.h - Every kernel, element by element -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_THREADS_THREADS_H
#define TINH_CODEGEN_CUDA_THREADS_THREADS_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"

namespace tinh::cuda {

/// Results of one shape, which the same threads compute.
struct ResultGroup {
  llvm::SmallVector<unsigned> results;
  llvm::SmallVector<int64_t> shape;

  int64_t units(int64_t lanes) const {
    return mlir::ShapedType::getNumElements(shape) / lanes;
  }
};

/// Any kernel.
struct ThreadsKernel {
  mlir::func::FuncOp kernel;
  llvm::SmallVector<ResultGroup> groups;
};

/// The strategy `threads`: a thread computes a few elements of each result that
/// lie side by side, from the kernel's operands alone.
struct ThreadsStrategy : Functions<ThreadsKernel, ThreadsPlanAttr> {
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_THREADS_THREADS_H
