//===- report.h - What graph-run prints -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables for a person and JSON for a program.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_REPORT_H
#define TINH_TOOLS_REPORT_H

#include "profile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tinh::tools {

/// Times of the runs, in milliseconds.
struct Timings {
  std::string model;
  std::string gpu;          ///< Its name, if one is used.
  std::string why_not_cuda; ///< Why none is, of an artifact with code for one.
  std::string cuda_libraries; ///< What they compute, a line each.
  uint32_t threads = 0;
  double first_ms = 0;         ///< Of the very first run.
  std::vector<double> runs_ms; ///< Of the runs after the warm-up.
  /// Of the last run, by the GPU's clock.
  std::optional<double> gpu_ms;
  uint64_t arena_bytes = 0;
  uint64_t device_arena_bytes = 0;
  std::optional<FunctionProfile> profile; ///< If that is what is wanted.
};

void print_json(const Timings &timings);
void print_timings(const Timings &timings, bool percentiles);

} // namespace tinh::tools

#endif // TINH_TOOLS_REPORT_H
