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

class Lion : public RuleOf<LionOptions> {
public:
  static constexpr Option<LionOptions> kOptions[] = {
      {"lr", &LionOptions::lr},
      {"beta1", &LionOptions::beta1, Range::Factor},
      {"beta2", &LionOptions::beta2, Range::Factor},
      {"weight_decay", &LionOptions::weight_decay},
  };

  Lion(const LionOptions &options) : RuleOf("lion", options) {}

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
};

} // namespace

Rule optim::lion(const LionOptions &options, At at) {
  return makeRule<Lion>(options, {"optim::lion", at});
}

Rule optim::makeLion(nn::OptionReader &reader, At at) {
  return lion(read<Lion>(reader), at);
}
