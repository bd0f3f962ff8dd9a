//===- PublicFunctions.cpp - What tinh/autograd.h declares ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks what it is given, and hands it to the backend's.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/Autograd.h"
#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Support.h"

using namespace tinh;
using namespace tinh::eager;

static Autograd &active() { return Backend::current().autograd(); }

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

NoGrad::NoGrad() : before(std::exchange(gradEnabled, false)) {}
NoGrad::~NoGrad() { gradEnabled = before; }
EnableGrad::EnableGrad() : before(std::exchange(gradEnabled, true)) {}
EnableGrad::~EnableGrad() { gradEnabled = before; }
bool tinh::is_grad_enabled() { return gradEnabled; }

//===----------------------------------------------------------------------===//
// Tensors that require gradients
//===----------------------------------------------------------------------===//

Tensor tinh::requires_grad_(const Tensor &x, bool required, At at) {
  Call call{"requires_grad_", at};
  const TensorImpl &tensor = use(x, call);
  if (required && !DType(tensor.dtype).is_floating_point())
    fail(call, "a tensor of ", DType(tensor.dtype),
         " has no gradient; only those of floating-point dtypes do");
  for (uint32_t d = 0; d < tensor.rank(); ++d)
    if (required && tensor.strides[d] == 0 && tensor.sizes[d] > 1)
      fail(call, "a tensor that shows an element more than once, as an "
                 "expanded one, cannot be a leaf; clone() it first");
  active().requireGrad(x, required, call);
  return x;
}

bool tinh::requires_grad(const Tensor &x, At at) {
  Call call{"requires_grad", at};
  use(x, call);
  return active().isGradRequired(x, call);
}

bool tinh::is_leaf(const Tensor &x, At at) {
  Call call{"is_leaf", at};
  use(x, call);
  return active().isLeaf(x, call);
}

Tensor tinh::grad_of(const Tensor &x, At at) {
  Call call{"grad_of", at};
  use(x, call);
  return active().gradOf(x, call);
}

/// Throws unless `gradient` can be that of x.
static void requireFit(const Tensor &gradient, const Tensor &x,
                       const Call &call) {
  const TensorImpl &given = use(gradient, call);
  const TensorImpl &tensor = use(x, call);
  if (given.sizes != tensor.sizes || given.dtype != tensor.dtype)
    fail(call, "the gradient has shape ", given.sizes, " and ",
         DType(given.dtype), ", the tensor ", tensor.sizes, " and ",
         DType(tensor.dtype), "; they must be the same");
}

void tinh::set_grad(const Tensor &x, const Tensor &gradient, At at) {
  Call call{"set_grad", at};
  use(x, call);
  if (gradient.defined())
    requireFit(gradient, x, call);
  active().setGrad(x, gradient, call);
}

void tinh::zero_grad(std::span<const Tensor> leaves, At at) {
  for (const Tensor &leaf : leaves)
    zero_grad(leaf, at);
}

void tinh::zero_grad(const Tensor &leaf, At at) {
  Call call{"zero_grad", at};
  use(leaf, call);
  active().setGrad(leaf, {}, call);
}

Tensor tinh::detach(const Tensor &x, At at) {
  Call call{"detach", at};
  use(x, call);
  return active().detach(x, call);
}

Tensor tinh::stop_gradient(Operand x) {
  Call call{"stop_gradient", x.at};
  return active().detach(toTensor(x, call), call);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// What the chain begins with, for each output.
static std::vector<Tensor> seeds(std::span<const Tensor> outputs,
                                 std::span<const Tensor> gradients,
                                 const Call &call) {
  if (!gradients.empty() && gradients.size() != outputs.size())
    fail(call, gradients.size(), " gradients are given for ", outputs.size(),
         " outputs");
  std::vector<Tensor> result(gradients.begin(), gradients.end());
  result.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorImpl &output = use(outputs[i], call);
    if (!DType(output.dtype).is_floating_point())
      fail(call, "an output of ", DType(output.dtype), " has no gradient");
    if (result[i].defined()) {
      requireFit(result[i], outputs[i], call);
      continue;
    }
    if (output.numElements() != 1)
      fail(call, "the output has shape ", output.sizes,
           "; give the gradient to begin with, or take that of one number, as "
           "sum() and mean() give it");
    LikeScope scope(output);
    result[i] = filled(output.sizes, toScalar(Number(1), output.dtype), call);
  }
  return result;
}

void tinh::backward(const Tensor &output, const Tensor &gradient,
                    BackwardOptions options, At at) {
  Call call{"backward", at};
  std::vector<Tensor> gradients = seeds({&output, 1}, {&gradient, 1}, call);
  active().run({&output, 1}, gradients, {}, options, call);
}

std::vector<Tensor> tinh::grad(std::span<const Tensor> outputs,
                               std::span<const Tensor> inputs,
                               std::span<const Tensor> output_gradients,
                               GradOptions options, At at) {
  Call call{"grad", at};
  if (outputs.empty() || inputs.empty())
    fail(call, "there are no ", outputs.empty() ? "outputs" : "inputs");
  for (const Tensor &input : inputs)
    use(input, call);
  std::vector<Tensor> gradients = active().run(
      outputs, seeds(outputs, output_gradients, call), inputs, options, call);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (gradients[i].defined())
      continue;
    if (!options.allow_unused)
      fail(call, "no output depends on input ", i, ", of shape ",
           use(inputs[i], call).sizes,
           "; leave it out, or pass {.allow_unused = true} for zeros");
    gradients[i] = zeros_like(inputs[i], {}, at);
  }
  return gradients;
}

std::vector<Tensor> tinh::grad(const Tensor &output,
                               std::initializer_list<Tensor> inputs,
                               GradOptions options, At at) {
  return grad({&output, 1}, std::span(inputs.begin(), inputs.size()), {},
              options, at);
}

Tensor tinh::grad(const Tensor &output, const Tensor &input,
                  GradOptions options, At at) {
  return grad({&output, 1}, {&input, 1}, {}, options, at)[0];
}

void tinh::register_hook(const Tensor &x,
                         std::function<Tensor(const Tensor &)> hook, At at) {
  Call call{"register_hook", at};
  use(x, call);
  active().registerHook(x, std::move(hook), call);
}

std::vector<Tensor> tinh::custom_gradient(
    const std::function<std::vector<Tensor>(std::span<const Tensor>)> &forward,
    const std::function<std::vector<Tensor>(std::span<const Tensor>,
                                            std::span<const Tensor>,
                                            std::span<const Tensor>)> &gradient,
    std::span<const Tensor> inputs, At at) {
  Call call{"custom_gradient", at};
  for (const Tensor &input : inputs)
    use(input, call);
  return active().customGradient(forward, gradient, inputs, call);
}
