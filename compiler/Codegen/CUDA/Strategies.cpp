//===- Strategies.cpp - All strategies for GPUs -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Strategies.h"

#include "compiler/Codegen/CUDA/Attention/Attention.h"
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Rows/Rows.h"
#include "compiler/Codegen/CUDA/Scan/Scan.h"
#include "compiler/Codegen/CUDA/Scatter/Scatter.h"
#include "compiler/Codegen/CUDA/Threads/Threads.h"
#include "compiler/Codegen/CUDA/Transpose/Transpose.h"
#include "compiler/Codegen/CUDA/Windows/Windows.h"

namespace tinh::cuda {

StrategyTable<Device> strategies() {
  static const Strategy<Device> table[] = {
      strategyOf<Device, ContractionStrategy>(),
      strategyOf<Device, AttentionStrategy>(),
      strategyOf<Device, ScanStrategy>(),
      strategyOf<Device, ScatterStrategy>(),
      strategyOf<Device, RowsStrategy>(),
      strategyOf<Device, WindowsStrategy>(),
      strategyOf<Device, TransposeStrategy>(),
      strategyOf<Device, ThreadsStrategy>()};
  return llvm::ArrayRef(table);
}

} // namespace tinh::cuda
