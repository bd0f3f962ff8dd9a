//===- Adam.cpp - Adam and AdamW --------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The corrections 1 - βᵗ are -expm1(t · log β), which is exact to the last bits
// in float32, too, where βᵗ is near 1.
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/Optimizers/UpdateRule.h"

#include <cmath>

using namespace tinh;
using namespace tinh::optim;

namespace {

template <typename All> class Adam : public RuleOf<All> {
  using RuleOf<All>::options;
  static constexpr bool kIsDecoupled = std::is_same_v<All, AdamWOptions>;

public:
  static constexpr Option<All> kOptions[] = {
      {"lr", &All::lr},
      {"beta1", &All::beta1, Range::Factor},
      {"beta2", &All::beta2, Range::Factor},
      {"eps", &All::eps},
      {"weight_decay", &All::weight_decay},
      {"amsgrad", &All::amsgrad},
  };

  Adam(const All &options)
      : RuleOf<All>(kIsDecoupled ? "adamw" : "adam", options) {}

  std::vector<StateSpec> state() const override {
    std::vector<StateSpec> all = {{"exp_avg"}, {"exp_avg_sq"}};
    if (options.amsgrad)
      all.push_back({"max_exp_avg_sq"});
    return all;
  }

  /// -lr / (1 - β₁ᵗ), 1 / √(1 - β₂ᵗ), and of AdamW 1 - lr · weight_decay.
  std::vector<Tensor> prepare(const Tensor &lr, const Tensor &step,
                              std::span<const Tensor>) const override {
    Tensor size = lr / expm1(step * std::log(options.beta1));
    Tensor scale = rsqrt(neg(expm1(step * std::log(options.beta2))));
    if (!kIsDecoupled)
      return {size, scale};
    return {size, scale, muladd(lr, -options.weight_decay, 1)};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    Tensor direction = gradient;
    if (!kIsDecoupled)
      direction = decayed(gradient, parameter, options.weight_decay);
    else if (options.weight_decay != 0)
      parameter.mul_(common[2]);
    moveAverage(state[0], direction, options.beta1);
    moveAverage(state[1], square(direction), options.beta2);
    if (options.amsgrad)
      state[2].maximum_(state[1]);
    Tensor spread = sqrt(state[options.amsgrad ? 2 : 1]);
    Tensor ratio = state[0] / muladd(spread, common[1], options.eps);
    parameter.addmul_(ratio, common[0]);
  }
};

} // namespace

Rule optim::adam(const AdamOptions &options, At at) {
  return makeRule<Adam<AdamOptions>>(options, {"optim::adam", at});
}
Rule optim::adamw(const AdamWOptions &options, At at) {
  return makeRule<Adam<AdamWOptions>>(options, {"optim::adamw", at});
}

Rule optim::makeAdam(nn::OptionReader &reader, At at) {
  return adam(read<Adam<AdamOptions>>(reader), at);
}
Rule optim::makeAdamW(nn::OptionReader &reader, At at) {
  return adamw(read<Adam<AdamWOptions>>(reader), at);
}
