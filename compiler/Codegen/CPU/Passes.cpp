//===- Passes.cpp - The CPU strategies as passes ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"

#include "compiler/Codegen/CPU/Strategy.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::cpu {

FailureOr<Target> targetOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(graph::names::kCpu);
  auto target = lookupTarget(name ? name.getValue() : "native");
  if (target)
    return *target;
  return module.emitError(llvm::toString(target.takeError()));
}

} // namespace tinh::cpu

namespace tinh::codegen {
#define GEN_PASS_DEF_CHOOSESTRATEGIES
#define GEN_PASS_DEF_EMITKERNELS
#define GEN_PASS_DEF_LAYOUTVARIABLES
#include "compiler/Codegen/Passes.h.inc"

namespace {

struct LayOutVariables : impl::LayOutVariablesBase<LayOutVariables> {
  void runOnOperation() override {
    auto target = cpu::targetOf(getOperation());
    if (failed(target))
      return signalPassFailure();
    numLaidOut += cpu::layOutVariables(getOperation(), *target);
  }
};

struct ChooseStrategies : impl::ChooseStrategiesBase<ChooseStrategies> {
  void runOnOperation() override {
    auto target = cpu::targetOf(getOperation());
    if (failed(target) ||
        failed(cpu::chooseStrategies(getOperation(), *target)))
      signalPassFailure();
  }
};

struct EmitKernels : impl::EmitKernelsBase<EmitKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = cpu::targetOf(module);
    if (failed(target))
      return signalPassFailure();
    OwningOpRef<ModuleOp> emitted = ModuleOp::create(module.getLoc());
    for (auto kernel : module.getOps<func::FuncOp>())
      if (kernel->hasAttr(graph::names::kStrategy) &&
          failed(cpu::emitKernel(kernel, *emitted, *target)))
        return signalPassFailure();
    module.getBodyRegion().takeBody(emitted->getBodyRegion());
  }
};

} // namespace
} // namespace tinh::codegen
