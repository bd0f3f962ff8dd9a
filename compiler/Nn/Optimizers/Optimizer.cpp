//===- Optimizer.cpp - Updates of parameters by their gradients -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/EagerScope.h"
#include "compiler/Nn/StateDict.h"
#include "tinh/optim.h"

using namespace tinh;
using namespace tinh::optim;
using eager::Call;
using eager::fail;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static void requireParameters(const std::vector<ParameterGroup> &groups,
                              const Call &call) {
  std::vector<Tensor> seen;
  for (const ParameterGroup &group : groups) {
    if (!group.rule)
      fail(call, "a group has no rule; make one with optim::sgd or the like");
    for (const Tensor &parameter : group.parameters) {
      if (!parameter.defined() || !parameter.dtype(call.at).is_floating_point())
        fail(call, "parameter ", seen.size(),
             " is no floating-point tensor; call a model whose shapes are "
             "inferred once before its optimizer is made");
      for (size_t i = 0; i < seen.size(); ++i)
        if (seen[i].is_same(parameter))
          fail(call, "parameters ", i, " and ", seen.size(),
               " are the same tensor");
      seen.push_back(parameter);
    }
  }
  if (seen.empty())
    fail(call, "there are no parameters");
}

static DType scalarType(const std::vector<Tensor> &parameters) {
  for (const Tensor &parameter : parameters)
    if (parameter.dtype() == float64)
      return float64;
  return float32;
}

Optimizer::Optimizer(std::vector<ParameterGroup> given, At at) {
  requireParameters(given, {"optim::Optimizer", at});
  nn::EagerScope scope;
  for (ParameterGroup &from : given) {
    DType dtype = scalarType(from.parameters);
    Group group;
    group.lr = full({}, from.rule->learning_rate(), dtype);
    group.clocks = {{zeros({}, dtype), {}}};
    for (const StateSpec &spec : from.rule->scalar_state())
      group.clocks[0].scalars.push_back(full({}, spec.initial, dtype));
    for (const Tensor &parameter : from.parameters) {
      Slot slot{parameter, {}, 0};
      for (const StateSpec &spec : from.rule->state())
        slot.state.push_back(full_like(parameter, spec.initial));
      group.slots.push_back(std::move(slot));
    }
    group.parameters = std::move(from.parameters);
    group.rule = std::move(from.rule);
    groups.push_back(std::move(group));
  }
}

Optimizer::Optimizer(std::vector<Tensor> parameters, Rule rule, At at)
    : Optimizer({ParameterGroup{std::move(parameters), std::move(rule)}}, at) {}

const Optimizer::Group &Optimizer::groupAt(size_t index) const {
  if (index >= groups.size())
    throw Error(TINH_INVALID_ARGUMENT,
                "the optimizer has " + std::to_string(groups.size()) +
                    " groups of parameters; there is no group " +
                    std::to_string(index));
  return groups[index];
}

const std::vector<Tensor> &Optimizer::parameters(size_t group) const {
  return groupAt(group).parameters;
}
const UpdateRule &Optimizer::rule(size_t group) const {
  return *groupAt(group).rule;
}
const Tensor &Optimizer::learning_rate(size_t group) const {
  return groupAt(group).lr;
}
void Optimizer::set_learning_rate(double lr, size_t group) const {
  nn::EagerScope scope;
  groupAt(group).lr.fill_(lr);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Optimizer::Clock Optimizer::Clock::clone() const {
  Clock copy{step.clone(), {}};
  for (const Tensor &scalar : scalars)
    copy.scalars.push_back(scalar.clone());
  return copy;
}

/// Where only some of the parameters that share a clock are updated, those that
/// are not go on with a copy.
void Optimizer::separateClocks(Group &group, const std::vector<Tensor> &grads) {
  for (size_t clock = 0, count = group.clocks.size(); clock < count; ++clock) {
    size_t copy = group.clocks.size();
    bool isUsed = false, isSkipped = false;
    for (size_t i = 0; i < group.slots.size(); ++i)
      if (group.slots[i].clock == clock)
        (grads[i].defined() ? isUsed : isSkipped) = true;
    if (!isUsed || !isSkipped)
      continue;
    nn::EagerScope scope;
    group.clocks.push_back(group.clocks[clock].clone());
    for (size_t i = 0; i < group.slots.size(); ++i)
      if (group.slots[i].clock == clock && !grads[i].defined())
        group.slots[i].clock = copy;
  }
}

namespace {

/// Tensors before they change, which is undone where a condition, if there is
/// one, does not hold.
class Undo {
public:
  Undo(const Tensor &condition, std::vector<Tensor> all)
      : condition(condition), tensors(std::move(all)) {
    if (condition.defined())
      for (const Tensor &tensor : tensors)
        before.push_back(tensor.clone());
  }
  void finish() const {
    for (size_t i = 0; i < before.size(); ++i)
      tensors[i].copy_(where(condition, tensors[i], before[i]));
  }

private:
  const Tensor &condition;
  std::vector<Tensor> tensors, before;
};

} // namespace

/// Without a condition the step is done.
void Optimizer::stepGroup(Group &group, const Tensor &condition, At at) {
  std::vector<Tensor> grads;
  for (const Slot &slot : group.slots)
    grads.push_back(grad_of(slot.parameter, at));
  separateClocks(group, grads);
  std::vector<std::vector<Tensor>> common(group.clocks.size());
  for (size_t i = 0; i < group.slots.size(); ++i) {
    const Slot &slot = group.slots[i];
    if (!grads[i].defined())
      continue;
    if (common[slot.clock].empty()) {
      const auto &[step, scalars] = group.clocks[slot.clock];
      std::vector<Tensor> changed = scalars;
      changed.push_back(step);
      Undo undo(condition, std::move(changed));
      step.add_(1);
      common[slot.clock] = group.rule->prepare(group.lr, step, scalars);
      undo.finish();
    }
    std::vector<Tensor> changed = slot.state;
    changed.push_back(slot.parameter);
    Undo undo(condition, std::move(changed));
    group.rule->update(slot.parameter, grads[i], slot.state,
                       common[slot.clock]);
    undo.finish();
  }
}

void Optimizer::step(At at) {
  NoGrad guard;
  for (Group &group : groups)
    stepGroup(group, {}, at);
}

void Optimizer::step_if(const Tensor &condition, At at) {
  NoGrad guard;
  if (condition.dtype(at) != boolean || condition.dim(at) != 0)
    fail({"Optimizer::step_if", at}, "the condition is ", condition.dtype(at),
         condition.shape(at), "; expected one boolean, of rank 0");
  for (Group &group : groups)
    stepGroup(group, condition, at);
}

void Optimizer::zero_grad(At at) {
  for (const Group &group : groups)
    tinh::zero_grad(group.parameters, at);
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

static std::string stateName(size_t parameter, const std::string &name) {
  return "state." + std::to_string(parameter) + "." + name;
}

static std::string learningRateName(size_t group) {
  return "param_groups." + std::to_string(group) + ".lr";
}

StateDict Optimizer::state_dict() const {
  StateDict state;
  size_t index = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Group &group = groups[g];
    std::vector<StateSpec> specs = group.rule->state(),
                           scalars = group.rule->scalar_state();
    for (const Slot &slot : group.slots) {
      const Clock &clock = group.clocks[slot.clock];
      state.push_back({stateName(index, "step"), clock.step});
      for (size_t i = 0; i < scalars.size(); ++i)
        state.push_back({stateName(index, scalars[i].name), clock.scalars[i]});
      for (size_t i = 0; i < specs.size(); ++i)
        state.push_back({stateName(index, specs[i].name), slot.state[i]});
      ++index;
    }
    state.push_back({learningRateName(g), group.lr});
  }
  return state;
}

/// Clocks of their own for all numbers of steps, and scalars, that there are.
void Optimizer::loadClocks(Group &group, const StateDict &state,
                           size_t &index) {
  std::vector<StateSpec> scalars = group.rule->scalar_state();
  std::vector<std::vector<double>> all;
  std::vector<Clock> clocks;
  for (Slot &slot : group.slots) {
    auto valueOf = [&](const std::string &name) {
      return find(state, stateName(index, name))->item<double>();
    };
    std::vector<double> values = {valueOf("step")};
    for (const StateSpec &spec : scalars)
      values.push_back(valueOf(spec.name));
    ++index;
    auto known = std::find(all.begin(), all.end(), values);
    slot.clock = static_cast<size_t>(known - all.begin());
    if (known != all.end())
      continue;
    // The first clock's tensors stay those that a traced step has captured.
    clocks.push_back(clocks.empty() ? group.clocks[0]
                                    : group.clocks[0].clone());
    all.push_back(std::move(values));
  }
  for (size_t i = 0; i < clocks.size(); ++i) {
    clocks[i].step.fill_(all[i][0]);
    for (size_t j = 0; j < scalars.size(); ++j)
      clocks[i].scalars[j].fill_(all[i][j + 1]);
  }
  group.clocks = std::move(clocks);
}

void Optimizer::load_state_dict(const StateDict &state, At at) {
  std::vector<nn::ExpectedTensor> expected;
  for (const NamedTensor &entry : state_dict())
    expected.push_back({entry.name, entry.tensor.shape()});
  nn::requireFits(expected, state, true, {"Optimizer::load_state_dict", at});
  nn::EagerScope scope;
  size_t index = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    Group &group = groups[g];
    size_t first = index;
    loadClocks(group, state, index);
    std::vector<StateSpec> specs = group.rule->state();
    for (size_t s = 0; s < group.slots.size(); ++s)
      for (size_t i = 0; i < specs.size(); ++i)
        group.slots[s].state[i].copy_(
            *find(state, stateName(first + s, specs[i].name)));
    group.lr.copy_(*find(state, learningRateName(g)));
  }
}

//===----------------------------------------------------------------------===//
// Clipping
//===----------------------------------------------------------------------===//

static std::vector<Tensor> gradientsOf(std::span<const Tensor> parameters,
                                       At at) {
  std::vector<Tensor> gradients;
  for (const Tensor &parameter : parameters)
    if (Tensor gradient = grad_of(parameter, at); gradient.defined())
      gradients.push_back(gradient);
  return gradients;
}

Tensor optim::clip_norm_(std::span<const Tensor> gradients, double maxNorm,
                         double p, At at) {
  Call call{"optim::clip_norm_", at};
  if (!(maxNorm >= 0))
    fail(call, "max_norm is ", maxNorm, "; it must not be negative");
  if (gradients.empty())
    return zeros({});
  NoGrad guard;
  std::vector<Tensor> norms;
  for (const Tensor &gradient : gradients)
    norms.push_back(norm(gradient, p));
  Tensor total = norm(stack(norms), p);
  Tensor scale = minimum(maxNorm / (total + 1e-6), 1.0);
  for (const Tensor &gradient : gradients)
    gradient.mul_(scale);
  return total;
}

Tensor optim::clip_grad_norm_(std::span<const Tensor> parameters,
                              double maxNorm, double p, At at) {
  return clip_norm_(gradientsOf(parameters, at), maxNorm, p, at);
}

void optim::clip_grad_value_(std::span<const Tensor> parameters, double limit,
                             At at) {
  if (!(limit >= 0))
    fail({"optim::clip_grad_value_", at}, "the limit is ", limit,
         "; it must not be negative");
  NoGrad guard;
  for (const Tensor &gradient : gradientsOf(parameters, at))
    gradient.clamp_(-limit, limit);
}
