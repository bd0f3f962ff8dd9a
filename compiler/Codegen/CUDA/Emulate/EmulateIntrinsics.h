//===- EmulateIntrinsics.h - NVVM intrinsics on a CPU -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands for a call of an intrinsic: LLVM's own operations, or a call of
// the emulator. Each function gets the name without "llvm.nvvm." and returns
// the value that replaces the call (of void, any), or null if it does not know
// it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_EMULATE_EMULATEINTRINSICS_H
#define TINH_CODEGEN_CUDA_EMULATE_EMULATEINTRINSICS_H

#include "llvm/IR/IRBuilder.h"

namespace tinh::cuda {

/// Barriers and waits that have been counted.
struct EmulatedSites {
  uint32_t barriers = 0, waits = 0;
};

/// A call of the emulator's function of this name.
llvm::CallInst *callEmulator(llvm::IRBuilderBase &b, llvm::StringRef name,
                             llvm::Type *result,
                             llvm::ArrayRef<llvm::Value *> arguments);
/// The same for a function of its arguments, and the running thread, alone.
llvm::CallInst *callPure(llvm::IRBuilderBase &b, llvm::StringRef name,
                         llvm::Type *result,
                         llvm::ArrayRef<llvm::Value *> arguments);

/// Arithmetic and conversions.
llvm::Value *emulateMath(llvm::IRBuilderBase &b, llvm::CallInst &call,
                         llvm::StringRef name);
/// The same for inline PTX: one instruction, "rcp.approx.ftz.f32 $0,$1;", or
/// what libdevice has of it.
llvm::Value *emulateAssembly(llvm::IRBuilderBase &b, llvm::CallInst &call,
                             llvm::StringRef text);
/// Inline PTX about products of warpgroups, "wgmma…".
llvm::Value *emulateWarpgroup(llvm::IRBuilderBase &b, llvm::CallInst &call,
                              llvm::StringRef text);
/// Special registers, barriers, and what lanes of a warp tell each other.
llvm::Value *emulateThreads(llvm::IRBuilderBase &b, llvm::CallInst &call,
                            llvm::StringRef name, EmulatedSites &sites);
/// Asynchronous copies, fences and products of matrices.
llvm::Value *emulateMemory(llvm::IRBuilderBase &b, llvm::CallInst &call,
                           llvm::StringRef name, EmulatedSites &sites);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_EMULATE_EMULATEINTRINSICS_H
