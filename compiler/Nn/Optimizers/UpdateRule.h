//===- UpdateRule.h - What the optimizers' rules share ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_OPTIMIZERS_UPDATERULE_H
#define TINH_NN_OPTIMIZERS_UPDATERULE_H

#include "compiler/Nn/OptionReader.h"
#include "tinh/optim.h"

namespace tinh::optim {

/// Checks the value of an option when a rule is made.
void requireAtLeast(double value, double lowest, const char *option,
                    const eager::Call &call);
/// A factor of a moving average: 0 ≤ value < 1.
void requireFactor(double value, const char *option, const eager::Call &call);

/// The gradient with a penalty's, weight_decay · parameter, added.
Tensor decayed(const Tensor &gradient, const Tensor &parameter,
               double weightDecay);

/// average = factor · average + (1 - factor) · value
void moveAverage(const Tensor &average, const Tensor &value, double factor);

// By name; each reads the fields of its options.
Rule makeSgd(nn::OptionReader &options, At at);
Rule makeAdam(nn::OptionReader &options, At at);
Rule makeAdamW(nn::OptionReader &options, At at);
Rule makeAdamax(nn::OptionReader &options, At at);
Rule makeNAdam(nn::OptionReader &options, At at);
Rule makeAdagrad(nn::OptionReader &options, At at);
Rule makeRmsprop(nn::OptionReader &options, At at);
Rule makeLion(nn::OptionReader &options, At at);

} // namespace tinh::optim

#endif // TINH_NN_OPTIMIZERS_UPDATERULE_H
