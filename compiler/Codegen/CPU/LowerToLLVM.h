//===- LowerToLLVM.h - From kernel functions to machine code ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_LOWERTOLLVM_H
#define TINH_CODEGEN_CPU_LOWERTOLLVM_H

#include "compiler/Codegen/CPU/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tinh::cpu {

/// Dialects that code generation uses, with their translations.
void registerCodegenDialects(mlir::DialectRegistry &registry);

/// A module of LLVM dialect functions with the ABI of tinh_kernel_fn, one for
/// each kernel function of `module` (phase `kernels` or `plan`).
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerKernelsToLLVM(mlir::ModuleOp module, const Target &target);

/// Object code of a module of the LLVM dialect: an ELF relocatable file.
mlir::FailureOr<llvm::SmallVector<char, 0>>
emitObject(mlir::ModuleOp llvmModule, const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_LOWERTOLLVM_H
