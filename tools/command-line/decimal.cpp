//===- decimal.cpp - Integers of options ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decimal.h"

#include <algorithm>
#include <charconv>

namespace tinh::tools {

/// Takes leading zeros away; says what is wrong if it is no integer.
static std::string make_decimal(std::string &text) {
  size_t first = text.find_first_not_of("+-") == 1 ? 1 : 0;
  bool has_digits = text.size() > first;
  if (!has_digits || !std::all_of(text.begin() + first, text.end(),
                                  [](char c) { return c >= '0' && c <= '9'; }))
    return "expected a decimal integer, not '" + text + "'";
  size_t zeros = text.find_first_not_of('0', first);
  text.erase(first, std::min(zeros, text.size() - 1) - first);
  int64_t value = 0;
  const char *begin = text.data() + (text.front() == '+' ? 1 : 0);
  auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return error == std::errc() ? "" : text + " is beyond what an integer holds";
}

void read_integers_as_decimal(CLI::App &app) {
  for (CLI::Option *option : app.get_options())
    if (option->get_type_name().find("INT") != std::string::npos)
      option->transform(CLI::Validator(make_decimal, ""));
}

} // namespace tinh::tools
