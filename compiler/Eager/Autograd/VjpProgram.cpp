//===- VjpProgram.cpp - The gradient of a primitive, made once ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/VjpProgram.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Function/GraphContext.h"
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Model/ModelOps.h"
#include "compiler/Gradients/Gradients.h"
#include "compiler/Transforms/Passes.h"
#include "tinh/runtime.hpp"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>
#include <string_view>
#include <unordered_map>

using namespace mlir;

namespace tinh::eager {

struct VjpProgram::Actions {
  Actions(Block &block, bool fuses)
      : ops(files, fuses), sequence(ops.sequence(block)) {
    ops.dropUnusedConstants();
  }

  MappedFiles files{""};
  ModelOps ops;
  Sequence sequence;
};

//===----------------------------------------------------------------------===//
// All programs
//===----------------------------------------------------------------------===//

namespace {

struct Programs {
  std::mutex mutex;
  GraphContext context;
  std::unordered_map<std::string_view, const VjpProgram *> known;
  std::deque<std::string> keys; // What the views in `known` show.

  Programs() { context.get()->disableMultithreading(); }
  static Programs &get() {
    static auto *programs = new Programs;
    return *programs;
  }
};

} // namespace

const VjpProgram &VjpProgram::get(ArrayRef<uint64_t> signature,
                                  const Primitive &primitive,
                                  ArrayRef<bool> wanted) {
  Programs &programs = Programs::get();
  std::string_view key(reinterpret_cast<const char *>(signature.data()),
                       signature.size() * sizeof(uint64_t));
  std::lock_guard lock(programs.mutex);
  if (auto known = programs.known.find(key); known != programs.known.end())
    return *known->second;
  auto *program = new VjpProgram(primitive, wanted);
  programs.keys.emplace_back(key);
  programs.known.emplace(programs.keys.back(), program);
  return *program;
}

//===----------------------------------------------------------------------===//
// How one is made
//===----------------------------------------------------------------------===//

namespace {

/// The graph of a primitive and its gradient. Its arguments are the inputs, the
/// outputs and the gradients of these; its results the gradients of the inputs
/// that have one.
class VjpGraph {
public:
  VjpGraph(GraphContext &context, const Primitive &primitive,
           ArrayRef<bool> wanted)
      : context(context), primitive(primitive), wanted(wanted),
        trace(context.get()) {}

  OwningOpRef<ModuleOp> build();
  /// By wanted input.
  SmallVector<bool> isGiven;

private:
  Value addArgument(tinh_dtype_t dtype, const Dims &sizes,
                    Ref<TensorImpl> *tensor = nullptr);
  void addPrimitive();
  SmallVector<Value> differentiate();
  void simplify(ModuleOp module);

  GraphContext &context;
  const Primitive &primitive;
  ArrayRef<bool> wanted;
  Trace trace;
  SmallVector<Value> inputs, outputs;
};

Value VjpGraph::addArgument(tinh_dtype_t dtype, const Dims &sizes,
                            Ref<TensorImpl> *tensor) {
  Ref<TensorImpl> argument = trace.addInput(*newTensor(dtype, sizes));
  if (tensor)
    *tensor = argument;
  return trace.read(*argument);
}

void VjpGraph::addPrimitive() {
  SmallVector<Ref<TensorImpl>> tensors;
  SmallVector<Input> operands;
  for (const Input &input : primitive.inputs) {
    // A number may be another one in the next call.
    Ref<TensorImpl> tensor;
    inputs.push_back(
        input.tensor
            ? addArgument(input.tensor->dtype, input.tensor->sizes, &tensor)
            : addArgument(input.scalar.dtype, {}, &tensor));
    operands.push_back({tensor.get(), {}});
    tensors.push_back(std::move(tensor));
  }
  TraceBackend backend(trace);
  BackendScope scope(backend);
  SmallVector<TensorImpl *> results;
  for (TensorImpl *output : primitive.outputs) {
    tensors.push_back(newTensor(output->dtype, output->sizes));
    trace.allocate(*tensors.back());
    results.push_back(tensors.back().get());
  }
  backend.perform({primitive.attributes, operands, results, primitive.call});
  for (TensorImpl *result : results)
    outputs.push_back(trace.read(*result));
}

SmallVector<Value> VjpGraph::differentiate() {
  SmallVector<Value> known, seeds, variables;
  for (TensorImpl *output : primitive.outputs)
    known.push_back(addArgument(output->dtype, output->sizes));
  for (TensorImpl *output : primitive.outputs)
    seeds.push_back(addArgument(output->dtype, output->sizes));
  for (auto [input, isWanted] : llvm::zip_equal(inputs, wanted))
    if (isWanted)
      variables.push_back(input);
  auto gradients =
      gradients::buildGradients(trace.raw(), outputs, seeds, variables);
  if (failed(gradients))
    context.fail("it cannot be differentiated:");
  // What was computed is there when the gradient is taken.
  for (auto [output, value] : llvm::zip_equal(outputs, known)) {
    if (!output.getDefiningOp())
      continue;
    llvm::replace(*gradients, output, value);
    output.replaceAllUsesWith(value);
  }
  return *gradients;
}

void VjpGraph::simplify(ModuleOp module) {
  PassManager passes(context.get());
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(transforms::createSimplifyGraph());
  functions.addPass(createCSEPass());
  if (failed(passes.run(module)))
    context.fail("its gradient cannot be simplified:");
}

OwningOpRef<ModuleOp> VjpGraph::build() {
  addPrimitive();
  SmallVector<Ref<TensorImpl>> tensors;
  SmallVector<const TensorImpl *> results;
  size_t next = 0;
  SmallVector<Value> gradients = differentiate();
  for (auto [input, isWanted] : llvm::zip_equal(primitive.inputs, wanted)) {
    if (!isWanted)
      continue;
    Value gradient = gradients[next++];
    isGiven.push_back(!!gradient);
    if (!gradient)
      continue;
    tensors.push_back(trace.hold(*input.tensor, gradient));
    results.push_back(tensors.back().get());
  }
  OwningOpRef<ModuleOp> module =
      trace.finish(std::span(results.data(), results.size()));
  simplify(*module);
  return module;
}

} // namespace

void VjpProgram::build(const Primitive &primitive, ArrayRef<bool> wanted) {
  OwningOpRef<ModuleOp> module;
  {
    VjpGraph graph(Programs::get().context, primitive, wanted);
    module = graph.build();
    size_t next = 0;
    for (bool isGiven : graph.isGiven)
      results.push_back({isGiven, isGiven ? next++ : 0});
  }
  Block &block =
      module->lookupSymbol<func::FuncOp>(graph::names::kMain).front();
  size_t numInputs = neededInputs.size(), numOutputs = neededOutputs.size();
  for (size_t i = 0; i < numInputs; ++i)
    neededInputs[i] = !block.getArgument(i).use_empty();
  for (size_t i = 0; i < numOutputs; ++i)
    neededOutputs[i] = !block.getArgument(numInputs + i).use_empty();
  BackendScope scope(eagerBackend());
  DeviceScope onCpu(Device::cpu());
  fused = std::make_unique<Actions>(block, /*fuses=*/true);
  recorded = std::make_unique<Actions>(block, /*fuses=*/false);
}

VjpProgram::VjpProgram(const Primitive &primitive, ArrayRef<bool> wanted)
    : neededInputs(primitive.inputs.size()),
      neededOutputs(primitive.outputs.size()) {
  for (TensorImpl *output : primitive.outputs)
    outputTypes.emplace_back(output->dtype, output->sizes);
  try {
    build(primitive, wanted);
  } catch (const Error &error) {
    failure = error.what();
    std::fill(neededInputs.begin(), neededInputs.end(), false);
    std::fill(neededOutputs.begin(), neededOutputs.end(), false);
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void VjpProgram::requireGradient(const Call &call) const {
  if (!failure.empty())
    failWith(call, failure);
}

/// The device that has one of the tensors on which a gradient is computed.
static Device deviceOfAny(std::initializer_list<ArrayRef<Tensor>> lists) {
  for (ArrayRef<Tensor> tensors : lists)
    for (const Tensor &tensor : tensors)
      if (tensor.defined() && tensor.device().is_cuda())
        return tensor.device();
  return Device::cpu();
}

SmallVector<Tensor, 2>
VjpProgram::run(MutableArrayRef<Tensor> inputs, MutableArrayRef<Tensor> outputs,
                MutableArrayRef<Tensor> gradients) const {
  // Where numbers are checked, each operation is to be named by itself; chains
  // of operations in one kernel are the CPU's.
  bool isChecked = Engine::get().checkNumerics() != TINH_CHECK_NOTHING;
  Device device = deviceOfAny({inputs, outputs, gradients});
  const Actions &actions =
      gradEnabled || isChecked || device.is_cuda() ? *recorded : *fused;
  DeviceScope scope(device);
  Frame frame = actions.ops.constants();
  if (device.is_cuda())
    for (Tensor &constant : frame)
      if (constant.defined() && constant.dim() > 0)
        constant = constant.to(device);
  const std::vector<size_t> &arguments = actions.sequence.arguments;
  size_t next = 0;
  for (Tensor &input : inputs)
    frame[arguments[next++]] = std::move(input);
  for (Tensor &output : outputs)
    frame[arguments[next++]] = std::move(output);
  for (auto [gradient, type] : llvm::zip_equal(gradients, outputTypes)) {
    if (!gradient.defined())
      gradient = zeros(toArray(type.second), DType(type.first));
    frame[arguments[next++]] = std::move(gradient);
  }
  actions.sequence.run(frame);
  SmallVector<Tensor, 2> given;
  for (const Result &result : results)
    given.push_back(result.isGiven
                        ? frame[actions.sequence.results[result.index]]
                        : Tensor());
  return given;
}

} // namespace tinh::eager
