//===- OptionReader.h - Options by name, checked ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads options one by one and remembers their names, so that one that nobody
// asked for is an error that says which there are.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_OPTIONREADER_H
#define TINH_NN_OPTIONREADER_H

#include "compiler/Eager/Tensor/Support.h"
#include "tinh/options.h"

namespace tinh::nn {

class OptionReader {
public:
  /// `what` the options are of, in messages: "adam".
  OptionReader(std::string_view what, const Options &options,
               const eager::Call &call)
      : what(what), options(options), call(call) {}

  double number(const char *name, double otherwise);
  int64_t integer(const char *name, int64_t otherwise);
  /// Throws if the option is not given.
  int64_t integer(const char *name);
  bool flag(const char *name, bool otherwise);
  /// Integers as "30:60:90".
  std::vector<int64_t> integers(const char *name);
  /// The index of the option's text among the choices; 0 if it is not given.
  size_t choice(const char *name, const std::vector<std::string> &choices);

  /// Throws if there is an option that was not asked for.
  void finish() const;

private:
  const OptionValue *take(const char *name);
  template <typename T, typename Convert>
  T read(const char *name, T otherwise, Convert convert, const char *expected);
  int64_t integerOf(const char *name, const OptionValue &given) const;
  [[noreturn]] void failValue(const char *name, const char *expected,
                              const OptionValue &found) const;

  std::string what;
  const Options &options;
  eager::Call call;
  std::vector<std::string> known;
};

/// "a, b, c"
std::string listed(const std::vector<std::string> &names);

/// The entry of `table` with that name, as first of a pair; an error that lists
/// all if there is none.
template <typename Table>
const auto &entryOf(const Table &table, std::string_view name, const char *what,
                    const eager::Call &call) {
  std::vector<std::string> names;
  for (const auto &entry : table) {
    if (name == entry.first)
      return entry.second;
    names.push_back(entry.first);
  }
  eager::fail(call, "there is no ", what, " \"", name, "\"; there are ",
              listed(names));
}

template <typename Table> std::vector<std::string> namesOf(const Table &table) {
  std::vector<std::string> names;
  for (const auto &entry : table)
    names.push_back(entry.first);
  return names;
}

} // namespace tinh::nn

#endif // TINH_NN_OPTIONREADER_H
