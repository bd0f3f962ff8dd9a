//===- Phases.cpp - The order of passes, phase by phase ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Phases.h"

#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Graph/ExternalData.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Kernels/CompileKernels.h"
#include "compiler/Pipelines/MemoryBudget.h"
#include "compiler/Pipelines/Stopwatch.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tinh {

static const llvm::StringLiteral kNames[] = {
    "graph",   "normalised", "differentiated", "optimised", "fused",
    "kernels", "plan",       "llvm",           "ptx",       "obj",
    "so"};

llvm::StringRef phaseName(Phase phase) {
  return kNames[static_cast<int>(phase)];
}

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(kNames))
    if (known == name)
      return static_cast<Phase>(i);
  return std::nullopt;
}

std::string phaseNames(Phase last) {
  ArrayRef<llvm::StringLiteral> names(kNames, static_cast<int>(last));
  return llvm::join(names, ", ") + " or " + phaseName(last).str();
}

/// Sizes of dimensions are resolved first: no other pass knows of padding.
/// Constants are folded twice: batch norms and composites need to see the
/// values of their parameters, and folding them leaves new arithmetic on
/// constants. Composites come first: moving factors through sums, as batch
/// norms need, would take apart the erf of a GELU. Those of a model that is
/// trained stay, as dropouts do: they are another thing in training.
static void buildNormalised(OpPassManager &pm, bool training) {
  pm.addPass(transforms::createResolveDimensionSizes());
  if (!training)
    pm.addPass(transforms::createForgetDropout());
  pm.addPass(transforms::createSimplifyGraph());
  pm.addPass(transforms::createFoldConstants());
  pm.addPass(transforms::createRecognizeComposites());
  if (!training)
    pm.addPass(transforms::createFoldBatchNorm());
  pm.addPass(transforms::createFoldConstants());
  pm.addPass(transforms::createSimplifyGraph());
}

/// Gradients come with arithmetic on constants and views of views. A model that
/// is only run has nothing of this left, unless its text in phase normalised is
/// that of one that is trained.
static void buildDifferentiated(OpPassManager &pm) {
  pm.addPass(transforms::createForgetDropout());
  pm.addPass(transforms::createFoldBatchNorm());
  pm.addPass(transforms::createFoldConstants());
  pm.addPass(transforms::createSimplifyGraph());
}

/// Variances are taken apart before CSE, which finds their means beside them.
/// CSE comes before the layout is chosen, so that equal convolutions stay
/// equal, and again after it, for the transposes that it made. Transposed
/// convolutions are taken apart in their final layout, where the transposes of
/// their phases need not sink anywhere, and before constants are folded for the
/// last time, as their weights are. What is the same in all iterations leaves a
/// loop in the end, when transposes of what it reads from above have been made.
static void buildOptimised(OpPassManager &pm) {
  pm.addPass(transforms::createForgetGradients());
  pm.addPass(transforms::createDecomposeVariance());
  pm.addPass(createCSEPass());
  pm.addPass(transforms::createPropagateQuantization());
  pm.addPass(transforms::createQuantizeProducts());
  pm.addPass(transforms::createFoldQuantizationScales());
  pm.addPass(transforms::createChannelsLast());
  pm.addPass(transforms::createDecomposeConvTranspose());
  pm.addPass(transforms::createFoldConstants());
  pm.addPass(transforms::createSimplifyGraph());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createCSEPass());
  pm.addPass(transforms::createRepeatCheapOps());
  pm.addPass(transforms::createKeepQuantizedWeights());
}

/// What reads the constants that lie in files beside the model.
static codegen::ReadConstant readConstants(const PhaseOptions &options) {
  auto files = std::make_shared<MappedFiles>(options.modelDirectory);
  return [files](graph::ExternalAttr constant) {
    auto bytes = llvm::expectedToOptional(files->read(constant));
    return bytes.value_or(ArrayRef<char>());
  };
}

/// Functions for machines without a GPU are split off before kernels get
/// devices, which is first: all that follows depends on them, and their ops
/// have names only until they are lowered. Weights are laid out before
/// strategies are chosen, which depend on that. It changes a kernel for its own
/// dispatch, as views do that it depends on: equal ones are merged after it.
/// Packing adds work on constants, so @init is split off then, too: after
/// merging, since equal work on the same constant makes one weight.
static void buildKernels(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(codegen::createAddCpuFunctions());
  pm.addPass(codegen::createPlaceKernels());
  pm.addPass(codegen::createLowerKernels());
  if (options.math == "fast")
    pm.addPass(codegen::createApproximateMath());
  if (options.fuse) // Without, each op has memory of its own.
    pm.addPass(codegen::createFormViews());
  codegen::LayOutWeightsOptions layouts;
  layouts.winograd = cpu::parseAllowedTransforms(options.winograd).value();
  layouts.plainVariables = !options.fuse || options.plainVariables;
  layouts.remarks = options.remarks;
  pm.addPass(codegen::createLayOutWeights(layouts));
  pm.addPass(codegen::createOrderByteGroups(readConstants(options)));
  codegen::ChooseStrategiesOptions choosing;
  choosing.remarks = options.remarks;
  pm.addPass(codegen::createChooseStrategies(choosing));
  pm.addPass(codegen::createMergeKernels());
  pm.addPass(codegen::createOutlineConstants());
}

/// The passes from the phase before to `phase`.
static void buildPhase(PassManager &pm, Phase phase,
                       const PhaseOptions &options) {
  transforms::FormKernelsOptions forming;
  forming.fuse = options.fuse;
  forming.remarks = options.remarks;
  switch (phase) {
  case Phase::Normalised:
    return buildNormalised(pm.nest<func::FuncOp>(),
                           options.training.has_value());
  case Phase::Differentiated:
    return buildDifferentiated(pm.nest<func::FuncOp>());
  case Phase::Optimised:
    return buildOptimised(pm.nest<func::FuncOp>());
  case Phase::Fused:
    pm.addNestedPass<func::FuncOp>(transforms::createFormKernels(forming));
    return pm.addNestedPass<func::FuncOp>(transforms::createRoundInKernels());
  case Phase::Kernels:
    return buildKernels(pm, options);
  case Phase::Plan:
    pm.addPass(codegen::createDivideKernels());
    pm.addPass(codegen::createScheduleCollectives(
        {.latency = options.network.latency * 1e6,
         .bandwidth = options.network.bandwidth * 1e-9}));
    return pm.addPass(codegen::createPlanMemory());
  default:
    return;
  }
}

/// Whether `module` is valid; says nothing if it is not.
static bool isValid(ModuleOp module) {
  ScopedDiagnosticHandler silent(module.getContext(),
                                 [](Diagnostic &) { return success(); });
  return succeeded(verify(module));
}

/// Whether no product takes numbers of `type` as they are on what `module` is
/// for, so that to store them costs conversions and gains nothing but memory.
static FailureOr<bool> convertsFactors(ModuleOp module, StringRef type) {
  if (module->hasAttr(graph::names::kCuda))
    return false;
  FailureOr<cpu::Target> target = cpu::targetOf(module);
  if (failed(target))
    return failure();
  return type == "f16" || !target->paysBf16Pairs();
}

/// The precision is set before the model is copied into the functions of
/// training, so that all of them compute alike, and gradients follow by the
/// rule of casts. The loss and the updates are added later, in f32. What is
/// kept for gradients has half the size on all machines.
static LogicalResult lowerAndDifferentiate(ModuleOp module,
                                           const PhaseOptions &options) {
  const auto &training = options.training;
  FailureOr<transforms::Precision> precision = options.precision;
  if (training)
    precision = training->precision(module, options.precision);
  FailureOr<bool> weightsAlone =
      training ? FailureOr<bool>(false)
               : convertsFactors(module, options.precision.type);
  if (failed(precision) || failed(weightsAlone))
    return failure();
  precision->weightsAlone = *weightsAlone;
  if (failed(transforms::lowerPrecision(module, *precision,
                                        readConstants(options))))
    return failure();
  return training ? training->differentiate(module, *precision) : success();
}

/// What comes before the passes to `phase`.
static LogicalResult beginPhase(ModuleOp module, Phase phase,
                                const PhaseOptions &options) {
  const auto &training = options.training;
  if (training && phase == Phase::Normalised)
    return training->declareVariables(module);
  if (phase != Phase::Differentiated)
    return success();
  if (options.quantize && failed(options.quantize(module)))
    return failure();
  return lowerAndDifferentiate(module, options);
}

static LogicalResult runPhase(ModuleOp module, Phase phase,
                              const PhaseOptions &options,
                              CompileReport &report) {
  auto fail = [&](const Twine &what) {
    return emitError(UnknownLoc::get(module.getContext()))
           << kInternalError << what << " '" << phaseName(phase) << "'";
  };
  if (failed(beginPhase(module, phase, options)))
    return failure();
  PassManager pm(module.getContext());
  buildPhase(pm, phase, options);
  bool done =
      succeeded(pm.run(module)) &&
      (phase != Phase::LLVM ||
       succeeded(lowerToLLVM(module, options.jobs, options.interruption)));
  if (isRequested(options.interruption)) // Passes may have been left out.
    return failure();
  if (!done)
    // A pass may refuse its input, but not make what is invalid.
    return isValid(module) ? failure() : fail("invalid IR was made for phase");
  // Last of all, since CSE would undo it.
  if (phase == Phase::Optimised && options.memoryBudget &&
      failed(fitMemoryBudget(module, options, report)))
    return failure();
  if (phase == Phase::Kernels && options.choosePlans &&
      failed(options.choosePlans(module)))
    return failure();
  if ((phase == Phase::LLVM && failed(verify(module))) ||
      failed(verifyPhase(module, phase)))
    return fail("this was made for phase");
  return success();
}

LogicalResult runPhases(ModuleOp module, Phase from, Phase to,
                        const PhaseOptions &options, CompileReport &report) {
  for (int i = static_cast<int>(from) + 1; i <= static_cast<int>(to); ++i) {
    auto phase = static_cast<Phase>(i);
    Stopwatch watch(report, ("phase " + phaseName(phase)).str());
    Interruption::Work at(options.interruption,
                          ("phase '" + phaseName(phase) + "'").str());
    if (options.before)
      options.before(module, static_cast<Phase>(i - 1));
    if (isRequested(options.interruption) ||
        failed(runPhase(module, phase, options, report)))
      return failure();
  }
  return success();
}

} // namespace tinh
