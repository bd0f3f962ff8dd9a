//===- DifferentiableGraph.cpp - Compiled graphs on the tape --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/DifferentiableGraph.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/Record.h"
#include "compiler/Eager/Autograd/Tape.h"
#include "compiler/Eager/Cuda/GpuRun.h"
#include "compiler/Eager/Function/SplitGraph.h"
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Support.h"
#include "compiler/Support/ElementTypes.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tinh::eager {

/// What runs for arguments of which some are recorded.
struct DifferentiableGraph::Program {
  std::shared_ptr<CompiledGraph> forward; // Null on a GPU.
  std::shared_ptr<GpuGraph> onGpu;
  std::vector<Type> types; // Of the results and the residuals.
  /// Null if there is nothing to record.
  std::shared_ptr<DifferentiableGraph> backward, whole;
  std::vector<size_t> neededArguments, neededResults;
  std::vector<size_t> given; // The arguments that have a gradient.
};

DifferentiableGraph::DifferentiableGraph(std::shared_ptr<GraphContext> context,
                                         OwningOpRef<ModuleOp> module,
                                         Options options)
    : context(std::move(context)), module(std::move(module)),
      options(std::move(options)) {}

DifferentiableGraph::~DifferentiableGraph() = default;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// None, if the graph changes such an argument: it has done itself what there
/// is to do about its gradient.
std::vector<bool>
DifferentiableGraph::recorded(std::span<const Tensor> arguments) const {
  std::vector<bool> recorded;
  for (const Tensor &argument : arguments)
    recorded.push_back(!options.isConstant &&
                       isRecorded(*TensorAccess::get(argument)));
  for (size_t i : options.changed)
    if (recorded[i])
      return std::vector<bool>(recorded.size());
  return recorded;
}

std::shared_ptr<DifferentiableGraph>
DifferentiableGraph::another(OwningOpRef<ModuleOp> module, size_t numResults) {
  return std::make_shared<DifferentiableGraph>(
      context, std::move(module),
      Options{options.name, options.threads, numResults, {}});
}

/// Numbers, and what random numbers are drawn from, go along with a run on a
/// GPU.
static bool isPassedByValue(const TensorImpl &x) {
  return x.storage->place() == 0 &&
         (x.rank() == 0 || x.storage->size() <= sizeof(uint64_t[2]));
}

DifferentiableGraph::Key
DifferentiableGraph::keyOf(std::span<const Tensor> arguments) const {
  uint8_t place = 0;
  for (const Tensor &argument : arguments)
    place = std::max(place, TensorAccess::get(argument)->storage->place());
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    const TensorImpl &x = *TensorAccess::get(argument);
    bool isChanged = llvm::is_contained(options.changed, i);
    if (x.storage->place() != place && (isChanged || !isPassedByValue(x)))
      throw Error(TINH_INVALID_ARGUMENT,
                  "function '" + options.name +
                      "' is given, or captures, a tensor of shape " +
                      to_string(toArray(x.sizes)) + " on " +
                      to_string(deviceOf(x)) + ", and another one on " +
                      to_string(deviceAt(place)) +
                      "; move one of them with to()");
  }
  return {recorded(arguments), place};
}

/// Compiles what a program runs, for where it runs.
void DifferentiableGraph::compile(Program &program,
                                  OwningOpRef<ModuleOp> forward,
                                  uint8_t place) {
  if (place == 0) {
    program.forward = CompiledGraph::create(*forward, *context, options.name,
                                            program.types.size(),
                                            options.changed, options.threads);
    return;
  }
  program.onGpu = std::make_shared<GpuGraph>(Gpu::atPlace(place), context,
                                             std::move(forward), options.name);
  program.onGpu->compile();
}

std::unique_ptr<DifferentiableGraph::Program>
DifferentiableGraph::derive(const Key &key) {
  const std::vector<bool> &recorded = key.recorded;
  auto program = std::make_unique<Program>();
  OwningOpRef<ModuleOp> forward;
  if (llvm::is_contained(recorded, true)) {
    auto graph =
        splitGraph(*module, options.numResults, recorded, options.changed);
    if (!graph)
      context->fail("function '" + options.name +
                    "' is called with tensors that require gradients, and "
                    "cannot be differentiated:");
    program->given = std::move(graph->given);
    program->neededArguments = std::move(graph->neededArguments);
    program->neededResults = std::move(graph->neededResults);
    if (graph->forward) {
      size_t numGradients = program->given.size();
      program->backward = another(std::move(graph->backward), numGradients);
      program->whole = another(std::move(graph->whole), numGradients);
      forward = std::move(graph->forward);
    }
  }
  if (!forward)
    forward = OwningOpRef<ModuleOp>(module->clone());
  auto main = forward->lookupSymbol<func::FuncOp>(graph::names::kMain);
  size_t numResults = main.getNumResults() - options.changed.size();
  for (mlir::Type type : main.getResultTypes().take_front(numResults)) {
    auto tensor = cast<RankedTensorType>(type);
    ArrayRef<int64_t> shape = tensor.getShape();
    program->types.push_back({dtypeOf(tensor.getElementType()),
                              Dims(std::span(shape.data(), shape.size()))});
  }
  compile(*program, std::move(forward), key.place);
  return program;
}

DifferentiableGraph::Program &
DifferentiableGraph::programFor(std::span<const Tensor> arguments) {
  // Graphs that belong together share a context.
  static std::mutex derivations;
  Key key = keyOf(arguments);
  {
    std::lock_guard lock(mutex);
    if (auto known = programs.find(key); known != programs.end())
      return *known->second;
  }
  std::lock_guard only(derivations);
  std::lock_guard lock(mutex);
  std::unique_ptr<Program> &program = programs[key];
  if (!program)
    program = derive(key);
  return *program;
}

void DifferentiableGraph::prepare(std::span<const Tensor> arguments) {
  programFor(arguments);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void DifferentiableGraph::checkAliases(
    std::span<const TensorImpl *const> arguments) const {
  for (size_t changed : options.changed)
    for (size_t other = 0; other < arguments.size(); ++other)
      if (other != changed &&
          arguments[other]->storage.get() == arguments[changed]->storage.get())
        throw Error(TINH_INVALID_ARGUMENT,
                    "function '" + options.name +
                        "' changes one of its tensors, and is given another "
                        "one that shares its memory; clone() one of them");
}

/// Gives the GPU a run; what the graph changes are further results.
static void launchOnGpu(std::shared_ptr<GpuGraph> graph,
                        ArrayRef<const TensorImpl *> inputs,
                        ArrayRef<const TensorImpl *> outputs,
                        ArrayRef<size_t> changed, const Call &call) {
  SmallVector<GpuOperand> arguments, results;
  for (const TensorImpl *input : inputs)
    arguments.emplace_back(*input);
  for (const TensorImpl *output : outputs) {
    output->storage->choosePlace(graph->gpu().place(), &graph->gpu().pool());
    results.emplace_back(*output);
  }
  for (size_t i : changed)
    results.emplace_back(*inputs[i]);
  queueOnGpu(std::move(graph), arguments, results, call);
}

std::vector<Tensor> DifferentiableGraph::run(const Program &program,
                                             std::span<const Tensor> arguments,
                                             const Call &call) {
  GradModeScope constant(false);
  std::vector<Tensor> contiguous, results;
  std::vector<const TensorImpl *> inputs, outputs;
  for (const Tensor &argument : arguments)
    contiguous.push_back(argument.contiguous(call.at));
  for (const Tensor &tensor : contiguous)
    inputs.push_back(TensorAccess::get(tensor));
  checkAliases(inputs);
  for (const Type &type : program.types)
    results.push_back(makeTensor(DType(type.dtype), type.sizes));
  for (const Tensor &tensor : results)
    outputs.push_back(TensorAccess::get(tensor));
  if (program.onGpu)
    launchOnGpu(program.onGpu, inputs, outputs, options.changed, call);
  else
    program.forward->launch(inputs, outputs, call);
  for (size_t i : options.changed) {
    noteChange(*inputs[i], call);
    if (!contiguous[i].is_same(arguments[i]))
      Tensor(arguments[i]).copy_(contiguous[i]);
  }
  return results;
}

void DifferentiableGraph::record(const Program &program,
                                 std::span<const Tensor> arguments,
                                 std::span<const Tensor> results, Whole all,
                                 const Call &call) {
  std::span<const Tensor> outputs = results.first(options.numResults);
  std::vector<Tensor> saved;
  for (size_t i : program.neededArguments)
    saved.push_back(arguments[i]);
  for (size_t i : program.neededResults)
    saved.push_back(outputs[i]);
  for (const Tensor &residual : results.subspan(options.numResults))
    saved.push_back(residual);
  std::vector<Type> types(program.types.begin(),
                          program.types.begin() + options.numResults);
  recordFunction(call, arguments, outputs, saved,
                 [self = shared_from_this(), &program, all = std::move(all),
                  types, call](std::span<const Tensor> saved,
                               std::span<const Tensor> outputGradients) {
                   std::vector<Tensor> given;
                   DeviceScope scope(program.onGpu
                                         ? program.onGpu->gpu().device()
                                         : Device::cpu());
                   if (gradEnabled)
                     for (const auto &[argument, from] : all)
                       given.push_back(argument.get(from, call));
                   else
                     given.assign(saved.begin(), saved.end());
                   for (size_t i = 0; i < types.size(); ++i)
                     if (outputGradients[i].defined())
                       given.push_back(outputGradients[i]);
                     else if (DType(types[i].dtype).is_floating_point())
                       given.push_back(zeros(toArray(types[i].sizes),
                                             DType(types[i].dtype), call.at));
                   auto &graph = gradEnabled ? program.whole : program.backward;
                   std::vector<Tensor> found = graph->call(given, call);
                   std::vector<Tensor> gradients(all.size());
                   for (size_t i = 0; i < found.size(); ++i)
                     gradients[program.given[i]] = found[i];
                   return gradients;
                 });
}

/// What a graph changes itself may be a leaf, as a training step changes
/// parameters; that it changed what something else computed would be lost.
static void requireUnrecorded(const TensorImpl &changed,
                              const std::string &function, const Call &call) {
  if (isRecorded(changed) && !leafOf(changed))
    fail(call, "'", function, "' changes in place a tensor of shape ",
         changed.sizes,
         " that was computed from others that require gradients; give it a "
         "clone(), or detach() it");
}

std::vector<Tensor> DifferentiableGraph::call(std::span<const Tensor> arguments,
                                              const Call &call) {
  for (size_t i : options.changed)
    requireUnrecorded(*TensorAccess::get(arguments[i]), options.name, call);
  Program &program = programFor(arguments);
  if (!program.backward)
    return run(program, arguments, call);
  // Those that the call changes are of no use afterwards, which is noticed.
  Whole all;
  for (const Tensor &argument : arguments) {
    const TensorImpl &tensor = *TensorAccess::get(argument);
    all.emplace_back(Saved(tensor), edgeOf(tensor));
  }
  std::vector<Tensor> results = run(program, arguments, call);
  record(program, arguments, results, std::move(all), call);
  results.resize(options.numResults);
  return results;
}

} // namespace tinh::eager
