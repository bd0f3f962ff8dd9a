//===- LowerToNVVM.h - From kernel functions to code for GPUs ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_LOWERTONVVM_H
#define TINH_CODEGEN_CUDA_LOWERTONVVM_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/CUDA/Target.h"
#include "compiler/Codegen/CUDA/Toolkit.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tinh::cuda {

/// Dialects that code generation for GPUs uses beside those of the CPU, with
/// their translations.
void registerCodegenDialects(mlir::DialectRegistry &registry);

/// A module of functions in the LLVM and NVVM dialects, one for each kernel
/// function of `module` (phase `kernels` or `plan`) that runs on the GPU, which
/// names the chips that it is for.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerKernelsToNVVM(mlir::ModuleOp module, const Target &target);

/// The chip that PTX of the kernels is made for if it is to run on `chip`: the
/// oldest one, unless one of them has better code for later ones.
llvm::StringRef codeLevel(llvm::ArrayRef<mlir::ModuleOp> nvvmModules,
                          llvm::StringRef chip);

/// PTX of such modules, in one, for a chip.
llvm::Expected<std::string> emitPtx(llvm::ArrayRef<mlir::ModuleOp> nvvmModules,
                                    llvm::StringRef chip,
                                    const Toolkit &toolkit);

/// The same for each chip of `target`.
llvm::Expected<std::vector<ChipCode>>
emitPtxForChips(llvm::ArrayRef<mlir::ModuleOp> nvvmModules,
                const Target &target, const Toolkit &toolkit);

/// An ELF object for the CPU with a tinh_image_t, the hidden symbol `name`, of
/// `codes`, those of all chips.
llvm::Expected<llvm::SmallVector<char, 0>>
packImage(llvm::ArrayRef<ChipCode> codes, llvm::StringRef name,
          const Toolkit &toolkit, const cpu::Target &cpu);

/// The same of kernels that the CPU runs, as `target` says.
llvm::Expected<llvm::SmallVector<char, 0>>
emitEmulatedImage(llvm::ArrayRef<mlir::ModuleOp> nvvmModules,
                  llvm::StringRef name, const Target &target,
                  const std::optional<Toolkit> &toolkit,
                  const cpu::Target &cpu);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_LOWERTONVVM_H
