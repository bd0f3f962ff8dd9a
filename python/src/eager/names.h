//===- names.h - Enumerators by name, for Python ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_NAMES_H
#define TINH_PYTHON_NAMES_H

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace tinh::python {

/// Enumerators and what Python calls them.
template <typename Enum>
using Names = std::initializer_list<std::pair<const char *, Enum>>;

/// The one of that name; a ValueError, which begins with `place`, if there is
/// none.
template <typename Enum>
Enum by_name(const std::string &place, const std::string &given,
             const Names<Enum> &names) {
  std::string all;
  for (auto [name, value] : names) {
    if (given == name)
      return value;
    all += std::string(all.empty() ? "\"" : ", \"") + name + "\"";
  }
  throw nanobind::value_error(
      (place + ": expected one of " + all + ", found \"" + given + "\"")
          .c_str());
}

template <typename Enum>
const char *name_of(Enum value, const Names<Enum> &names) {
  for (auto [name, known] : names)
    if (known == value)
      return name;
  return "?";
}

} // namespace tinh::python

#endif // TINH_PYTHON_NAMES_H
