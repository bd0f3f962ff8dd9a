//===- CompileModel.cpp - The compiler as one call ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compileModel of the public header tinh/compiler.h, which keeps MLIR out of
// the programs that embed the compiler.
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"

#include "compiler/Codegen/CPU/Winograd/Transforms.h"
#include "compiler/Driver/CompileModel.h"
#include "compiler/Graph/ExternalData.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "compiler/Pipelines/MemoryBudget.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Training/Training.h"
#include "compiler/Tuning/Tune.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh {

namespace {

CompileOptions::Weights convert(WeightsPlacement placement) {
  switch (placement) {
  case WeightsPlacement::Automatic:
    return CompileOptions::Weights::Automatic;
  case WeightsPlacement::Embedded:
    return CompileOptions::Weights::Embedded;
  case WeightsPlacement::External:
    return CompileOptions::Weights::External;
  }
  return CompileOptions::Weights::Automatic;
}

training::TrainingOptions convert(const TrainingRequest &request) {
  training::TrainingOptions options;
  options.loss = request.loss;
  options.optimizer = request.optimizer;
  options.trainable = request.trainable;
  options.distill = request.distill;
  options.learnScales = request.learnScales;
  options.lossScale = request.lossScale;
  options.accumulate = request.accumulate;
  options.clipGradNorm = request.clipGradNorm;
  if (const auto &ranks = request.dataParallel)
    options.dataParallel = training::DataParallel{
        ranks->syncBatchNorm, ranks->communicationDtype, ranks->shardOptimizer};
  return options;
}

CompileOptions convert(const CompileRequest &request) {
  CompileOptions options;
  options.cpu = request.cpu;
  if (request.target != Target::Cpu)
    options.cuda = CudaOptions{request.cuda.chips,
                               request.cuda.allowTf32,
                               request.cuda.place,
                               request.cuda.toolkit,
                               request.target == Target::CudaOrCpu,
                               request.cuda.collectives};
  options.phases.modelDirectory =
      llvm::sys::path::parent_path(request.model).str();
  options.phases.fuse = request.fuse;
  options.phases.precision = {request.precision, request.keepF32};
  options.phases.winograd = request.winograd;
  options.phases.math = request.math;
  options.phases.plainVariables = request.plainVariables;
  options.phases.jobs = request.jobs;
  options.weights = convert(request.weights);
  options.loadableWeights = request.loadableWeights;
  options.progress = request.progress;
  options.reproducerDirectory = request.reproducerDirectory;
  return options;
}

CompileStatus compile(const CompileRequest &request,
                      llvm::function_ref<void(CompileOptions &)> arrange,
                      MLIRContext &context, CompileReport &report) {
  CompileJob job;
  job.model = request.model;
  job.output = request.output;
  job.importing.loadWeights = request.loadWeights;
  for (const auto &[name, shape] : request.shapes)
    job.importing.shapes[name].assign(shape.begin(), shape.end());
  for (const auto &[name, value] : request.inputValues)
    job.importing.inputValues[name] = value;
  for (const auto &[name, length] : request.lengths)
    job.importing.lengths[name] = length;
  for (const auto &[name, bytes] : request.stringLengths)
    job.importing.stringLengths[name] = bytes;
  CompileOptions options = convert(request);
  TrainingInfo info;
  if (const auto &training = request.training) {
    job.importing.training = &info;
    options.phases.training = training::trainingSteps(convert(*training), info);
  }
  if (!request.memoryBudget.empty())
    options.phases.memoryBudget = parseMemoryBudget(request.memoryBudget);
  options.limits.seconds = request.timeLimit;
  if (!request.memoryLimit.empty())
    options.limits.bytes = parseMemorySize(request.memoryLimit).value();
  std::optional<KernelCache> cache;
  if (!request.cacheDirectory.empty())
    options.cache = &cache.emplace(request.cacheDirectory);
  tuning::PlanSources plans{request.plans, std::nullopt};
  if (request.tuneSeconds > 0)
    plans.tune = tuning::TuneOptions{request.tuneSeconds};
  tuning::choosePlansFrom(plans, options, /*report=*/nullptr);
  arrange(options);
  return compileFile(job, options, context, report);
}

} // namespace

CompileResult compileModel(const CompileRequest &request) {
  return compileModel(
      request, [](CompileOptions &) {}, [](const CompileResult &) {});
}

CompileResult
compileModel(const CompileRequest &request,
             llvm::function_ref<void(CompileOptions &)> arrange,
             llvm::function_ref<void(const CompileResult &)> whenDone) {
  CompileResult result;
  if (request.model.empty() || request.output.empty()) {
    result.messages.push_back(
        "error: the request names no " +
        std::string(request.model.empty() ? "model" : "output"));
    return result;
  }
  if (!cpu::parseAllowedTransforms(request.winograd)) {
    result.messages.push_back(
        "error: 'winograd' takes off, accurate or fast, not '" +
        request.winograd + "'");
    return result;
  }
  if (request.math != "accurate" && request.math != "fast") {
    result.messages.push_back("error: 'math' takes accurate or fast, not '" +
                              request.math + "'");
    return result;
  }
  if (!request.memoryBudget.empty() &&
      !parseMemoryBudget(request.memoryBudget)) {
    result.messages.push_back("error: " +
                              malformedMemoryBudget(request.memoryBudget));
    return result;
  }
  if (!(request.timeLimit >= 0)) {
    result.messages.push_back("error: 'timeLimit' takes seconds, not " +
                              std::to_string(request.timeLimit));
    return result;
  }
  if (!request.memoryLimit.empty() && !parseMemorySize(request.memoryLimit)) {
    result.messages.push_back("error: " +
                              malformedMemorySize(request.memoryLimit));
    return result;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  for (const auto &[name, block] : request.memory)
    addMemory(context, name,
              ArrayRef(static_cast<const char *>(block.data), block.size));
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    result.messages.push_back(formatDiagnostic(diagnostic, request.model));
    return success();
  });
  result.status = compile(request, arrange, context, result.report);
  whenDone(result);
  return result;
}

} // namespace tinh
