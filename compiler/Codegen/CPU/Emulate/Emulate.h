//===- Emulate.h - Instructions that a CPU lacks ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code for a newer CPU, on any that kernels run on: for tests on machines
// without its instructions, and for what is computed when an artifact is
// written elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_EMULATE_EMULATE_H
#define TINH_CODEGEN_CPU_EMULATE_EMULATE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace tinh::cpu {

/// Replaces the intrinsics of `module` that a CPU with `features` (TINH_CPU_*)
/// has no instructions for, such as products of VNNI, AVX512-BF16 and AMX, by
/// code that computes the same bits. Says whether there were any; fails on
/// those that it does not know.
llvm::Expected<bool> emulate(llvm::Module &module, uint64_t features);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_EMULATE_EMULATE_H
