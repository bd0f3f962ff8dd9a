//===- tinh/options.h - Options by name -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Losses, optimizers and schedules can be made by their names, with options
// that come from a command line or a file. Those that do not exist, and values
// that are of another kind, are errors that say what there is.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_OPTIONS_H
#define TINH_OPTIONS_H

#include "tinh/tensor_types.h"

#include <string_view>
#include <utility>
#include <variant>

namespace tinh {

/// A number, a boolean, or text, which may spell either: "0.1", "true".
class OptionValue {
public:
  template <Arithmetic T> OptionValue(T value) {
    if constexpr (std::same_as<T, bool>)
      given = value;
    else
      given = static_cast<double>(value);
  }
  OptionValue(std::string text) : given(std::move(text)) {}
  OptionValue(const char *text) : given(std::string(text)) {}

  const std::variant<double, bool, std::string> &value() const { return given; }

private:
  std::variant<double, bool, std::string> given;
};

using Options = std::vector<std::pair<std::string, OptionValue>>;

/// Of "lr=0.1,nesterov=true"; a name alone is true.
Options parse_options(std::string_view text, At at = At::current());

} // namespace tinh

#endif // TINH_OPTIONS_H
