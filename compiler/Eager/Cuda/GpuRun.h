//===- GpuRun.h - Runs of graphs on a GPU, as operations --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine gives a graph to the GPU's stream when what it reads has been
// given to it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CUDA_GPURUN_H
#define TINH_EAGER_CUDA_GPURUN_H

#include "compiler/Eager/Cuda/GpuGraph.h"
#include "compiler/Eager/Engine/Engine.h"
#include "compiler/Eager/Tensor/TensorImpl.h"

#include "llvm/ADT/SmallVector.h"

#include <array>

namespace tinh::eager {

/// An argument or a result of a run: a part of a storage, or a few bytes.
struct GpuOperand {
  /// All elements of `x`, and what lies between them.
  explicit GpuOperand(const TensorImpl &x);
  /// `data` is copied, and of no more bytes than `bytes`.
  GpuOperand(const void *data, size_t size);

  Storage *storage = nullptr; // Null: `bytes`.
  uint64_t offset = 0, size;  // In bytes.
  std::array<char, 16> bytes = {};
};

/// How many elements of memory those of `x` extend over.
int64_t spanOf(const TensorImpl &x);

/// Queues a run of `graph`. Arguments may lie on the CPU if they have no more
/// bytes than `GpuOperand::bytes`, which go along.
void queueOnGpu(std::shared_ptr<GpuGraph> graph,
                llvm::ArrayRef<GpuOperand> arguments,
                llvm::ArrayRef<GpuOperand> results, const Call &call);

/// Queues a copy of all elements of a contiguous tensor to another one, of the
/// same dtype, between the CPU's memory and a GPU's.
void queueTransfer(const TensorImpl &from, const TensorImpl &to,
                   const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_CUDA_GPURUN_H
