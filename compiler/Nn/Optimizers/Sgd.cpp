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

class Sgd : public UpdateRule {
public:
  Sgd(const SGDOptions &options) : options(options) {}

  std::string name() const override { return "sgd"; }
  double learning_rate() const override { return options.lr; }

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

  SGDOptions options;
};

} // namespace

Rule optim::sgd(const SGDOptions &options, At at) {
  eager::Call call{"optim::sgd", at};
  requireAtLeast(options.lr, 0, "lr", call);
  requireAtLeast(options.momentum, 0, "momentum", call);
  requireAtLeast(options.weight_decay, 0, "weight_decay", call);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    eager::fail(call, "nesterov needs a momentum above 0 and no dampening");
  return std::make_shared<Sgd>(options);
}

Rule optim::makeSgd(nn::OptionReader &options, At at) {
  SGDOptions all;
  all.lr = options.number("lr", all.lr);
  all.momentum = options.number("momentum", all.momentum);
  all.dampening = options.number("dampening", all.dampening);
  all.weight_decay = options.number("weight_decay", all.weight_decay);
  all.nesterov = options.flag("nesterov", all.nesterov);
  return sgd(all, at);
}
