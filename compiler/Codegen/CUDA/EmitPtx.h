//===- EmitPtx.h - From NVVM to code for GPUs -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_EMITPTX_H
#define TINH_CODEGEN_CUDA_EMITPTX_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/CUDA/Target.h"
#include "compiler/Codegen/CUDA/Toolkit.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace tinh::cuda {

/// The chip that PTX of the kernels is made for if it is to run on `chip`: the
/// oldest one, unless one of them has better code for later ones.
llvm::StringRef codeLevel(llvm::ArrayRef<mlir::ModuleOp> nvvmModules,
                          llvm::StringRef chip);

/// PTX of modules of `lowerKernelsToNVVM`, in one, for a chip.
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

#endif // TINH_CODEGEN_CUDA_EMITPTX_H
