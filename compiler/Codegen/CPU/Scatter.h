//===- Scatter.h - Elements written where indices say -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `scatter`: a kernel that combines elements of a tensor with
// updates whose positions are computed. It goes through the updates in order,
// so that the outcome does not depend on chance where they meet; chunks share
// the dimensions of the tensor that positions are not for.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SCATTER_H
#define TINH_CODEGEN_CPU_SCATTER_H

#include "compiler/Codegen/CPU/Strategy.h"
#include "compiler/Codegen/Kernel/Scatter.h"

namespace tinh::cpu {

struct ScatterPlan {
  /// Blocks of the last dimension, if positions are not for it, else 1.
  int64_t blocks, blockSize;
  int64_t units, unitsPerChunk, chunks;
};
ScatterPlan planScatter(const Scatter &scatter);
mlir::LogicalResult emitScatter(EmittedKernel &kernel, const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SCATTER_H
