//===- Emulate.h - GPU kernels for the CPU ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code that a GPU would run, compiled for the CPU: for tests on machines
// without one. What a CPU has not is left to an emulator (EmulatorAbi.h).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_EMULATE_EMULATE_H
#define TINH_CODEGEN_CUDA_EMULATE_EMULATE_H

#include "compiler/Codegen/CPU/Target.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace tinh::cuda {

/// The bytes of an ELF shared object for the kernels of `device`, a module for
/// NVPTX that is optimised and linked with libdevice. Fails on intrinsics
/// and functions that emulators do not have.
llvm::Expected<llvm::SmallVector<char, 0>>
emulateDevice(std::unique_ptr<llvm::Module> device, const cpu::Target &target);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_EMULATE_EMULATE_H
