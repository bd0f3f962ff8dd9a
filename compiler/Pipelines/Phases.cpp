//===- Phases.cpp - The order of passes, phase by phase ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Phases.h"

#include "compiler/Codegen/Passes.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tinh {

static const llvm::StringLiteral kNames[] = {
    "graph", "normalised", "optimised", "fused", "kernels"};

llvm::StringRef phaseName(Phase phase) {
  return kNames[static_cast<int>(phase)];
}

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(kNames))
    if (known == name)
      return static_cast<Phase>(i);
  return std::nullopt;
}

/// Constants are folded twice: batch norms and composites need to see the
/// values of their parameters, and folding them leaves new arithmetic on
/// constants. Composites come first: moving factors through sums, as batch
/// norms need, would take apart the erf of a GELU.
static void buildNormalised(OpPassManager &pm) {
  pm.addPass(transforms::createSimplifyGraph());
  pm.addPass(transforms::createFoldConstants());
  pm.addPass(transforms::createRecognizeComposites());
  pm.addPass(transforms::createFoldBatchNorm());
  pm.addPass(transforms::createFoldConstants());
  pm.addPass(transforms::createSimplifyGraph());
}

/// CSE comes before the layout is chosen, so that equal convolutions stay
/// equal, and again after it, for the transposes that it made.
static void buildOptimised(OpPassManager &pm) {
  pm.addPass(createCSEPass());
  pm.addPass(transforms::createChannelsLast());
  pm.addPass(transforms::createFoldConstants());
  pm.addPass(transforms::createSimplifyGraph());
  pm.addPass(createCSEPass());
}

LogicalResult runPhases(ModuleOp module, Phase from, Phase to,
                        const PhaseOptions &options) {
  PassManager pm(module.getContext());
  auto enters = [&](Phase phase) { return from < phase && phase <= to; };
  OpPassManager &functions = pm.nest<func::FuncOp>();
  if (enters(Phase::Normalised))
    buildNormalised(functions);
  if (enters(Phase::Optimised))
    buildOptimised(functions);
  if (enters(Phase::Fused)) {
    transforms::FormKernelsOptions forming;
    forming.fuse = options.fuse;
    forming.remarks = options.remarks;
    functions.addPass(transforms::createFormKernels(forming));
  }
  if (enters(Phase::Kernels)) {
    // Strategies change a kernel for its own dispatch: equal ones are merged
    // after it. Packing adds work on constants, so @init is split off then,
    // too.
    pm.addPass(codegen::createLowerKernels());
    pm.addPass(codegen::createChooseStrategies());
    pm.addPass(codegen::createOutlineConstants());
    pm.addPass(codegen::createMergeKernels());
  }
  return pm.run(module);
}

} // namespace tinh
