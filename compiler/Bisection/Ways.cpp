//===- Ways.cpp - Runs of a function ----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Bisection/Ways.h"

#include "compiler/Eager/Model/EagerModel.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Support/Files.h"
#include "compiler/Transforms/KeptOps.h"
#include "tinh/device.h"
#include "tinh/engine.h"
#include "tinh/runtime.hpp"

using namespace mlir;

namespace tinh::bisection {

namespace {

/// A result of a function: of the artifact's outputs, or of its variables.
struct ResultInfo {
  RankedTensorType type;
  std::string variable; ///< Empty: it is an output.
};

SmallVector<ResultInfo> resultsOf(func::FuncOp function) {
  SmallVector<ResultInfo> infos;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto variable =
        function.getResultAttrOfType<StringAttr>(i, graph::names::kVariable);
    infos.push_back({cast<RankedTensorType>(type),
                     variable ? variable.str() : std::string()});
  }
  return infos;
}

/// Inputs of a function that are no variables, in their order.
std::vector<Stored> inputsOf(func::FuncOp function, const Data &data) {
  std::vector<Stored> inputs;
  for (auto [i, argument] : llvm::enumerate(argumentsOf(function, data)))
    if (!function.getArgAttr(i, graph::names::kVariable))
      inputs.push_back(std::move(argument));
  return inputs;
}

std::vector<tinh_buffer_t> buffersOf(std::vector<Stored> &memory) {
  std::vector<tinh_buffer_t> buffers;
  for (Stored &stored : memory)
    buffers.push_back(buffer(stored.bytes));
  return buffers;
}

Stored memoryFor(RankedTensorType type) {
  return {type, std::vector<char>(graph::tensorSize(type))};
}

/// An error of the runtime, or of the eager mode.
LogicalResult report(ModuleOp module, const Error &error) {
  bool isOurs = error.status() == TINH_INTERNAL;
  return emitError(UnknownLoc::get(module.getContext()))
         << (isOurs ? kInternalError.str() : "") << error.what();
}

//===----------------------------------------------------------------------===//
// Compiled
//===----------------------------------------------------------------------===//

/// A function of an artifact that is run once.
class CompiledRun {
public:
  CompiledRun(const std::string &artifact, StringRef name,
              const RunOptions &options)
      : module(artifact), context(module, contextOptions(options)),
        function(module.find_function(name.str())) {}

  Run run(std::vector<Stored> inputs, ArrayRef<ResultInfo> results) {
    std::vector<Stored> outputs;
    for (const ResultInfo &result : results)
      if (result.variable.empty())
        outputs.push_back(memoryFor(result.type));
    context.run(buffersOf(inputs), buffersOf(outputs), function);
    Run done;
    auto output = outputs.begin();
    for (const ResultInfo &result : results)
      done.results.push_back(result.variable.empty() ? (output++)->tensor()
                                                     : read(result));
    done.kernels = kernels();
    return done;
  }

private:
  static ContextOptions contextOptions(const RunOptions &options) {
    ContextOptions made;
    made.threads = options.threads;
    made.measure_steps = true; // Which also tells what they are.
    return made;
  }

  reference::Tensor read(const ResultInfo &result) {
    Stored value = memoryFor(result.type);
    context.read_variable(module.find_variable(result.variable),
                          buffer(value.bytes));
    return value.tensor();
  }

  std::vector<Kernel> kernels() {
    std::vector<Kernel> kernels;
    uint32_t count = context.function_profile(function).num_steps;
    for (uint32_t i = 0; i < count; ++i) {
      tinh_step_profile_t step = context.step_profile(i, function);
      if (step.kind != TINH_STEP_KERNEL)
        continue;
      Kernel &kernel = kernels.emplace_back();
      kernel.name = step.kernel;
      SmallVector<StringRef> nodes;
      StringRef(step.nodes).split(nodes, '\n', -1, /*KeepEmpty=*/false);
      for (StringRef node : nodes)
        kernel.nodes.push_back(node.str());
    }
    return kernels;
  }

  Module module;
  Context context;
  uint32_t function;
};

LogicalResult compile(ModuleOp module, Phase from, CompileOptions options,
                      StringRef path) {
  CompileReport report;
  options.weights = CompileOptions::Weights::Embedded;
  if (failed(runPhases(module, from, Phase::Plan, options.phases, report)))
    return failure();
  if (options.phases.before)
    options.phases.before(module, Phase::Plan);
  return writeArtifact(module, path, options, report);
}

} // namespace

CompileOptions optionsOfPart(ModuleOp part, const CompileOptions &options) {
  CompileOptions changed = options;
  changed.phases.precision.isOfPart = true;
  llvm::erase_if(changed.phases.precision.keepF32,
                 [&](const std::string &pattern) {
                   transforms::KeptOps kept;
                   if (failed(kept.parse(part, pattern)))
                     return false;
                   WalkResult found = part.walk([&](Operation *op) {
                     return kept.contains(op) ? WalkResult::interrupt()
                                              : WalkResult::advance();
                   });
                   return !found.wasInterrupted();
                 });
  return changed;
}

FailureOr<Run> runCompiled(ModuleOp module, Phase phase, StringRef name,
                           const Data &data, const RunOptions &options) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  std::vector<Stored> inputs = inputsOf(function, data);
  SmallVector<ResultInfo> results = resultsOf(function);
  ScratchFile file("tinh-bisect");
  if (failed(compile(module, phase, options.compile, file.name)))
    return failure();
  try {
    return CompiledRun(file.name, name, options)
        .run(std::move(inputs), results);
  } catch (const Error &error) {
    return report(module, error);
  }
}

//===----------------------------------------------------------------------===//
// Op by op
//===----------------------------------------------------------------------===//

FailureOr<Run> runEager(ModuleOp module, Phase phase, const Data &data,
                        const RunOptions &options) {
  CompileReport unused;
  if (phase < Phase::Differentiated &&
      failed(runPhases(module, phase, Phase::Differentiated,
                       options.compile.phases, unused)))
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  std::vector<Stored> inputs = inputsOf(main, data), outputs;
  for (const ResultInfo &result : resultsOf(main))
    outputs.push_back(memoryFor(result.type));
  try {
    configure({.workers = options.threads});
    DeviceScope scope(options.compile.cuda ? Device::cuda() : Device::cpu());
    eager::EagerModel(module, options.compile.phases.modelDirectory)
        .run(buffersOf(inputs), buffersOf(outputs));
  } catch (const Error &error) {
    return report(module, error);
  }
  Run done;
  for (const Stored &output : outputs)
    done.results.push_back(output.tensor());
  return done;
}

} // namespace tinh::bisection
