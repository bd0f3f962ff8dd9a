//===- VerifyCpuFunctions.h - What runs where there is no GPU ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_VERIFY_VERIFYCPUFUNCTIONS_H
#define TINH_PIPELINES_VERIFY_VERIFYCPUFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace tinh {

/// Whether the functions and variables of `module`, in any phase, that stand in
/// for others, for machines without a GPU, stand in for all of them, in their
/// order, with the same signatures, and on the CPU alone.
mlir::LogicalResult verifyCpuFunctions(mlir::ModuleOp module);

} // namespace tinh

#endif // TINH_PIPELINES_VERIFY_VERIFYCPUFUNCTIONS_H
