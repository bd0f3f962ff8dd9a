//===- compile_limits.h - Limits of compilations, as options ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_COMPILE_LIMITS_H
#define TINH_TOOLS_COMPILE_LIMITS_H

#include "command_line.h"
#include "compiler/Pipelines/ResourceLimits.h"
#include "compiler/Tuning/Tune.h"

#include <optional>
#include <string>

namespace tinh::tools {

/// --time-limit and --memory-limit, as they were given.
struct LimitArguments {
  std::optional<double> seconds;
  std::string memory;
};

/// "", or that `text` is no number of seconds, for CLI11.
std::string checkSeconds(const std::string &text);

void defineLimits(CLI::App &app, LimitArguments &arguments);

/// Sets `limits`: to what no compilation comes near where nothing was given.
/// False, which it says, if an argument is none.
bool readLimits(const LimitArguments &arguments,
                const tuning::PlanSources &plans, ResourceLimits &limits);

} // namespace tinh::tools

#endif // TINH_TOOLS_COMPILE_LIMITS_H
