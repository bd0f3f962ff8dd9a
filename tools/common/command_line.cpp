//===- command_line.cpp - What the tools' command lines share ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"

namespace tinh::tools {

static const CLI::Range threadRange(0, 4096);

void add_threads(CLI::App &app, uint32_t *threads) {
  app.add_option("--threads", *threads,
                 "threads that run the model; 0: as many as the process may "
                 "use")
      ->check(threadRange)
      ->capture_default_str();
}

void add_jobs(CLI::App &app, unsigned *jobs) {
  app.add_option("-j,--jobs", *jobs,
                 "threads that compile; 0: as many as there are CPUs")
      ->check(threadRange)
      ->capture_default_str();
}

void add_runs(CLI::App &app, uint32_t *runs) {
  app.add_option("--runs", *runs, "runs to time")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
}

std::optional<ExitCode> parse(CLI::App &app, int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exit_success : exit_usage;
  }
  return std::nullopt;
}

} // namespace tinh::tools
