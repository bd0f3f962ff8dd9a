//===- LowerToNVVM.h - From kernel functions to NVVM ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_LOWERTONVVM_H
#define TINH_CODEGEN_CUDA_LOWERTONVVM_H

#include "compiler/Codegen/CUDA/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tinh::cuda {

/// Dialects that code generation for GPUs uses beside those of the CPU, with
/// their translations.
void registerCodegenDialects(mlir::DialectRegistry &registry);

/// A module of functions in the LLVM and NVVM dialects, one for each kernel
/// function of `module` (phase `kernels` or `plan`) that runs on the GPU, which
/// names the chips that it is for.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerKernelsToNVVM(mlir::ModuleOp module, const Target &target);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_LOWERTONVVM_H
