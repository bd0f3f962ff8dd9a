//===- Compile.cpp - From a model to an artifact ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Compile.h"

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Pipelines/CompileKernels.h"
#include "compiler/Pipelines/InitRunner.h"
#include "compiler/Pipelines/PlanArtifact.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <chrono>

using namespace mlir;

namespace tinh {

namespace {

/// Times a stage into the report.
class Stopwatch {
public:
  Stopwatch(CompileReport &report, std::string stage)
      : report(report), stage(std::move(stage)),
        start(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    report.milliseconds.push_back({stage, time.count()});
  }

private:
  CompileReport &report;
  std::string stage;
  std::chrono::steady_clock::time_point start;
};

} // namespace

LogicalResult setTarget(ModuleOp module, const CompileOptions &options) {
  auto target = cpu::lookupTarget(options.cpu);
  if (!target)
    return emitError(UnknownLoc::get(module.getContext()),
                     llvm::toString(target.takeError()));
  module->setAttr(graph::names::kCpu,
                  StringAttr::get(module.getContext(), options.cpu));
  return success();
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

static FailureOr<cpu::Target> findTarget(ModuleOp module, StringRef name) {
  auto target = cpu::lookupTarget(name);
  if (target)
    return *target;
  return emitError(UnknownLoc::get(module.getContext()),
                   llvm::toString(target.takeError()));
}

static FailureOr<cpu::Target> targetOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(graph::names::kCpu);
  return findTarget(module, name ? name.getValue() : "native");
}

static artifact::Contents emptyContents(const cpu::Target &target,
                                        const CompileOptions &options) {
  artifact::Contents contents;
  contents.model = options.modelName;
  contents.cpu = target.name;
  contents.cpuFeatures = target.featureBits;
  return contents;
}

FailureOr<artifact::Contents> startContents(ModuleOp module,
                                            const CompileOptions &options) {
  auto target = targetOf(module);
  if (failed(target))
    return failure();
  artifact::Contents contents = emptyContents(*target, options);
  planWeights(module, contents);
  return contents;
}

LogicalResult writeContents(ModuleOp module, const artifact::Contents &contents,
                            StringRef output, const CompileOptions &options,
                            CompileReport &report) {
  auto target = targetOf(module), host = findTarget(module, "native");
  if (failed(target) || failed(host))
    return failure();
  FailureOr<std::vector<artifact::Object>> objects = failure();
  {
    Stopwatch watch(report, "compile kernels");
    objects = compileKernels(module, contents, *target, options, report);
    if (failed(objects))
      return failure();
  }
  // @init runs here and now, whatever the CPU of the artifact.
  auto init = module.lookupSymbol<func::FuncOp>(graph::names::kInit);
  artifact::Contents initContents = emptyContents(*host, options);
  std::vector<artifact::Object> initObjects;
  if (init) {
    Stopwatch watch(report, "compile weight preparation");
    if (failed(planFunction(init, initContents)))
      return failure();
    auto compiled =
        compileKernels(module, initContents, *host, options, report);
    if (failed(compiled))
      return failure();
    initObjects = std::move(*compiled);
  }
  Stopwatch watch(report, "write artifact");
  auto fill = [&](MutableArrayRef<char> memory) -> llvm::Error {
    if (!init)
      return llvm::Error::success();
    return runInit(init, initContents, initObjects, *host,
                   options.modelDirectory, contents.weights, memory);
  };
  artifact::WriteOptions writing;
  writing.externalWeights =
      options.weights == CompileOptions::Weights::External ||
      (options.weights == CompileOptions::Weights::Automatic &&
       contents.weightsSize >= (uint64_t(1) << 30));
  std::unique_ptr<llvm::TargetMachine> machine =
      cpu::makeTargetMachine(*target);
  if (llvm::Error error =
          artifact::write(contents, *objects, *machine, output, fill, writing))
    return emitError(UnknownLoc::get(module.getContext()),
                     llvm::toString(std::move(error)));
  return success();
}

LogicalResult writeArtifact(ModuleOp module, StringRef output,
                            const CompileOptions &options,
                            CompileReport &report) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (!main)
    return emitError(UnknownLoc::get(module.getContext()),
                     "the module has no function @main");
  auto contents = startContents(module, options);
  if (failed(contents))
    return failure();
  {
    Stopwatch watch(report, "plan memory");
    if (failed(planFunction(main, *contents)))
      return failure();
  }
  const artifact::Function &planned = contents->functions.back();
  report.dispatches = planned.steps.size();
  report.kernels = contents->kernels.size();
  report.arenaSize = planned.arenaSize;
  report.unplannedSize = planned.unplannedSize;
  report.lowerBoundSize = planned.lowerBoundSize;
  report.weightsSize = contents->weightsSize;
  return writeContents(module, *contents, output, options, report);
}

} // namespace tinh
