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

#include <variant>

namespace tinh::optim {

/// A rule named `name` whose options are a struct such as AdamOptions.
template <typename OptionsStruct> class RuleOf : public UpdateRule {
public:
  using Options = OptionsStruct;

  RuleOf(const char *name, const Options &options)
      : options(options), called(name) {}

  std::string name() const final { return called; }
  double learning_rate() const final { return options.lr; }

protected:
  const Options options;

private:
  const char *called;
};

/// What the value of an option may be; finite in all cases.
enum class Range { NonNegative, Factor /* of an average: below 1 */, Finite };

/// A field of such a struct, under its name.
template <typename Options> struct Option {
  const char *name;
  std::variant<double Options::*, bool Options::*> field;
  Range range = Range::NonNegative;
};

/// Throws if the option's value is out of its range.
void checkRange(const char *name, double value, Range range,
                const eager::Call &call);

/// A rule of the class R, which lists the fields of its options as kOptions.
template <typename R, typename Options>
Rule makeRule(const Options &options, const eager::Call &call) {
  for (const Option<Options> &option : R::kOptions)
    if (auto *number = std::get_if<double Options::*>(&option.field))
      checkRange(option.name, options.**number, option.range, call);
  return std::make_shared<R>(options);
}

/// Its options: what was given by name, the rest by default.
template <typename R> typename R::Options read(nn::OptionReader &reader) {
  using Options = typename R::Options;
  Options options;
  for (const Option<Options> &option : R::kOptions) {
    if (auto *number = std::get_if<double Options::*>(&option.field))
      options.**number = reader.number(option.name, options.**number);
    else if (auto *flag = std::get_if<bool Options::*>(&option.field))
      options.**flag = reader.flag(option.name, options.**flag);
  }
  return options;
}

/// The gradient with a penalty's, weight_decay · parameter, added.
Tensor decayed(const Tensor &gradient, const Tensor &parameter,
               double weightDecay);

/// average = factor · average + (1 - factor) · value
void moveAverage(const Tensor &average, const Tensor &value, double factor);

// By name.
Rule makeSgd(nn::OptionReader &reader, At at);
Rule makeAdam(nn::OptionReader &reader, At at);
Rule makeAdamW(nn::OptionReader &reader, At at);
Rule makeAdamax(nn::OptionReader &reader, At at);
Rule makeNAdam(nn::OptionReader &reader, At at);
Rule makeAdagrad(nn::OptionReader &reader, At at);
Rule makeRmsprop(nn::OptionReader &reader, At at);
Rule makeLion(nn::OptionReader &reader, At at);

} // namespace tinh::optim

#endif // TINH_NN_OPTIMIZERS_UPDATERULE_H
