//===- Lion.cpp - Evolved sign momentum -------------------------*- C++ -*-===//
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

class Lion : public UpdateRule {
public:
  Lion(const LionOptions &options) : options(options) {}

  std::string name() const override { return "lion"; }
  double learning_rate() const override { return options.lr; }
  std::vector<StateSpec> state() const override { return {{"exp_avg"}}; }

  std::vector<Tensor> prepare(const Tensor &lr, const Tensor &,
                              std::span<const Tensor>) const override {
    return {neg(lr), muladd(lr, -options.weight_decay, 1)};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    if (options.weight_decay != 0)
      parameter.mul_(common[1]);
    Tensor direction =
        muladd(state[0], options.beta1, gradient * (1 - options.beta1));
    parameter.addmul_(sign(direction), common[0]);
    moveAverage(state[0], gradient, options.beta2);
  }

private:
  LionOptions options;
};

} // namespace

Rule optim::lion(const LionOptions &options, At at) {
  eager::Call call{"optim::lion", at};
  requireAtLeast(options.lr, 0, "lr", call);
  requireFactor(options.beta1, "beta1", call);
  requireFactor(options.beta2, "beta2", call);
  requireAtLeast(options.weight_decay, 0, "weight_decay", call);
  return std::make_shared<Lion>(options);
}

Rule optim::makeLion(nn::OptionReader &options, At at) {
  LionOptions all;
  all.lr = options.number("lr", all.lr);
  all.beta1 = options.number("beta1", all.beta1);
  all.beta2 = options.number("beta2", all.beta2);
  all.weight_decay = options.number("weight_decay", all.weight_decay);
  return lion(all, at);
}
