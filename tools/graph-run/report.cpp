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

#include "inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tinh::tools {

double percentile(const std::vector<double> &sorted, double percent) {
  double rank = std::ceil(percent / 100 * double(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

static std::vector<double> sorted_runs(const Timings &timings) {
  std::vector<double> sorted = timings.runs_ms;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

void print_json(const Timings &timings) {
  std::vector<double> sorted = sorted_runs(timings);
  nlohmann::ordered_json json;
  json["model"] = timings.model;
  if (!timings.gpu.empty())
    json["gpu"] = timings.gpu;
  json["threads"] = timings.threads;
  json["runs"] = sorted.size();
  json["first_ms"] = timings.first_ms;
  json["min_ms"] = sorted.front();
  json["median_ms"] = percentile(sorted, 50);
  json["p90_ms"] = percentile(sorted, 90);
  json["p99_ms"] = percentile(sorted, 99);
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
              timings.model.c_str(), sorted.size(),
              sorted.size() == 1 ? "" : "s", gpu.c_str(), timings.threads,
              timings.threads == 1 ? "" : "s", timings.first_ms,
              percentile(sorted, 50));
  if (!percentiles)
    return;
  std::printf("  %-6s %12.3f ms\n", "min", sorted.front());
  for (double percent : {50.0, 90.0, 99.0})
    std::printf("  p%-5.0f %12.3f ms\n", percent, percentile(sorted, percent));
  std::printf("  %-6s %12.3f ms\n", "max", sorted.back());
}

static void print_tensor(const char *kind, const tinh_tensor_info_t &tensor) {
  std::printf("  %-7s %-32s %-24s %12llu bytes\n", kind, tensor.name,
              type_text(tensor).c_str(),
              static_cast<unsigned long long>(tensor.size));
}

static void print_function(const tinh_module_t *module, uint32_t index) {
  tinh_function_info_t function;
  tinh_tensor_info_t tensor;
  if (tinh_module_function_info(module, index, &function) != TINH_OK)
    return;
  std::printf("\nfunction %s%s\n", function.name,
              function.mutates_state ? " (updates state)" : "");
  for (uint32_t i = 0; i < function.num_inputs; ++i)
    if (tinh_module_input_info(module, index, i, &tensor) == TINH_OK)
      print_tensor("input", tensor);
  for (uint32_t i = 0; i < function.num_outputs; ++i)
    if (tinh_module_output_info(module, index, i, &tensor) == TINH_OK)
      print_tensor("output", tensor);
  std::printf("  steps %u, arena %llu bytes (lower bound %llu, without reuse "
              "%llu)\n",
              function.num_steps,
              static_cast<unsigned long long>(function.arena_size),
              static_cast<unsigned long long>(function.lower_bound_size),
              static_cast<unsigned long long>(function.unplanned_size));
  if (function.device_arena_size)
    std::printf(
        "  on the GPU: arena %llu bytes (lower bound %llu, without "
        "reuse %llu)\n",
        static_cast<unsigned long long>(function.device_arena_size),
        static_cast<unsigned long long>(function.device_lower_bound_size),
        static_cast<unsigned long long>(function.device_unplanned_size));
}

static void print_variables(const tinh_module_t *module, uint32_t count) {
  tinh_variable_info_t variable;
  if (count)
    std::printf("\nvariables\n");
  for (uint32_t i = 0; i < count; ++i)
    if (tinh_module_variable_info(module, i, &variable) == TINH_OK)
      print_tensor(variable.trainable ? "trained" : "kept", variable.type);
}

void print_module(const tinh_module_t *module) {
  tinh_module_info_t info;
  if (tinh_module_info(module, &info) != TINH_OK)
    return;
  std::printf("model %s, by %s, for %s%s\n", info.model, info.producer,
              info.cpu, info.needs_cuda ? " and an NVIDIA GPU" : "");
  std::printf("weights %llu bytes, state %llu bytes, %u kernels\n",
              static_cast<unsigned long long>(info.weights_size),
              static_cast<unsigned long long>(info.state_size),
              info.num_kernels);
  if (info.device_state_size)
    std::printf("state on the GPU %llu bytes\n",
                static_cast<unsigned long long>(info.device_state_size));
  for (uint32_t i = 0; i < info.num_functions; ++i)
    print_function(module, i);
  print_variables(module, info.num_variables);
}

} // namespace tinh::tools
