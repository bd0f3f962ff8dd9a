//===- KernelModules.h - Kernels from their texts to code -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_KERNELS_KERNELMODULES_H
#define TINH_PIPELINES_KERNELS_KERNELMODULES_H

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/CUDA/Toolkit.h"
#include "compiler/Pipelines/Kernels/KernelContexts.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>

namespace tinh {

/// A kernel as a module of its own. Its text determines the code: it names the
/// CPU or the chips that the kernel's strategy was chosen for; those of @init
/// do not run on that CPU.
std::string kernelText(mlir::Operation *kernel);

/// What kernels are compiled for, and by.
struct CodeTarget {
  cpu::Target cpu;
  std::optional<cuda::Toolkit> toolkit; ///< For kernels on GPUs.
};

/// Why a kernel was not compiled.
struct KernelError {
  std::string message; ///< The first one.
  bool internal = false;

  void add(llvm::StringRef text);
  /// Reports it, at the operation that the kernel is in the module.
  mlir::LogicalResult report(mlir::Operation *kernel,
                             llvm::StringRef name) const;
};

/// Kernels read from their texts: one for the CPU, or those of an image for
/// GPUs.
class KernelModules {
public:
  KernelModules(llvm::ArrayRef<std::string> texts, KernelContexts &contexts,
                KernelError &error);

  /// Takes them to the LLVM dialect; they may be in that already.
  mlir::LogicalResult lower();
  /// The first one, which says where all of them run.
  mlir::ModuleOp front() { return *modules.front(); }
  /// Whether what is wrong with them is the compiler's fault: what was given in
  /// the LLVM dialect may be wrong, what was made must not.
  bool areOurs() const { return ours; }

  /// The code of what was lowered for the CPU, or for one that emulates a GPU:
  /// an image of that name then.
  mlir::FailureOr<artifact::Object> compile(llvm::StringRef image,
                                            const CodeTarget &target);
  /// Whether they are for chips, which takes the toolkit.
  bool areForChips();
  /// The PTX of what was lowered, for each chip.
  mlir::FailureOr<std::vector<cuda::ChipCode>>
  emitPtx(const cuda::Toolkit &toolkit);

private:
  mlir::LogicalResult lower(mlir::OwningOpRef<mlir::ModuleOp> &module);

  KernelError &error;
  KernelContexts::Borrowed context;
  mlir::ScopedDiagnosticHandler handler;
  llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  bool ours = false;
};

} // namespace tinh

#endif // TINH_PIPELINES_KERNELS_KERNELMODULES_H
