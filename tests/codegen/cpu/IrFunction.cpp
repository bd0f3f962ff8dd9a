//===- IrFunction.cpp - LLVM IR that tests run ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "IrFunction.h"

#include "compiler/Codegen/CPU/Emulate/Emulate.h"
#include "compiler/Support/MachineCode.h"
#include "tinh/artifact.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace tinh::tests {

std::vector<Way> waysFor(uint64_t features) {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  uint64_t found = cantFail(cpu::lookupTarget("native")).featureBits;
  if ((found & features) != features)
    return {Way::Emulated};
  if (features & TINH_CPU_AMX_TILE &&
      syscall(SYS_arch_prctl, kRequestPermission, kTileData))
    return {Way::Emulated};
  return {Way::Emulated, Way::Native};
}

IrFunction::IrFunction(const std::string &ir, Way way) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (!module) {
    ADD_FAILURE() << diagnostic.getLineNo() << ": "
                  << diagnostic.getMessage().str();
    return;
  }
  const char *cpu = way == Way::Emulated ? "x86-64-v3" : "native";
  cpu::Target target = cantFail(cpu::lookupTarget(cpu));
  auto hasChanged = cpu::emulate(*module, target.featureBits);
  if (hasChanged)
    load(*module, target);
  else
    problem = llvm::toString(hasChanged.takeError());
}

void IrFunction::load(llvm::Module &module, const cpu::Target &target) {
  auto machine = cpu::makeTargetMachine(target);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  optimise(module, *machine, llvm::OptimizationLevel::O2);
  auto code =
      cantFail(emitCode(module, *machine, llvm::CodeGenFileType::ObjectFile));
  jit = cantFail(llvm::orc::LLJITBuilder().create());
  cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(code.data(), code.size()))));
  address = cantFail(jit->lookup("f")).toPtr<void *>();
}

} // namespace tinh::tests
