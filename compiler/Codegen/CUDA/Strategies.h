//===- Strategies.h - All strategies for GPUs -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_STRATEGIES_H
#define TINH_CODEGEN_CUDA_STRATEGIES_H

#include "compiler/Codegen/CUDA/Strategy.h"

namespace tinh::cuda {

/// One row a strategy. Of plans that cost the same the first row's counts.
StrategyTable<Device> strategies();

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_STRATEGIES_H
