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

class Adagrad : public RuleOf<AdagradOptions> {
public:
  static constexpr Option<AdagradOptions> kOptions[] = {
      {"lr", &AdagradOptions::lr},
      {"lr_decay", &AdagradOptions::lr_decay},
      {"weight_decay", &AdagradOptions::weight_decay},
      {"initial_accumulator_value", &AdagradOptions::initial_accumulator_value},
      {"eps", &AdagradOptions::eps},
  };

  Adagrad(const AdagradOptions &options) : RuleOf("adagrad", options) {}

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
};

class RmsProp : public RuleOf<RMSPropOptions> {
public:
  static constexpr Option<RMSPropOptions> kOptions[] = {
      {"lr", &RMSPropOptions::lr},
      {"alpha", &RMSPropOptions::alpha, Range::Factor},
      {"eps", &RMSPropOptions::eps},
      {"weight_decay", &RMSPropOptions::weight_decay},
      {"momentum", &RMSPropOptions::momentum},
      {"centered", &RMSPropOptions::centered},
  };

  RmsProp(const RMSPropOptions &options) : RuleOf("rmsprop", options) {}

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
};

} // namespace

Rule optim::adagrad(const AdagradOptions &options, At at) {
  return makeRule<Adagrad>(options, {"optim::adagrad", at});
}

Rule optim::rmsprop(const RMSPropOptions &options, At at) {
  return makeRule<RmsProp>(options, {"optim::rmsprop", at});
}

Rule optim::makeAdagrad(nn::OptionReader &reader, At at) {
  return adagrad(read<Adagrad>(reader), at);
}

Rule optim::makeRmsprop(nn::OptionReader &reader, At at) {
  return rmsprop(read<RmsProp>(reader), at);
}
