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

class Adamax : public RuleOf<AdamaxOptions> {
public:
  static constexpr Option<AdamaxOptions> kOptions[] = {
      {"lr", &AdamaxOptions::lr},
      {"beta1", &AdamaxOptions::beta1, Range::Factor},
      {"beta2", &AdamaxOptions::beta2, Range::Factor},
      {"eps", &AdamaxOptions::eps},
      {"weight_decay", &AdamaxOptions::weight_decay},
  };

  Adamax(const AdamaxOptions &options) : RuleOf("adamax", options) {}

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
};

} // namespace

Rule optim::adamax(const AdamaxOptions &options, At at) {
  return makeRule<Adamax>(options, {"optim::adamax", at});
}

Rule optim::makeAdamax(nn::OptionReader &reader, At at) {
  return adamax(read<Adamax>(reader), at);
}
