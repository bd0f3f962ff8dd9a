//===- CompileKernels.h - From kernels to object files ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_KERNELS_COMPILEKERNELS_H
#define TINH_PIPELINES_KERNELS_COMPILEKERNELS_H

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Pipelines/Kernels/KernelContexts.h"

#include "mlir/IR/BuiltinOps.h"

namespace tinh {

/// The code of the kernels that `contents` names, symbols of `module` (phase
/// Plan or LLVM), to run on `target`; each, or each image of several for GPUs,
/// is compiled alone, on any thread, unless the options' cache has it. Adds
/// them to the report.
mlir::FailureOr<std::vector<artifact::Object>>
compileKernels(mlir::ModuleOp module, const artifact::Contents &contents,
               const cpu::Target &target, const CompileOptions &options,
               CompileReport &report);

/// The code of the kernel in `text`, a module with a function over linalg or a
/// function of a row, for `target`, which it names; from `cache` if that is
/// there and has it.
llvm::Expected<artifact::Object> findOrCompileKernel(llvm::StringRef text,
                                                     const cpu::Target &target,
                                                     KernelContexts &contexts,
                                                     KernelCache *cache);

/// Takes `module` from phase Plan to LLVM: each kernel function becomes a
/// module of functions in the LLVM dialect. `interruption` ends it between two
/// kernels, and may be null.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module, unsigned jobs,
                                Interruption *interruption);

} // namespace tinh

#endif // TINH_PIPELINES_KERNELS_COMPILEKERNELS_H
