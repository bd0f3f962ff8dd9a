//===- LowerToLinalg.h - Graph ops as linalg on tensors ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_CODEGEN_LINALG_LOWERTOLINALG_H
#define TINH_COMPILER_CODEGEN_LINALG_LOWERTOLINALG_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tinh::codegen {

/// Attaches LowerToLinalgInterface to all ops of the graph dialect.
void registerLowerToLinalgModels(mlir::DialectRegistry &registry);

} // namespace tinh::codegen

#endif // TINH_COMPILER_CODEGEN_LINALG_LOWERTOLINALG_H
