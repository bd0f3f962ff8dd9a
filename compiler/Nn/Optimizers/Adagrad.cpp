//===- Adagrad.cpp - Adagrad and RMSProp ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/Optimizers/UpdateRule.h"

using namespace tinh;
using namespace tinh::optim;

namespace {

class Adagrad : public UpdateRule {
public:
  Adagrad(const AdagradOptions &options) : options(options) {}

  std::string name() const override { return "adagrad"; }
  double learning_rate() const override { return options.lr; }

  std::vector<StateSpec> state() const override {
    return {{"sum", options.initial_accumulator_value}};
  }

  std::vector<Tensor> prepare(const Tensor &lr, const Tensor &step,
                              std::span<const Tensor>) const override {
    if (options.lr_decay == 0)
      return {neg(lr)};
    return {neg(lr) / muladd(step, options.lr_decay, 1 - options.lr_decay)};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    Tensor direction = decayed(gradient, parameter, options.weight_decay);
    state[0].addmul_(direction, direction);
    Tensor ratio = direction / (sqrt(state[0]) + options.eps);
    parameter.addmul_(ratio, common[0]);
  }

private:
  AdagradOptions options;
};

class RmsProp : public UpdateRule {
public:
  RmsProp(const RMSPropOptions &options) : options(options) {}

  std::string name() const override { return "rmsprop"; }
  double learning_rate() const override { return options.lr; }

  std::vector<StateSpec> state() const override {
    std::vector<StateSpec> all = {{"square_avg"}};
    if (options.momentum != 0)
      all.push_back({"momentum_buffer"});
    if (options.centered)
      all.push_back({"grad_avg"});
    return all;
  }

  std::vector<Tensor> prepare(const Tensor &lr, const Tensor &,
                              std::span<const Tensor>) const override {
    return {neg(lr)};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    Tensor direction = decayed(gradient, parameter, options.weight_decay);
    moveAverage(state[0], square(direction), options.alpha);
    Tensor variance = state[0];
    if (options.centered) {
      const Tensor &average = state.back();
      moveAverage(average, direction, options.alpha);
      variance = variance - square(average);
    }
    Tensor ratio = direction / (sqrt(variance) + options.eps);
    if (options.momentum != 0) {
      state[1].mul_(options.momentum);
      state[1].add_(ratio);
      ratio = state[1];
    }
    parameter.addmul_(ratio, common[0]);
  }

private:
  RMSPropOptions options;
};

} // namespace

Rule optim::adagrad(const AdagradOptions &options, At at) {
  eager::Call call{"optim::adagrad", at};
  requireAtLeast(options.lr, 0, "lr", call);
  requireAtLeast(options.lr_decay, 0, "lr_decay", call);
  requireAtLeast(options.weight_decay, 0, "weight_decay", call);
  requireAtLeast(options.initial_accumulator_value, 0,
                 "initial_accumulator_value", call);
  requireAtLeast(options.eps, 0, "eps", call);
  return std::make_shared<Adagrad>(options);
}

Rule optim::rmsprop(const RMSPropOptions &options, At at) {
  eager::Call call{"optim::rmsprop", at};
  requireAtLeast(options.lr, 0, "lr", call);
  requireFactor(options.alpha, "alpha", call);
  requireAtLeast(options.eps, 0, "eps", call);
  requireAtLeast(options.weight_decay, 0, "weight_decay", call);
  requireAtLeast(options.momentum, 0, "momentum", call);
  return std::make_shared<RmsProp>(options);
}

Rule optim::makeAdagrad(nn::OptionReader &options, At at) {
  AdagradOptions all;
  all.lr = options.number("lr", all.lr);
  all.lr_decay = options.number("lr_decay", all.lr_decay);
  all.weight_decay = options.number("weight_decay", all.weight_decay);
  all.initial_accumulator_value = options.number("initial_accumulator_value",
                                                 all.initial_accumulator_value);
  all.eps = options.number("eps", all.eps);
  return adagrad(all, at);
}

Rule optim::makeRmsprop(nn::OptionReader &options, At at) {
  RMSPropOptions all;
  all.lr = options.number("lr", all.lr);
  all.alpha = options.number("alpha", all.alpha);
  all.eps = options.number("eps", all.eps);
  all.weight_decay = options.number("weight_decay", all.weight_decay);
  all.momentum = options.number("momentum", all.momentum);
  all.centered = options.flag("centered", all.centered);
  return rmsprop(all, at);
}
