//===- IrFunction.h - LLVM IR that tests run --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CODEGEN_CPU_IRFUNCTION_H
#define TINH_TESTS_CODEGEN_CPU_IRFUNCTION_H

#include "compiler/Codegen/CPU/Target.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"

#include <gtest/gtest.h>

namespace tinh::tests {

enum class Way { Emulated, Native };

/// Emulated, and natively if this machine has all `features`, TINH_CPU_*.
std::vector<Way> waysFor(uint64_t features);

/// The function @f of a module of LLVM IR.
class IrFunction {
public:
  IrFunction(const std::string &ir, Way way);

  template <typename... Arguments> void operator()(Arguments... arguments) {
    ASSERT_TRUE(address) << problem;
    reinterpret_cast<void (*)(Arguments...)>(address)(arguments...);
  }
  std::string problem; // Why emulation failed.

private:
  void load(llvm::Module &module, const cpu::Target &target);

  llvm::LLVMContext context;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void *address = nullptr;
};

} // namespace tinh::tests

#endif // TINH_TESTS_CODEGEN_CPU_IRFUNCTION_H
