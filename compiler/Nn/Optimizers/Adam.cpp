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

class Adam : public UpdateRule {
public:
  Adam(const AdamOptions &options, bool isDecoupled)
      : options(options), isDecoupled(isDecoupled) {}

  std::string name() const override { return isDecoupled ? "adamw" : "adam"; }
  double learning_rate() const override { return options.lr; }

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
    if (!isDecoupled)
      return {size, scale};
    return {size, scale, muladd(lr, -options.weight_decay, 1)};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    Tensor direction = gradient;
    if (!isDecoupled)
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

private:
  AdamOptions options;
  bool isDecoupled;
};

} // namespace

static Rule checkedAdam(const AdamOptions &options, bool isDecoupled,
                        const eager::Call &call) {
  requireAtLeast(options.lr, 0, "lr", call);
  requireFactor(options.beta1, "beta1", call);
  requireFactor(options.beta2, "beta2", call);
  requireAtLeast(options.eps, 0, "eps", call);
  requireAtLeast(options.weight_decay, 0, "weight_decay", call);
  return std::make_shared<Adam>(options, isDecoupled);
}

Rule optim::adam(const AdamOptions &options, At at) {
  return checkedAdam(options, false, {"optim::adam", at});
}

Rule optim::adamw(const AdamWOptions &options, At at) {
  return checkedAdam({options.lr, options.beta1, options.beta2, options.eps,
                      options.weight_decay, options.amsgrad},
                     true, {"optim::adamw", at});
}

template <typename All> static All read(nn::OptionReader &options) {
  All all;
  all.lr = options.number("lr", all.lr);
  all.beta1 = options.number("beta1", all.beta1);
  all.beta2 = options.number("beta2", all.beta2);
  all.eps = options.number("eps", all.eps);
  all.weight_decay = options.number("weight_decay", all.weight_decay);
  all.amsgrad = options.flag("amsgrad", all.amsgrad);
  return all;
}

Rule optim::makeAdam(nn::OptionReader &options, At at) {
  return adam(read<AdamOptions>(options), at);
}
Rule optim::makeAdamW(nn::OptionReader &options, At at) {
  return adamw(read<AdamWOptions>(options), at);
}
