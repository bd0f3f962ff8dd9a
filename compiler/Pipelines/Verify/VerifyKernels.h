//===- VerifyKernels.h - What code for kernels relies on --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_VERIFY_VERIFYKERNELS_H
#define TINH_PIPELINES_VERIFY_VERIFYKERNELS_H

#include "compiler/Pipelines/Phases.h"

namespace tinh {

/// Checks the kernels over linalg of a module in `phase`, `kernels` or `plan`:
/// they say how they are computed, are made of the ops that
/// docs/architecture.md names, on tensors of static shapes, and read elements
/// only that exist and have been computed.
llvm::LogicalResult verifyKernelFunctions(mlir::ModuleOp module, Phase phase);

} // namespace tinh

#endif // TINH_PIPELINES_VERIFY_VERIFYKERNELS_H
