//===- Pointers.h - Addresses for instructions on them ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strategies work on memrefs, but some instructions of GPUs take addresses.
// Such an address is a cast of the memref until it is converted to LLVM.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_POINTERS_H
#define TINH_CODEGEN_CUDA_POINTERS_H

#include "mlir/IR/Builders.h"

namespace tinh::cuda {

/// The address of element `index` of a kernel's operand.
mlir::Value globalPointer(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value memref, mlir::Value index);
/// The same of a buffer in shared memory.
mlir::Value sharedPointer(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value memref, mlir::Value index);

/// Once all memrefs have been converted: takes such addresses from what they
/// have become.
void resolvePointers(mlir::Operation *module);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_POINTERS_H
