//===- EagerAutograd.cpp - Gradients by the tape --------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/Autograd.h"
#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/Record.h"
#include "compiler/Eager/Autograd/Walk.h"
#include "compiler/Eager/Tensor/Support.h"

#include "llvm/ADT/STLExtras.h"

namespace tinh::eager {

namespace {

class EagerAutograd final : public Autograd {
public:
  void requireGrad(const Tensor &x, bool required, const Call &call) override;
  bool isGradRequired(const Tensor &x, const Call &call) override {
    return !!edgeOf(use(x, call));
  }
  bool isLeaf(const Tensor &x, const Call &call) override {
    Edge edge = edgeOf(use(x, call));
    return !edge || edge.node->isLeaf();
  }

  Tensor gradOf(const Tensor &x, const Call &call) override {
    LeafNode *leaf = leafOf(use(x, call));
    return leaf ? leaf->gradient() : Tensor();
  }
  void setGrad(const Tensor &x, const Tensor &gradient,
               const Call &call) override;
  Tensor detach(const Tensor &x, const Call &call) override;

  std::vector<Tensor> run(std::span<const Tensor> outputs,
                          std::span<const Tensor> outputGradients,
                          std::span<const Tensor> inputs,
                          const BackwardOptions &options,
                          const Call &call) override;
  void registerHook(const Tensor &x, Hook hook, const Call &call) override;
  std::vector<Tensor> customGradient(const Forward &forward,
                                     const Gradient &gradient,
                                     std::span<const Tensor> inputs,
                                     const Call &call) override;
};

void EagerAutograd::requireGrad(const Tensor &x, bool required,
                                const Call &call) {
  TensorImpl &tensor = use(x, call);
  Edge edge = edgeOf(tensor);
  if (edge && !leafOf(tensor))
    fail(call, "the tensor was computed by ", edge.node->call.name,
         " from others that require gradients, and so requires them too; "
         "detach() gives a constant with its elements, which can be a leaf");
  if (!required)
    tensor.tape = {};
  else if (!edge)
    makeLeaf(tensor, call);
}

void EagerAutograd::setGrad(const Tensor &x, const Tensor &gradient,
                            const Call &call) {
  LeafNode *leaf = leafOf(use(x, call));
  if (!leaf && gradient.defined())
    fail(call, "the tensor is no leaf that requires gradients; see "
               "tinh::requires_grad_");
  if (leaf)
    leaf->setGradient(gradient);
}

Tensor EagerAutograd::detach(const Tensor &x, const Call &call) {
  const TensorImpl &tensor = use(x, call);
  Ref<TensorImpl> constant = geometryOf(tensor);
  constant->storage = tensor.storage;
  return TensorAccess::share(*constant);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

static std::vector<Edge> edgesOf(std::span<const Tensor> tensors,
                                 const char *role, const Call &call) {
  std::vector<Edge> edges;
  for (const Tensor &tensor : tensors) {
    edges.push_back(edgeOf(use(tensor, call)));
    if (!edges.back())
      fail(call, role, " ", edges.size() - 1,
           " does not require gradients: nothing that it was computed from "
           "does, or nothing was recorded then; see tinh::requires_grad_ and "
           "tinh::NoGrad");
  }
  return edges;
}

std::vector<Tensor> EagerAutograd::run(std::span<const Tensor> outputs,
                                       std::span<const Tensor> outputGradients,
                                       std::span<const Tensor> inputs,
                                       const BackwardOptions &options,
                                       const Call &call) {
  std::vector<Edge> from = edgesOf(outputs, "output", call);
  std::vector<Edge> to = edgesOf(inputs, "input", call);
  Walk walk(options, call);
  if (!to.empty())
    walk.restrictTo(from, to);
  for (auto [edge, gradient] : llvm::zip_equal(from, outputGradients))
    walk.send(edge, gradient);
  return walk.run();
}

void EagerAutograd::registerHook(const Tensor &x, Hook hook, const Call &call) {
  Edge edge = edgesOf({&x, 1}, "tensor", call)[0];
  if (!edge.node->hooks)
    edge.node->hooks =
        std::make_unique<std::vector<std::pair<uint32_t, Hook>>>();
  edge.node->hooks->emplace_back(edge.output, std::move(hook));
}

//===----------------------------------------------------------------------===//
// Functions with gradients of their own
//===----------------------------------------------------------------------===//

std::vector<Tensor>
EagerAutograd::customGradient(const Forward &forward, const Gradient &gradient,
                              std::span<const Tensor> inputs,
                              const Call &call) {
  std::vector<Tensor> outputs;
  {
    GradModeScope constant(false);
    outputs = forward(inputs);
  }
  for (Tensor &output : outputs) {
    // An input that is handed through is an output of its own.
    bool isInput = llvm::any_of(inputs, [&](const Tensor &input) {
      return input.shares_memory_with(output);
    });
    if (isInput)
      output = output.clone(call.at);
    if (isRecorded(use(output, call)))
      output = detach(output, call);
  }
  std::vector<Tensor> saved(inputs.begin(), inputs.end());
  saved.insert(saved.end(), outputs.begin(), outputs.end());
  recordFunction(call, inputs, outputs, saved,
                 [gradient, numInputs = inputs.size()](
                     std::span<const Tensor> saved,
                     std::span<const Tensor> outputGradients) {
                   return gradient(saved.first(numInputs),
                                   saved.subspan(numInputs), outputGradients);
                 });
  return outputs;
}

} // namespace

Autograd &Backend::autograd() { return eagerAutograd(); }

Autograd &eagerAutograd() {
  static auto *autograd = new EagerAutograd;
  return *autograd;
}

} // namespace tinh::eager
