//===- Sgd.cpp - Gradient descent with momentum -----------------*- C++ -*-===//
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

class Sgd : public RuleOf<SGDOptions> {
public:
  static constexpr Option<SGDOptions> kOptions[] = {
      {"lr", &SGDOptions::lr},
      {"momentum", &SGDOptions::momentum},
      {"dampening", &SGDOptions::dampening, Range::Finite},
      {"weight_decay", &SGDOptions::weight_decay},
      {"nesterov", &SGDOptions::nesterov},
  };

  Sgd(const SGDOptions &options) : RuleOf("sgd", options) {}

  std::vector<StateSpec> state() const override {
    if (options.momentum == 0)
      return {};
    return {{"momentum_buffer"}};
  }

  std::vector<Tensor> prepare(const Tensor &lr, const Tensor &step,
                              std::span<const Tensor>) const override {
    if (!isDamped())
      return {neg(lr)};
    // The first gradient counts in full.
    Tensor isLater = (step > 1).to(lr.dtype());
    return {neg(lr), muladd(isLater, -options.dampening, 1)};
  }

  void update(const Tensor &parameter, const Tensor &gradient,
              std::span<const Tensor> state,
              std::span<const Tensor> common) const override {
    Tensor direction = decayed(gradient, parameter, options.weight_decay);
    if (options.momentum != 0) {
      const Tensor &buffer = state[0];
      buffer.mul_(options.momentum);
      if (isDamped())
        buffer.addmul_(direction, common[1]);
      else
        buffer.add_(direction);
      direction = options.nesterov ? muladd(buffer, options.momentum, direction)
                                   : buffer;
    }
    parameter.addmul_(direction, common[0]);
  }

private:
  bool isDamped() const {
    return options.momentum != 0 && options.dampening != 0;
  }
};

} // namespace

Rule optim::sgd(const SGDOptions &options, At at) {
  eager::Call call{"optim::sgd", at};
  Rule rule = makeRule<Sgd>(options, call);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    eager::fail(call, "nesterov needs a momentum above 0 and no dampening");
  return rule;
}

Rule optim::makeSgd(nn::OptionReader &reader, At at) {
  return sgd(read<Sgd>(reader), at);
}
