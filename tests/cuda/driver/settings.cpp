//===- settings.cpp - What the fake driver does -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "settings.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

namespace tinh::fake {

[[noreturn]] static void refuse(const std::string &word) {
  std::fprintf(stderr, "fake CUDA driver: wrong setting '%s'\n", word.c_str());
  std::abort();
}

static uint64_t number(const std::string &text, const std::string &word,
                       int base = 10) {
  char *end = nullptr;
  uint64_t value = std::strtoull(text.c_str(), &end, base);
  if (text.empty() || *end)
    refuse(word);
  return value;
}

/// "a:b:c" as exactly so many parts.
static std::vector<std::string>
split(const std::string &text, const std::string &word, size_t count = 3) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ':');)
    parts.push_back(part);
  if (parts.size() != count)
    refuse(word);
  return parts;
}

static void apply(Settings &settings, const std::string &name,
                  const std::string &value, const std::string &word) {
  if (name == "order") {
    settings.descending = value == "descending";
  } else if (name == "poison") {
    settings.poison = uint8_t(number(value, word, 16));
  } else if (name == "copies") {
    settings.earlyCopies = value == "early";
  } else if (name == "races") {
    settings.races = number(value, word);
  } else if (name == "schedule") {
    settings.schedule = value == "newest"   ? Schedule::Newest
                        : value == "oldest" ? Schedule::Oldest
                                            : Schedule::Random;
    if (settings.schedule == Schedule::Random)
      settings.seed = number(value, word);
  } else if (name == "ignore") {
    auto parts = split(value, word);
    settings.ignored = {parts[0], parts[1] == "barrier",
                        uint32_t(number(parts[2], word))};
  } else if (name == "fail") {
    auto parts = split(value, word);
    settings.failures.push_back(
        {parts[0], number(parts[1], word), int(number(parts[2], word))});
  } else if (name == "fault") {
    auto parts = split(value, word, 2);
    settings.faultyKernel = parts[0];
    settings.fault = int(number(parts[1], word));
  } else if (name == "threads") {
    settings.threads = unsigned(number(value, word));
  } else if (name == "memory") {
    settings.memory = number(value, word);
  } else if (name == "record") {
    settings.record = number(value, word);
  } else if (name == "log") {
    settings.log = value;
  } else {
    refuse(word);
  }
}

Settings parseSettings(const std::string &text) {
  Settings settings;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    size_t equals = word.find('=');
    if (equals == std::string::npos)
      refuse(word);
    apply(settings, word.substr(0, equals), word.substr(equals + 1), word);
  }
  if (settings.threads == 0)
    settings.threads = std::max(1u, std::thread::hardware_concurrency());
  return settings;
}

} // namespace tinh::fake
