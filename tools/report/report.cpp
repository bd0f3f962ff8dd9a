//===- report.cpp - What graph-run prints -----------------------*- C++ -*-===//
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
#include "report.h"

#include "percentile.h"
#include "printable.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tinh::tools {

static std::vector<double> sorted_runs(const Timings &timings) {
  std::vector<double> sorted = timings.runs_ms;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

void print_json(const Timings &timings) {
  std::vector<double> sorted = sorted_runs(timings);
  nlohmann::ordered_json json;
  json["model"] = timings.model;
  json["device"] = timings.gpu.empty() ? "cpu" : "cuda";
  if (!timings.gpu.empty())
    json["gpu"] = timings.gpu;
  if (!timings.why_not_cuda.empty())
    json["why_not_cuda"] = timings.why_not_cuda;
  if (!timings.cuda_libraries.empty())
    json["cuda_libraries"] = timings.cuda_libraries;
  json["threads"] = timings.threads;
  json["runs"] = sorted.size();
  json["first_ms"] = timings.first_ms;
  json["min_ms"] = sorted.front();
  json["median_ms"] = percentile(sorted, 50);
  json["p90_ms"] = percentile(sorted, 90);
  json["p99_ms"] = percentile(sorted, 99);
  if (timings.gpu_ms)
    json["gpu_ms"] = *timings.gpu_ms;
  json["arena_bytes"] = timings.arena_bytes;
  if (!timings.gpu.empty())
    json["device_arena_bytes"] = timings.device_arena_bytes;
  auto replace = nlohmann::ordered_json::error_handler_t::replace;
  std::printf("%s\n", json.dump(2, ' ', false, replace).c_str());
}

void print_timings(const Timings &timings, bool percentiles) {
  std::vector<double> sorted = sorted_runs(timings);
  std::string gpu = timings.gpu.empty() ? "" : timings.gpu + " and ";
  std::printf("%s: %zu run%s on %s%u thread%s, first %.3f ms, median %.3f ms\n",
              printable(timings.model).c_str(), sorted.size(),
              sorted.size() == 1 ? "" : "s", gpu.c_str(), timings.threads,
              timings.threads == 1 ? "" : "s", timings.first_ms,
              percentile(sorted, 50));
  if (!timings.why_not_cuda.empty())
    std::printf("not on a GPU: %s\n", timings.why_not_cuda.c_str());
  std::printf("%s", timings.cuda_libraries.c_str());
  if (!percentiles)
    return;
  std::printf("  %-6s %12.3f ms\n", "min", sorted.front());
  for (double percent : {50.0, 90.0, 99.0})
    std::printf("  p%-5.0f %12.3f ms\n", percent, percentile(sorted, percent));
  std::printf("  %-6s %12.3f ms\n", "max", sorted.back());
}

} // namespace tinh::tools
