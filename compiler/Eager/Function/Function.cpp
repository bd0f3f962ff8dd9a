//===- Function.cpp - Functions that are traced and compiled ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/Autograd.h"
#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/Record.h"
#include "compiler/Eager/Autograd/Tape.h"
#include "compiler/Eager/Function/FunctionImpl.h"
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Tensor/Autocast.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <chrono>
#include <cstdio>

using namespace mlir;

namespace tinh {

using eager::Dims;
using eager::implOf;
using eager::TensorAccess;
using eager::TensorImpl;

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

namespace eager {

std::unique_ptr<TracedGraph> traceFunction(const Function::Body &body,
                                           std::span<const Tensor> inputs,
                                           const Call &call) {
  auto graph = std::make_unique<TracedGraph>();
  Trace trace(graph->context.get());
  TraceAutograd autograd(trace, /*keepsGradients=*/true);
  TraceBackend backend(trace, &autograd);
  GradModeScope mode(true); // The graph is one for all modes.
  // The first call is to draw what tracing only seemed to, if that succeeds.
  llvm::scope_exit rewind([&] {
    for (const Trace::Argument &argument : trace.arguments())
      if (argument.generator.state)
        argument.generator.state->counter = argument.firstCounter;
  });
  std::vector<Tensor> traced;
  for (const Tensor &input : inputs) {
    const TensorImpl &given = use(input, call);
    Ref<TensorImpl> argument = trace.addInput(given);
    trace.memoryOf(*argument)->isLeaf = leafOf(given) != nullptr;
    traced.push_back(TensorAccess::share(*argument));
  }
  std::vector<Tensor> results;
  std::vector<const TensorImpl *> outputs;
  {
    BackendScope scope(backend);
    results = body(traced);
    for (const Tensor &result : results) {
      const TensorImpl &output = metadataOf(result, call);
      graph->results.emplace_back(output.dtype, output.sizes);
      outputs.push_back(&output);
    }
    graph->module = trace.finish(outputs);
  }
  graph->followsLeaves = autograd.followsLeaves();
  for (auto [i, argument] : llvm::enumerate(trace.arguments())) {
    graph->captured.push_back(argument.captured);
    graph->capturedLeaves.push_back(argument.captured &&
                                    leafOf(*argument.captured));
    graph->gradientOf.push_back(argument.gradientOf);
    if (argument.gradientOf && autograd.isCleared(i))
      graph->cleared.push_back(*argument.gradientOf);
    graph->generators.push_back(argument.generator);
    if (argument.isChanged())
      graph->changed.push_back(i);
  }
  return graph;
}

} // namespace eager

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

static std::string shapeText(const Dims &sizes) {
  return to_string(IntArray(std::span<const int64_t>(sizes)));
}

bool Function::Impl::Specialisation::fits(std::span<const Tensor> given,
                                          const std::string &key) const {
  if (key != this->key || autocast != eager::autocastDType ||
      given.size() != inputs.size())
    return false;
  for (auto [tensor, input] : llvm::zip_equal(given, inputs)) {
    const TensorImpl &impl = implOf(tensor);
    if (impl.dtype != input.first || !(impl.sizes == input.second))
      return false;
  }
  return !graph->followsLeaves || hasSameLeaves(given);
}

bool Function::Impl::Specialisation::hasSameLeaves(
    std::span<const Tensor> given) const {
  for (auto [tensor, isLeaf] : llvm::zip_equal(given, leaves))
    if (isLeaf != !!eager::leafOf(implOf(tensor)))
      return false;
  for (auto [tensor, isLeaf] :
       llvm::zip_equal(graph->captured, graph->capturedLeaves))
    if (tensor && isLeaf != !!eager::leafOf(*tensor))
      return false;
  return true;
}

std::string
Function::Impl::Specialisation::difference(std::span<const Tensor> given,
                                           const std::string &key) const {
  if (given.size() != inputs.size())
    return std::to_string(given.size()) + " tensors instead of " +
           std::to_string(inputs.size());
  for (auto [i, tensor, input] : llvm::enumerate(given, inputs)) {
    const TensorImpl &impl = implOf(tensor);
    std::string argument = "argument " + std::to_string(i);
    if (impl.dtype != input.first)
      return argument + ": dtype " + tinh_dtype_name(impl.dtype) +
             " instead of " + tinh_dtype_name(input.first);
    if (!(impl.sizes == input.second))
      return argument + ": shape " + shapeText(impl.sizes) + " instead of " +
             shapeText(input.second);
  }
  for (auto [i, tensor, isLeaf] : llvm::enumerate(given, leaves))
    if (graph->followsLeaves && isLeaf != !!eager::leafOf(implOf(tensor)))
      return "argument " + std::to_string(i) +
             (isLeaf ? ": a constant instead of a leaf"
                     : ": a leaf instead of a constant");
  if (autocast != eager::autocastDType)
    return std::string("autocast to ") + tinh_dtype_name(eager::autocastDType) +
           " instead of " + tinh_dtype_name(autocast);
  if (key == this->key)
    return "other captured tensors are leaves";
  return "numbers (" + key + ") instead of (" + this->key + ")";
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Milliseconds that `action` takes are added to `sum`.
template <typename Action> static auto timed(double &sum, Action action) {
  auto start = std::chrono::steady_clock::now();
  auto result = action();
  sum += std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
             .count();
  return result;
}

void Function::Impl::noteRetrace(std::span<const Tensor> inputs,
                                 const std::string &key) {
  if (specialisations.empty())
    return;
  counts.retraces.push_back(specialisations.back().difference(inputs, key));
  if (counts.traces + 1 == options.retrace_warning)
    std::fprintf(stderr,
                 "warning: function '%s' (%s:%u) has been traced and compiled "
                 "%zu times, last for %s; give it arguments of few shapes, and "
                 "numbers that change as tensors\n",
                 options.name.c_str(), at.file_name(),
                 static_cast<unsigned>(at.line()), counts.traces + 1,
                 counts.retraces.back().c_str());
}

Function::Impl::Specialisation &
Function::Impl::find(const Body &body, std::span<const Tensor> inputs,
                     const std::string &key) {
  const eager::Call call = {"function", at};
  for (const Tensor &input : inputs)
    eager::use(input, call);
  for (Specialisation &known : specialisations)
    if (known.fits(inputs, key))
      return known;
  noteRetrace(inputs, key);
  Specialisation made;
  made.key = key;
  made.autocast = eager::autocastDType;
  for (const Tensor &input : inputs) {
    const TensorImpl &impl = implOf(input);
    made.inputs.emplace_back(impl.dtype, impl.sizes);
    made.leaves.push_back(eager::leafOf(impl) != nullptr);
  }
  made.graph = timed(counts.trace_ms,
                     [&] { return eager::traceFunction(body, inputs, call); });
  ++counts.traces;
  uint32_t threads =
      options.threads ? options.threads : engine_options().workers;
  eager::DifferentiableGraph::Options compiling{
      options.name, threads, made.graph->results.size(), made.graph->changed,
      made.graph->followsLeaves};
  made.compiled = std::make_shared<eager::DifferentiableGraph>(
      std::shared_ptr<eager::GraphContext>(made.graph, &made.graph->context),
      std::move(made.graph->module), std::move(compiling));
  return specialisations.emplace_back(std::move(made));
}

/// The gradient that is added up in a leaf, to be changed by a call.
static Tensor gradientOf(const Tensor &leaf, const eager::Call &call) {
  eager::Autograd &autograd = eager::eagerAutograd();
  Tensor gradient = autograd.gradOf(leaf, call);
  if (gradient.defined())
    return gradient;
  autograd.requireGrad(leaf, true, call); // As the function did with its own.
  gradient = zeros_like(leaf, {}, call.at);
  autograd.setGrad(leaf, gradient, call);
  return gradient;
}

/// backward() in a function ends at what that is given.
void Function::Impl::requireLeaves(const eager::TracedGraph &graph,
                                   std::span<const Tensor> inputs) const {
  auto require = [&](const TensorImpl &tensor) {
    if (eager::isRecorded(tensor) && !eager::leafOf(tensor))
      eager::fail({"function", at}, "'", options.name,
                  "' calls backward, and is given, or captures, a tensor of "
                  "shape ",
                  tensor.sizes,
                  " that was computed from others that require gradients; "
                  "compute it in the function, or detach() it");
  };
  for (const Tensor &input : inputs)
    require(implOf(input));
  for (const auto &captured : graph.captured)
    if (captured)
      require(*captured);
}

std::vector<Tensor>
Function::Impl::argumentsOf(const eager::TracedGraph &graph,
                            std::span<const Tensor> inputs) {
  std::vector<Tensor> given;
  size_t next = 0;
  for (auto [captured, leaf, generator] :
       llvm::zip_equal(graph.captured, graph.gradientOf, graph.generators)) {
    if (captured)
      given.push_back(TensorAccess::share(*captured));
    else if (leaf)
      given.push_back(gradientOf(given[*leaf], {"function", at}));
    else if (generator.state)
      given.push_back(advance(generator, at));
    else
      given.push_back(inputs[next++]);
  }
  return given;
}

std::vector<Tensor> Function::Impl::call(const Body &body,
                                         std::span<const Tensor> inputs,
                                         const std::string &key) {
  // Within another function that is being traced, it is a part of that.
  if (eager::TraceBackend::current())
    return body(inputs);
  Specialisation *specialisation;
  std::vector<Tensor> arguments;
  {
    std::lock_guard lock(mutex);
    specialisation = &find(body, inputs, key);
    ++counts.calls;
    if (specialisation->graph->followsLeaves)
      requireLeaves(*specialisation->graph, inputs);
    arguments = argumentsOf(*specialisation->graph, inputs);
    timed(counts.compile_ms, [&] {
      specialisation->compiled->prepare(arguments);
      return true;
    });
  }
  eager::Call call{"function", at};
  std::vector<Tensor> results = specialisation->compiled->call(arguments, call);
  for (size_t leaf : specialisation->graph->cleared)
    eager::eagerAutograd().setGrad(arguments[leaf], {}, call);
  return results;
}

FunctionStatistics Function::Impl::statistics() {
  std::lock_guard lock(mutex);
  return counts;
}

//===----------------------------------------------------------------------===//
// The public class
//===----------------------------------------------------------------------===//

Function::Function(FunctionOptions options, std::source_location at)
    : impl(std::make_shared<Impl>(std::move(options), at)) {}

std::vector<Tensor> Function::call(const Body &body,
                                   std::span<const Tensor> inputs,
                                   const std::string &key) const {
  return impl->call(body, inputs, key);
}

/// Names the first arguments of a graph, which are its inputs.
static void nameInputs(eager::TracedGraph &graph,
                       std::span<const std::string> names) {
  auto main =
      graph.module->lookupSymbol<mlir::func::FuncOp>(graph::names::kMain);
  for (auto [i, name] : llvm::enumerate(names))
    main.setArgAttr(i, graph::names::kName,
                    mlir::StringAttr::get(main.getContext(), name));
}

void Function::save(const std::string &path, const Body &body,
                    std::span<const Tensor> inputs, const std::string &,
                    std::span<const std::string> names) const {
  auto traced = eager::traceFunction(body, inputs, {"save", impl->at});
  nameInputs(*traced, names.first(std::min(names.size(), inputs.size())));
  eager::saveGraph(*traced, impl->options, path);
}

std::string Function::graph(const Body &body, std::span<const Tensor> inputs,
                            const std::string &,
                            std::span<const std::string> names) const {
  auto traced = eager::traceFunction(body, inputs, {"graph", impl->at});
  nameInputs(*traced, names.first(std::min(names.size(), inputs.size())));
  std::string text;
  llvm::raw_string_ostream stream(text);
  traced->module->print(stream);
  return text;
}

FunctionStatistics Function::statistics() const { return impl->statistics(); }

bool is_tracing() { return eager::Backend::current().isTracing(); }

} // namespace tinh
