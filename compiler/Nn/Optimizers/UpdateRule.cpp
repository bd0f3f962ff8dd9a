//===- UpdateRule.cpp - Optimizers by name ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/Optimizers/UpdateRule.h"

#include <cfloat>
#include <cmath>

using namespace tinh;
using namespace tinh::optim;

void optim::checkRange(const char *name, double value, Range range,
                       const eager::Call &call) {
  bool isFactor = range == Range::Factor;
  double lowest = range == Range::Finite ? -FLT_MAX : 0;
  double highest = isFactor ? std::nextafter(1.0, 0.0) : FLT_MAX;
  if (lowest <= value && value <= highest)
    return;
  const char *expected = isFactor ? "from 0 to below 1"
                         : range == Range::Finite
                             ? "finite in float32"
                             : "0 or more, and finite in float32";
  eager::fail(call, name, " is ", value, "; it must be ", expected);
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

using Maker = Rule (*)(nn::OptionReader &reader, At at);

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
