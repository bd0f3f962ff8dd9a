//===- Registration.cpp - All dialects and passes of the compiler ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Registration.h"

#include "compiler/Codegen/CPU/LowerToLLVM.h"
#include "compiler/Codegen/CUDA/LowerToNVVM.h"
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Gradients/Gradients.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/cpu/Cpu.h"
#include "dialects/graph/Graph.h"
#include "dialects/origin/Origin.h"
#include "dialects/plan/Plan.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace tinh {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, plan::PlanDialect, cpu::CpuDialect,
                  origin::OriginDialect>();
  cpu::registerCodegenDialects(registry);
  cuda::registerCodegenDialects(registry);
  codegen::registerLowerToLinalgModels(registry);
  gradients::registerRules(registry);
}

void registerPasses() {
  codegen::registerTinhCodegenPasses();
  transforms::registerTinhTransformsPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerLoopInvariantCodeMotionPass();
}

} // namespace tinh
