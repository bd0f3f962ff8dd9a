//===- Cuda.h - The cuda dialect: how kernels run on GPUs -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plans of kernels for GPUs, an attribute for each strategy; their
// definitions are in CudaPlans.td.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_CUDA_CUDA_H
#define TINH_DIALECTS_CUDA_CUDA_H

#include "dialects/graph/Graph.h"
#include "dialects/graph/PlanChecks.h"

#include "dialects/cuda/CudaDialect.h.inc"
#include "dialects/cuda/CudaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cuda/CudaAttrs.h.inc"

namespace tinh::cuda {

using graph::kMostThreads, graph::kWarp;
/// Sums that a thread adds up with FFMA lie in groups of so many rows or
/// columns: as wide as the accesses to shared memory.
inline constexpr int64_t kGroup = 4;
/// Threads that share a query's row where FFMA multiplies.
inline constexpr int64_t kSharers = 16;

} // namespace tinh::cuda

#endif // TINH_DIALECTS_CUDA_CUDA_H
