//===- GpuPrimitives.h - Primitives, compiled for a GPU ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A primitive becomes a graph of its own, compiled once for each combination of
// attributes, dtypes, shapes and layouts.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CUDA_GPUPRIMITIVES_H
#define TINH_EAGER_CUDA_GPUPRIMITIVES_H

#include "compiler/Eager/Cuda/Gpu.h"
#include "compiler/Eager/Primitives/Primitive.h"

namespace tinh::eager {

/// Queues it. Tensors lie on `gpu`, but for inputs of rank 0, which may lie on
/// the CPU.
void queueOnGpu(Gpu &gpu, const Primitive &primitive);

} // namespace tinh::eager

#endif // TINH_EAGER_CUDA_GPUPRIMITIVES_H
