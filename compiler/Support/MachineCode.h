//===- MachineCode.h - From LLVM IR to code ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SUPPORT_MACHINECODE_H
#define TINH_SUPPORT_MACHINECODE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace tinh {

/// Runs LLVM's own passes of `level` on `module`.
void optimise(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::OptimizationLevel level,
              const llvm::PipelineTuningOptions &tuning = {});

/// What `machine` makes of `module`: an object file or assembly.
llvm::Expected<llvm::SmallVector<char, 0>>
emitCode(llvm::Module &module, llvm::TargetMachine &machine,
         llvm::CodeGenFileType type);

} // namespace tinh

#endif // TINH_SUPPORT_MACHINECODE_H
