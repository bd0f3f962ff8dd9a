//===- command_line.h - What the tools' command lines share -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit codes, and options that several tools take: one name, one range, one
// meaning. Help texts begin in lower case, say defaults where they are not
// plain, and end without a full stop.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_COMMAND_LINE_H
#define TINH_TOOLS_COMMAND_LINE_H

#include "tinh/runtime.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinh::tools {

enum ExitCode {
  exit_success = 0,
  exit_wrong_input = 1,
  exit_usage = 2,
  exit_internal = 3
};

/// --threads: those that run the model. The default is what `*threads` holds.
void add_threads(CLI::App &app, uint32_t *threads);

/// --device: cpu, cuda or cuda:N, what the model runs on. Without it they keep
/// what they hold.
void add_device(CLI::App &app, tinh_use_device_t *device, uint32_t *gpu);

/// -j, --jobs: threads that compile it.
void add_jobs(CLI::App &app, unsigned *jobs);

/// --precision and --keep-f32: what the model's matmuls compute in, and what
/// is left out of that.
void add_precision(CLI::App &app, std::string *precision,
                   std::vector<std::string> *keep_f32);

/// --winograd: which of these algorithms convolutions may take.
void add_winograd(CLI::App &app, std::string *winograd);

/// --math: how exact exp, log and the like are.
void add_math(CLI::App &app, std::string *math);

/// --runs: how often it is run, with times. The default is what `*runs` holds.
void add_runs(CLI::App &app, uint32_t *runs);

/// An option that is one of some names, each of which is a value.
template <typename Value>
CLI::Option *add_choice(CLI::App &app, const char *name, Value *value,
                        const std::map<std::string, Value> &choices,
                        const char *help) {
  return app
      .add_option_function<std::string>(
          name,
          [value, &choices](const std::string &text) {
            *value = choices.at(text);
          },
          help)
      ->check(CLI::IsMember(&choices));
}

/// A check for what is compared with: any number but NaN.
CLI::Validator comparable();

/// Checks for a finite number above 0, for one that f32 holds as such, and for
/// any number from 0 on.
CLI::Validator positive();
CLI::Validator positive_in_f32();
CLI::Validator not_negative();

/// A check for one of `names` or a page's file, FILE.html.
CLI::Validator page_or(const std::vector<std::string> &names);

/// Whether that is a page's file.
bool is_page(const std::string &value);

/// Reads the command line; the exit code if the tool has no more to do.
/// `libraries`: what --version tells beside the tool's own.
std::optional<ExitCode> parse(CLI::App &app, int argc, char **argv,
                              const std::string &libraries = "");

} // namespace tinh::tools

#endif // TINH_TOOLS_COMMAND_LINE_H
