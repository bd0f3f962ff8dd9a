//===- Libraries.h - Kernels that libraries can compute ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel with one product or convolution, to which at most a bias, a tensor
// of the result's shape and then an activation are added, is what cuBLASLt and
// cuDNN compute as well. It is described to the runtime by where its operands'
// elements lie, whatever ops and reshapes it was made from.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_LIBRARY_LIBRARIES_H
#define TINH_CODEGEN_CUDA_LIBRARY_LIBRARIES_H

#include "compiler/Codegen/CUDA/Contraction/Contraction.h"

namespace tinh::cuda {

/// What `kernel` is to a library; null if that is nothing.
graph::LibraryAttr describeForLibrary(mlir::func::FuncOp kernel,
                                      const Target &target);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_LIBRARY_LIBRARIES_H
