//===- Adamax.cpp - Adam by the largest gradient ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/Optimizers/UpdateRule.h"

#include <cmath>

using namespace tinh;
using namespace tinh::optim;

namespace {

class Adamax : public UpdateRule {
public:
  Adamax(const AdamaxOptions &options) : options(options) {}

  std::string name() const override { return "adamax"; }
  double learning_rate() const override { return options.lr; }
  std::vector<StateSpec> state() const override {
    return {{"exp_avg"}, {"exp_inf"}};
  }

  /// -lr / (1 - β₁ᵗ)
  std::vector<Tensor> prepare(const Tensor &lr, const Tensor &step,
                              std::span<const Tensor>) const override {
    return {lr / expm1(step * std::log(options.beta1))};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    Tensor direction = decayed(gradient, parameter, options.weight_decay);
    moveAverage(state[0], direction, options.beta1);
    state[1].mul_(options.beta2);
    state[1].maximum_(abs(direction) + options.eps);
    parameter.addmul_(state[0] / state[1], common[0]);
  }

private:
  AdamaxOptions options;
};

} // namespace

Rule optim::adamax(const AdamaxOptions &options, At at) {
  eager::Call call{"optim::adamax", at};
  requireAtLeast(options.lr, 0, "lr", call);
  requireFactor(options.beta1, "beta1", call);
  requireFactor(options.beta2, "beta2", call);
  requireAtLeast(options.eps, 0, "eps", call);
  requireAtLeast(options.weight_decay, 0, "weight_decay", call);
  return std::make_shared<Adamax>(options);
}

Rule optim::makeAdamax(nn::OptionReader &options, At at) {
  AdamaxOptions all;
  all.lr = options.number("lr", all.lr);
  all.beta1 = options.number("beta1", all.beta1);
  all.beta2 = options.number("beta2", all.beta2);
  all.eps = options.number("eps", all.eps);
  all.weight_decay = options.number("weight_decay", all.weight_decay);
  return adamax(all, at);
}
