//===- Exchange.h - Values that threads combine together --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_EXCHANGE_H
#define TINH_CODEGEN_CUDA_EXCHANGE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tinh::cuda {

/// What lane `lane ^ distance`, or for Up lane `lane - distance`, of the warp
/// has in `value`, a number or a vector. For Up the lanes below `distance` keep
/// their own.
mlir::Value shuffle(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                    int64_t distance, mlir::gpu::ShuffleMode mode);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_EXCHANGE_H
