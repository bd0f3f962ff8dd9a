//===- comparison.cpp - What graph-compare prints ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "comparison.h"

#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace tinh::tools {

void printTable(const Comparison &c) {
  auto row = [](const char *what, const std::string &eager,
                const std::string &compiled) {
    llvm::outs() << llvm::formatv("  {0,-26} {1,14} {2,14}\n", what, eager,
                                  compiled);
  };
  auto ms = [](double value) {
    return llvm::formatv("{0:F3} ms", value).str();
  };
  auto count = [](uint64_t value) {
    return llvm::formatv("{0:N}", value).str();
  };
  llvm::outs() << c.model << ", " << (c.gpu.empty() ? "" : c.gpu + " and ")
               << c.threads << " thread" << (c.threads == 1 ? "" : "s") << ", "
               << c.cpu << ", " << c.eager.times.size()
               << " runs each, in turns\n\n";
  row("", "eager", "compiled");
  row("compile", ms(c.eager.compile), ms(c.compiled.compile));
  row("first call", ms(c.eager.first), ms(c.compiled.first));
  row("median", ms(c.eager.median()), ms(c.compiled.median()));
  row("99th percentile", ms(percentile(c.eager.times, 99)),
      ms(percentile(c.compiled.times, 99)));
  if (!c.gpu.empty())
    row("median on the GPU", ms(percentile(c.eager.gpuTimes, 50)),
        ms(percentile(c.compiled.gpuTimes, 50)));
  row(c.gpu.empty() ? "kernel calls" : "kernel calls, copies",
      count(c.eagerKernels), count(c.main().dispatches));
  row("intermediate bytes", count(c.eagerBytes), count(c.arenaBytes()));
  row("  lower bound", "", count(c.lowerBoundBytes()));
  llvm::outs() << llvm::formatv("\n  compiled is {0:F2} times as fast; ",
                                c.speedup());
  if (c.breakEven() < 0)
    llvm::outs() << "compiling never pays\n";
  else
    llvm::outs() << llvm::formatv("compiling pays after {0:F0} calls\n",
                                  std::ceil(c.breakEven()));
  auto difference = [](const char *what, const Difference &d) {
    llvm::outs() << llvm::formatv("  {0}: {1:E2} ({2:E2} of the largest "
                                  "output)\n",
                                  what, d.absolute, d.relative);
  };
  difference("largest difference between the two", c.difference);
  if (c.error)
    difference("largest error against the reference", *c.error);
}

/// JSON has no infinity.
static nlohmann::json errorNumber(const Comparison &c,
                                  double Difference::*part) {
  if (!c.error)
    return nullptr;
  return std::min(*c.error.*part, std::numeric_limits<double>::max());
}

void printJson(const Comparison &c) {
  nlohmann::ordered_json json;
  json["model"] = c.model;
  json["threads"] = c.threads;
  json["cpu"] = c.cpu;
  if (!c.gpu.empty())
    json["gpu"] = c.gpu;
  json["runs"] = c.eager.times.size();
  json["eager"] = {{"compile_ms", c.eager.compile},
                   {"first_ms", c.eager.first},
                   {"median_ms", c.eager.median()},
                   {"p99_ms", percentile(c.eager.times, 99)},
                   {"kernels", c.eagerKernels},
                   {"bytes", c.eagerBytes}};
  json["compiled"] = {{"compile_ms", c.compiled.compile},
                      {"first_ms", c.compiled.first},
                      {"median_ms", c.compiled.median()},
                      {"p99_ms", percentile(c.compiled.times, 99)},
                      {"kernels", c.main().dispatches},
                      {"arena_bytes", c.arenaBytes()},
                      {"lower_bound_bytes", c.lowerBoundBytes()},
                      {"unplanned_bytes", c.unplannedBytes()}};
  if (!c.gpu.empty()) {
    json["eager"]["gpu_median_ms"] = percentile(c.eager.gpuTimes, 50);
    json["compiled"]["gpu_median_ms"] = percentile(c.compiled.gpuTimes, 50);
  }
  json["speedup"] = c.speedup();
  if (double calls = c.breakEven(); calls < 0)
    json["break_even_calls"] = nullptr; // Compiling never pays.
  else
    json["break_even_calls"] = std::ceil(calls);
  json["max_abs_difference"] = c.difference.absolute;
  json["max_rel_difference"] = c.difference.relative;
  json["max_abs_error"] = errorNumber(c, &Difference::absolute);
  json["max_rel_error"] = errorNumber(c, &Difference::relative);
  llvm::outs() << json.dump(2) << "\n";
}

} // namespace tinh::tools
