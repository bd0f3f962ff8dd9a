//===- TraceAutograd.cpp - Gradients in functions that are traced ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceAutograd.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Gradients/Gradients.h"
#include "compiler/Pipelines/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tinh::eager {

Value TraceAutograd::zeros(Type type, const Call &call) {
  return trace.add(call, [&](GraphOps &ops) {
    auto shape = cast<RankedTensorType>(type).getShape();
    Value zero = ops.scalar(getElementTypeOrSelf(type), 0);
    return shape.empty() ? zero : ops.broadcast(zero, shape);
  });
}

Value TraceAutograd::result(Value value, const Call &call) {
  if (gradEnabled || !gradients::isDifferentiable(value.getType()))
    return value;
  return trace.add(call, [&](GraphOps &ops) {
    return ops.create<graph::StopGradientOp>({value});
  });
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

void TraceAutograd::requireNoLeaf(const TensorImpl &out, const Call &call) {
  if (gradEnabled && trace.memoryOf(out)->isLeaf)
    fail(call, trace.isWhole(out) ? "a leaf" : "a view of a leaf",
         " that requires gradients is changed in place while operations are "
         "recorded; change it where a tinh::NoGrad is alive, or a clone() of "
         "it");
}

std::vector<Ref<TracedMemory>> TraceAutograd::leafMemories() const {
  std::vector<Ref<TracedMemory>> memories;
  for (const Trace::Argument &argument : trace.arguments())
    if (argument.memory->isLeaf)
      memories.push_back(argument.memory);
  for (const Leaf &leaf : leaves)
    if (leaf.memory->isLeaf &&
        llvm::none_of(memories, [&](const Ref<TracedMemory> &known) {
          return known.get() == leaf.memory.get();
        }))
      memories.push_back(leaf.memory);
  return memories;
}

SmallVector<Value> TraceAutograd::valuesOf(const TracedMemory &leaf) const {
  llvm::SmallSetVector<Value, 4> values;
  for (const Trace::Argument &argument : trace.arguments())
    if (argument.memory.get() == &leaf)
      values.insert(argument.initial);
  for (Value value : leaf.leafValues)
    if (trace.isVisible(value))
      values.insert(value);
  if (leaf.value)
    values.insert(leaf.value);
  return values.takeVector();
}

TraceAutograd::Leaf &TraceAutograd::leafOf(const Ref<TracedMemory> &memory) {
  for (Leaf &leaf : leaves)
    if (leaf.memory.get() == memory.get())
      return leaf;
  Leaf &leaf = leaves.emplace_back();
  leaf.memory = memory;
  for (auto [i, argument] : llvm::enumerate(trace.arguments()))
    if (keepsGradients && argument.memory.get() == memory.get()) {
      leaf.gradient = trace.addGradientOf(i);
      return leaf;
    }
  ArrayRef<int64_t> shape = memory->type.getShape();
  Ref<TensorImpl> like = newTensor(dtypeOf(memory->type.getElementType()),
                                   Dims(std::span(shape.data(), shape.size())));
  Call call{"zero_grad", {}};
  leaf.gradient = trace.hold(*like, zeros(memory->type, call));
  leaf.isCleared = true;
  return leaf;
}

/// The leaf that x is; null if it is none.
TraceAutograd::Leaf *TraceAutograd::find(const Tensor &x, const Call &call) {
  const TensorImpl &tensor = use(x, call);
  const Ref<TracedMemory> &memory = trace.memoryOf(tensor);
  return memory->isLeaf && trace.isWhole(tensor) ? &leafOf(memory) : nullptr;
}

void TraceAutograd::requireGrad(const Tensor &x, bool required,
                                const Call &call) {
  const TensorImpl &tensor = use(x, call);
  const Ref<TracedMemory> &memory = trace.memoryOf(tensor);
  if (memory->isLeaf == required)
    return;
  if (required && !trace.isWhole(tensor))
    fail(call, "a view cannot be a leaf in a function that is traced; clone() "
               "it first");
  if (!memory->isLeaf && isGradRequired(x, call))
    fail(call, "the tensor was computed from others that require gradients, "
               "and so requires them too; detach() gives a constant with its "
               "elements, which can be a leaf");
  memory->isLeaf = required;
  if (required)
    leafOf(memory);
}

bool TraceAutograd::isGradRequired(const Tensor &x, const Call &call) {
  SmallVector<Value> pending = {trace.read(use(x, call))};
  llvm::DenseSet<Value> seen, wanted;
  for (const Ref<TracedMemory> &memory : leafMemories())
    wanted.insert_range(valuesOf(*memory));
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second ||
        !gradients::isDifferentiable(value.getType()))
      continue;
    if (wanted.contains(value))
      return true;
    mlir::Operation *op = value.getDefiningOp();
    if (op && !isa<graph::StopGradientOp>(op))
      llvm::append_range(pending, graph::readValues(op));
  }
  return false;
}

bool TraceAutograd::isLeaf(const Tensor &x, const Call &call) {
  return find(x, call) || !isGradRequired(x, call);
}

Tensor TraceAutograd::gradOf(const Tensor &x, const Call &call) {
  Leaf *leaf = find(x, call);
  if (!leaf || (leaf->isCleared && !trace.isNested()))
    return {};
  return TensorAccess::share(*leaf->gradient);
}

void TraceAutograd::clear(Leaf &leaf, const Call &call) {
  trace.write(*leaf.gradient, zeros(leaf.memory->type, call));
  leaf.isCleared = !trace.isNested();
}

bool TraceAutograd::isCleared(size_t index) const {
  const TracedMemory *memory = trace.arguments()[index].memory.get();
  return llvm::any_of(leaves, [&](const Leaf &leaf) {
    return leaf.isCleared && trace.memoryOf(*leaf.gradient).get() == memory;
  });
}

void TraceAutograd::setGrad(const Tensor &x, const Tensor &gradient,
                            const Call &call) {
  Leaf *leaf = find(x, call);
  if (!leaf && gradient.defined())
    fail(call, "the tensor is no leaf that requires gradients; see "
               "tinh::requires_grad_");
  if (!leaf)
    return;
  if (!gradient.defined())
    return clear(*leaf, call);
  trace.write(*leaf->gradient, trace.read(use(gradient, call)));
  leaf->isCleared = false;
}

Tensor TraceAutograd::detach(const Tensor &x, const Call &call) {
  const TensorImpl &tensor = use(x, call);
  Ref<TensorImpl> constant = newTensor(tensor.dtype, tensor.sizes);
  constant->strides = tensor.strides;
  constant->offset = tensor.offset;
  trace.addConstant(tensor, *constant);
  return TensorAccess::share(*constant);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

Value TraceAutograd::callHooks(Value value, Value gradient) {
  auto known = hooked.find(value);
  if (known == hooked.end())
    return gradient;
  // Hooks may register others.
  HookedValue called = known->second;
  for (const auto &hook : called.hooks) {
    Tensor result = hook(hold(*called.like, gradient));
    if (result.defined())
      gradient = trace.read(implOf(result));
  }
  return gradient;
}

SmallVector<Value> TraceAutograd::differentiate(ArrayRef<Value> outputs,
                                                ArrayRef<Value> seeds,
                                                ArrayRef<Value> inputs,
                                                const Call &call) {
  for (Value output : outputs)
    if (output.getParentBlock() != trace.raw().getInsertionBlock() &&
        output.getDefiningOp())
      fail(call, "the output was computed outside of the branch, or of the "
                 "body of a loop, in which its gradient is taken; take it "
                 "where the output is computed");
  std::string messages;
  ScopedDiagnosticHandler handler(trace.context(), [&](Diagnostic &diagnostic) {
    messages += "\n" + formatDiagnostic(diagnostic);
    return success();
  });
  auto gradients = gradients::buildGradients(
      trace.raw(), outputs, seeds, inputs,
      [&](Value value, Value gradient) { return callHooks(value, gradient); });
  if (failed(gradients))
    fail(call, "there is no gradient:", messages);
  return *gradients;
}

void TraceAutograd::accumulate(Leaf &leaf, Value gradient, const Call &call) {
  bool isFirst = leaf.isCleared && !trace.isNested();
  Value before = trace.read(*leaf.gradient);
  trace.write(*leaf.gradient,
              isFirst ? gradient : trace.add(call, [&](GraphOps &ops) {
                return ops.add(before, gradient);
              }));
  leaf.isCleared = false;
}

void TraceAutograd::backward(ArrayRef<Value> outputs, ArrayRef<Value> seeds,
                             const BackwardOptions &options, const Call &call) {
  hasFollowedLeaves = true;
  std::vector<Ref<TracedMemory>> memories = leafMemories();
  SmallVector<Value> inputs;
  SmallVector<size_t> owners; // Of the inputs.
  for (auto [i, memory] : llvm::enumerate(memories))
    for (Value value : valuesOf(*memory)) {
      inputs.push_back(value);
      owners.push_back(i);
    }
  SmallVector<Value> gradients = differentiate(outputs, seeds, inputs, call);
  if (llvm::none_of(gradients, [](Value value) { return !!value; }))
    fail(call, "output 0 does not require gradients: nothing that it was "
               "computed from does, or nothing was recorded then; see "
               "tinh::requires_grad_ and tinh::NoGrad");
  for (auto [owner, gradient] : llvm::zip_equal(owners, gradients)) {
    if (!gradient)
      continue;
    GradModeScope mode(options.create_graph);
    accumulate(leafOf(memories[owner]), result(gradient, call), call);
  }
}

std::vector<Tensor> TraceAutograd::run(std::span<const Tensor> outputs,
                                       std::span<const Tensor> outputGradients,
                                       std::span<const Tensor> inputs,
                                       const BackwardOptions &options,
                                       const Call &call) {
  auto read = [&](std::span<const Tensor> tensors) {
    SmallVector<Value> values;
    for (const Tensor &tensor : tensors)
      values.push_back(trace.read(use(tensor, call)));
    return values;
  };
  SmallVector<Value> from = read(outputs), seeds = read(outputGradients);
  if (inputs.empty()) {
    backward(from, seeds, options, call);
    return {};
  }
  SmallVector<Value> gradients = differentiate(from, seeds, read(inputs), call);
  GradModeScope mode(options.create_graph);
  std::vector<Tensor> tensors(inputs.size());
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (gradient)
      tensors[i] = hold(implOf(inputs[i]), result(gradient, call));
  return tensors;
}

void TraceAutograd::registerHook(const Tensor &x,
                                 std::function<Tensor(const Tensor &)> hook,
                                 const Call &call) {
  if (trace.isNested())
    fail(call, "a hook cannot be registered in a branch or the body of a loop "
               "that is traced; custom_gradient says there what a gradient is");
  const TensorImpl &tensor = use(x, call);
  HookedValue &value = hooked[trace.read(tensor)];
  value.like = newTensor(tensor.dtype, tensor.sizes);
  value.hooks.push_back(std::move(hook));
}

//===----------------------------------------------------------------------===//
// Custom gradients
//===----------------------------------------------------------------------===//

/// A block of the ops of `body` on tensors like `arguments`.
std::unique_ptr<Block> TraceAutograd::recordRegion(
    std::span<const Tensor> arguments, const Call &call,
    llvm::function_ref<std::vector<Tensor>(std::span<const Tensor>)> body,
    std::vector<Tensor> &results) {
  auto block = std::make_unique<Block>();
  Location loc = UnknownLoc::get(trace.context());
  auto changes = trace.record(*block, [&] {
    std::vector<Tensor> inside;
    for (const Tensor &argument : arguments) {
      const TensorImpl &like = implOf(argument);
      inside.push_back(hold(
          like, block->addArgument(tensorType(trace.context(), like), loc)));
    }
    results = body(inside);
    SmallVector<Value> yielded;
    for (const Tensor &result : results)
      yielded.push_back(trace.read(use(result, call)));
    graph::YieldOp::create(trace.raw(), loc, yielded);
  });
  if (!changes.empty())
    fail(call, "a function with a gradient of its own, or that gradient, "
               "changes a tensor in place that it did not make");
  return block;
}

std::vector<Tensor>
TraceAutograd::customGradient(const Forward &forward, const Gradient &gradient,
                              std::span<const Tensor> inputs,
                              const Call &call) {
  std::vector<Tensor> outputs, gradients;
  std::unique_ptr<Block> computation =
      recordRegion(inputs, call, forward, outputs);
  std::vector<Tensor> arguments(inputs.begin(), inputs.end());
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  auto backward = [&](std::span<const Tensor> given) {
    std::vector<Tensor> results =
        gradient(given.first(inputs.size()),
                 given.subspan(inputs.size(), outputs.size()),
                 given.last(outputs.size()));
    if (results.size() != inputs.size())
      fail(call, "its gradient function gave ", results.size(),
           " gradients for ", inputs.size(), " inputs");
    for (auto [result, input] : llvm::zip_equal(results, inputs)) {
      const TensorImpl &like = implOf(input);
      if (!result.defined())
        result = hold(like, zeros(tensorType(trace.context(), like), call));
      const TensorImpl &given = use(result, call);
      if (given.sizes != like.sizes || given.dtype != like.dtype)
        fail(call, "its gradient function gave a gradient of shape ",
             given.sizes, " and ", DType(given.dtype),
             " for an input of shape ", like.sizes, " and ", DType(like.dtype),
             "; they must be the same");
    }
    return results;
  };
  std::unique_ptr<Block> derivative =
      recordRegion(arguments, call, backward, gradients);
  SmallVector<Value> operands;
  for (const Tensor &input : inputs)
    operands.push_back(trace.read(use(input, call)));
  auto types = computation->getTerminator()->getOperandTypes();
  auto op = graph::CustomGradientOp::create(
      trace.raw(), UnknownLoc::get(trace.context()),
      SmallVector<Type>(types.begin(), types.end()), operands);
  op.getForward().getBlocks().clear();
  op.getForward().push_back(computation.release());
  op.getGradient().getBlocks().clear();
  op.getGradient().push_back(derivative.release());
  std::vector<Tensor> results;
  for (auto [output, value] : llvm::zip_equal(outputs, op.getOutputs()))
    results.push_back(hold(implOf(output), result(value, call)));
  return results;
}

} // namespace tinh::eager
