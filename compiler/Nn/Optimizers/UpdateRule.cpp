//===- UpdateRule.cpp - Optimizers by name ----------------------*- C++ -*-===//
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

void optim::requireAtLeast(double value, double lowest, const char *option,
                           const eager::Call &call) {
  if (!(value >= lowest && std::isfinite(value)))
    eager::fail(call, option, " is ", value, "; it must be ", lowest,
                " or more, and finite");
}

void optim::requireFactor(double value, const char *option,
                          const eager::Call &call) {
  if (!(value >= 0 && value < 1))
    eager::fail(call, option, " is ", value, "; it must be from 0 to below 1");
}

Tensor optim::decayed(const Tensor &gradient, const Tensor &parameter,
                      double weightDecay) {
  return weightDecay == 0 ? gradient : muladd(parameter, weightDecay, gradient);
}

void optim::moveAverage(const Tensor &average, const Tensor &value,
                        double factor) {
  average.mul_(factor);
  average.addmul_(value, 1 - factor);
}

using Maker = Rule (*)(nn::OptionReader &options, At at);

static const std::vector<std::pair<std::string, Maker>> kRules = {
    {"sgd", makeSgd},         {"adam", makeAdam},   {"adamw", makeAdamW},
    {"adamax", makeAdamax},   {"nadam", makeNAdam}, {"adagrad", makeAdagrad},
    {"rmsprop", makeRmsprop}, {"lion", makeLion},
};

Rule optim::make(std::string_view name, const Options &options, At at) {
  eager::Call call{"optim::make", at};
  Maker maker = nn::entryOf(kRules, name, "optimizer", call);
  nn::OptionReader reader(name, options, call);
  Rule rule = maker(reader, at);
  reader.finish();
  return rule;
}

std::vector<std::string> optim::names() { return nn::namesOf(kRules); }
