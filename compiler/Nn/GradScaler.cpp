//===- GradScaler.cpp - Scaled losses in a loop of training ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/EagerScope.h"
#include "compiler/Nn/StateDict.h"
#include "tinh/loss_scale.h"

#include <algorithm>

using namespace tinh;
using namespace tinh::optim;
using eager::Call;
using eager::fail;

GradScaler::GradScaler(LossScale rule, At) : rule(std::move(rule)) {
  nn::EagerScope scope;
  factor = full({}, this->rule.initial(), float32);
  growthTracker = zeros({}, int32);
}

GradScaler::Unscaled *GradScaler::find(const Optimizer &optimizer) {
  auto found = std::find_if(
      unscaled.begin(), unscaled.end(),
      [&](const Unscaled &entry) { return entry.optimizer == &optimizer; });
  return found == unscaled.end() ? nullptr : &*found;
}

Tensor GradScaler::scale(const Tensor &loss, At at) const {
  return loss * factor.to(loss.dtype(at));
}

static std::vector<Tensor> gradientsOf(const Optimizer &optimizer,
                                       const Call &call) {
  std::vector<Tensor> gradients;
  for (size_t group = 0; group < optimizer.num_groups(); ++group)
    for (const Tensor &parameter : optimizer.parameters(group)) {
      DType dtype = parameter.dtype(call.at);
      if (dtype != float32 && dtype != float64)
        fail(call, "a parameter is ", dtype,
             "; gradients are divided by the scale in the dtype of their "
             "parameter, which must be f32 or f64");
      if (Tensor gradient = grad_of(parameter, call.at); gradient.defined())
        gradients.push_back(gradient);
    }
  return gradients;
}

void GradScaler::unscale_(const Optimizer &optimizer, At at) {
  Call call{"GradScaler::unscale_", at};
  if (find(optimizer))
    fail(call, "the gradients of this optimizer were divided by the scale "
               "since the last update() already");
  NoGrad guard;
  std::vector<Tensor> gradients = gradientsOf(optimizer, call);
  unscaled.push_back({&optimizer, all_finite(gradients)});
  Tensor inverse = reciprocal(factor);
  for (const Tensor &gradient : gradients)
    gradient.mul_(inverse.to(gradient.dtype(at)));
}

void GradScaler::step(Optimizer &optimizer, At at) {
  if (!find(optimizer))
    unscale_(optimizer, at);
  Unscaled &entry = *find(optimizer);
  if (entry.isDone)
    fail({"GradScaler::step", at},
         "this optimizer made a step since the last update() already");
  optimizer.step_if(entry.finite, at);
  entry.isDone = true;
}

void GradScaler::update(At at) {
  if (unscaled.empty())
    fail({"GradScaler::update", at},
         "there was no step since the last update()");
  NoGrad guard;
  Tensor finite = unscaled.front().finite;
  for (const Unscaled &entry : std::span(unscaled).subspan(1))
    finite = logical_and(finite, entry.finite);
  rule.update(factor, growthTracker, finite);
  unscaled.clear();
}

StateDict GradScaler::state_dict() const {
  return {{"scale", factor}, {"growth_tracker", growthTracker}};
}

void GradScaler::load_state_dict(const StateDict &state, At at) {
  nn::requireFits({{"scale", {}}, {"growth_tracker", {}}}, state, true,
                  {"GradScaler::load_state_dict", at});
  nn::EagerScope scope;
  for (const NamedTensor &entry : state_dict())
    entry.tensor.copy_(*tinh::find(state, entry.name));
}
