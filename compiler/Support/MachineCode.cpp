//===- MachineCode.cpp - From LLVM IR to code -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/MachineCode.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tinh {

void optimise(Module &module, TargetMachine &machine, OptimizationLevel level,
              const PipelineTuningOptions &tuning) {
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

Expected<SmallVector<char, 0>> emitCode(Module &module, TargetMachine &machine,
                                        CodeGenFileType type) {
  SmallVector<char, 0> code;
  raw_svector_ostream stream(code);
  legacy::PassManager emitter;
  if (machine.addPassesToEmitFile(emitter, stream, nullptr, type))
    return createStringError("this LLVM cannot emit such code for " +
                             machine.getTargetTriple().str());
  emitter.run(module);
  return code;
}

} // namespace tinh
