//===- NAdam.cpp - Adam with Nesterov's momentum ----------------*- C++ -*-===//
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

class NAdam : public RuleOf<NAdamOptions> {
public:
  static constexpr Option<NAdamOptions> kOptions[] = {
      {"lr", &NAdamOptions::lr},
      {"beta1", &NAdamOptions::beta1, Range::Factor},
      {"beta2", &NAdamOptions::beta2, Range::Factor},
      {"eps", &NAdamOptions::eps},
      {"weight_decay", &NAdamOptions::weight_decay},
      {"momentum_decay", &NAdamOptions::momentum_decay},
      {"decoupled_weight_decay", &NAdamOptions::decoupled_weight_decay},
  };

  NAdam(const NAdamOptions &options) : RuleOf("nadam", options) {}

  std::vector<StateSpec> state() const override {
    return {{"exp_avg"}, {"exp_avg_sq"}};
  }
  std::vector<StateSpec> scalar_state() const override {
    return {{"mu_product", 1}};
  }

  /// What the gradient and its average are multiplied by, 1 / √(1 - β₂ᵗ), and
  /// 1 - lr · weight_decay.
  std::vector<Tensor> prepare(const Tensor &lr, const Tensor &step,
                              std::span<const Tensor> scalars) const override {
    const Tensor &product = scalars[0];
    Tensor mu = momentum(step), next = momentum(step + 1);
    product.mul_(mu);
    Tensor ofGradient = lr * (mu - 1) / (1 - product);
    Tensor ofAverage = lr * next / (product * next - 1);
    Tensor scale = rsqrt(neg(expm1(step * std::log(options.beta2))));
    return {ofGradient, ofAverage, scale, muladd(lr, -options.weight_decay, 1)};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    Tensor direction = gradient;
    if (!options.decoupled_weight_decay)
      direction = decayed(gradient, parameter, options.weight_decay);
    else if (options.weight_decay != 0)
      parameter.mul_(common[3]);
    moveAverage(state[0], direction, options.beta1);
    moveAverage(state[1], square(direction), options.beta2);
    Tensor spread = muladd(sqrt(state[1]), common[2], options.eps);
    parameter.addmul_(direction / spread, common[0]);
    parameter.addmul_(state[0] / spread, common[1]);
  }

private:
  /// β₁ (1 - ½ · 0.96^(step · momentum_decay))
  Tensor momentum(const Tensor &step) const {
    Tensor fading = exp(step * (options.momentum_decay * std::log(0.96)));
    return muladd(fading, -options.beta1 / 2, options.beta1);
  }
};

} // namespace

Rule optim::nadam(const NAdamOptions &options, At at) {
  return makeRule<NAdam>(options, {"optim::nadam", at});
}

Rule optim::makeNAdam(nn::OptionReader &reader, At at) {
  return nadam(read<NAdam>(reader), at);
}
