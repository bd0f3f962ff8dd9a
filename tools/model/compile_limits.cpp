//===- compile_limits.cpp - Limits of compilations, as options --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compile_limits.h"

#include "compiler/Pipelines/MemoryBudget.h"

namespace tinh::tools {

std::string checkSeconds(const std::string &text) {
  double seconds;
  bool isNumber = CLI::detail::lexical_cast(text, seconds);
  return isNumber && seconds > 0 && seconds <= 1e9
             ? ""
             : "expected seconds, more than 0 and at most 1e9, not " + text;
}

void defineLimits(CLI::App &app, LimitArguments &arguments) {
  app.add_option("--time-limit", arguments.seconds,
                 "end with an error when compiling has taken so many seconds; "
                 "if not given, 4 hours, and what --tune takes")
      ->type_name("SECONDS")
      ->check(checkSeconds);
  app.add_option(
         "--memory-limit", arguments.memory,
         "end with an error when compiling takes so much memory: 8GB or "
         "8GiB; if not given, nine tenths of what the process may have")
      ->type_name("SIZE");
}

bool readLimits(const LimitArguments &arguments,
                const tuning::PlanSources &plans, ResourceLimits &limits) {
  constexpr double kSeconds = 4 * 3600;
  limits.seconds = arguments.seconds.value_or(
      kSeconds + (plans.tune ? plans.tune->seconds : 0));
  limits.bytes = availableMemory() / 10 * 9;
  if (arguments.memory.empty())
    return true;
  auto bytes = parseMemorySize(arguments.memory);
  if (!bytes) {
    llvm::errs() << "error: " << malformedMemorySize(arguments.memory) << "\n";
    return false;
  }
  limits.bytes = *bytes;
  return true;
}

} // namespace tinh::tools
