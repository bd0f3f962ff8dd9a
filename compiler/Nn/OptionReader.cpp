//===- OptionReader.cpp - Options by name, checked --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/OptionReader.h"

#include <charconv>
#include <cmath>

using namespace tinh;
using namespace tinh::nn;

//===----------------------------------------------------------------------===//
// From text
//===----------------------------------------------------------------------===//

Options tinh::parse_options(std::string_view text, At at) {
  Options options;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    size_t equals = part.find('=');
    std::string name(part.substr(0, equals));
    if (name.empty())
      eager::fail({"parse_options", at}, "\"", part,
                  "\" has no name; options are name=value,name=value");
    if (equals == part.npos)
      options.emplace_back(name, true);
    else
      options.emplace_back(name, std::string(part.substr(equals + 1)));
  }
  return options;
}

template <typename T> static std::optional<T> parsed(std::string_view text) {
  T value = {};
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

static std::optional<double> numberOf(const OptionValue &value) {
  if (const auto *number = std::get_if<double>(&value.value()))
    return *number;
  if (const auto *text = std::get_if<std::string>(&value.value()))
    return parsed<double>(*text);
  return std::nullopt;
}

static std::optional<bool> flagOf(const OptionValue &value) {
  if (const auto *flag = std::get_if<bool>(&value.value()))
    return *flag;
  if (const auto *text = std::get_if<std::string>(&value.value())) {
    if (*text == "true" || *text == "1")
      return true;
    if (*text == "false" || *text == "0")
      return false;
  }
  return std::nullopt;
}

static std::string textOf(const OptionValue &value) {
  std::ostringstream text;
  if (const auto *flag = std::get_if<bool>(&value.value()))
    text << (*flag ? "true" : "false");
  else
    std::visit([&](const auto &given) { text << given; }, value.value());
  return text.str();
}

//===----------------------------------------------------------------------===//
// OptionReader
//===----------------------------------------------------------------------===//

const OptionValue *OptionReader::take(const char *name) {
  known.push_back(name);
  const OptionValue *found = nullptr;
  for (const auto &[given, value] : options) {
    if (given != name)
      continue;
    if (found)
      eager::fail(call, what, ": option ", name, " is given twice");
    found = &value;
  }
  return found;
}

void OptionReader::failValue(const char *name, const char *expected,
                             const OptionValue &found) const {
  eager::fail(call, what, ": option ", name, " is \"", textOf(found),
              "\"; it must be ", expected);
}

template <typename T, typename Convert>
T OptionReader::read(const char *name, T otherwise, Convert convert,
                     const char *expected) {
  const OptionValue *given = take(name);
  if (!given)
    return otherwise;
  std::optional<T> value = convert(*given);
  if (!value)
    failValue(name, expected, *given);
  return *value;
}

double OptionReader::number(const char *name, double otherwise) {
  return read(name, otherwise, numberOf, "a number");
}

int64_t OptionReader::integer(const char *name, int64_t otherwise) {
  const OptionValue *given = take(name);
  return given ? integerOf(name, *given) : otherwise;
}

int64_t OptionReader::integer(const char *name) {
  if (const OptionValue *given = take(name))
    return integerOf(name, *given);
  eager::fail(call, what, ": option ", name, " is missing");
}

int64_t OptionReader::integerOf(const char *name,
                                const OptionValue &given) const {
  std::optional<double> value = numberOf(given);
  if (!value || *value != std::floor(*value) || std::abs(*value) > 0x1p53)
    failValue(name, "an integer", given);
  return static_cast<int64_t>(*value);
}

bool OptionReader::flag(const char *name, bool otherwise) {
  return read(name, otherwise, flagOf, "true or false");
}

std::vector<int64_t> OptionReader::integers(const char *name) {
  const OptionValue *given = take(name);
  if (!given)
    return {};
  std::vector<int64_t> values;
  std::string all = textOf(*given);
  std::string_view text = all;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    std::optional<int64_t> value = parsed<int64_t>(part);
    if (!value)
      failValue(name, "integers separated by colons", *given);
    values.push_back(*value);
  }
  return values;
}

size_t OptionReader::choice(const char *name,
                            const std::vector<std::string> &choices) {
  const OptionValue *given = take(name);
  if (!given)
    return 0;
  for (size_t i = 0; i < choices.size(); ++i)
    if (textOf(*given) == choices[i])
      return i;
  failValue(name, ("one of " + listed(choices)).c_str(), *given);
}

void OptionReader::finish() const {
  for (const auto &[given, value] : options)
    if (std::find(known.begin(), known.end(), given) == known.end())
      eager::fail(call, what, " has no option \"", given, "\"; it has ",
                  listed(known));
}

std::string nn::listed(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}
