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
                const std::string &compiled, const std::string &other = "") {
    llvm::outs() << llvm::formatv("  {0,-26} {1,14} {2,14}", what, eager,
                                  compiled);
    if (!other.empty())
      llvm::outs() << llvm::formatv(" {0,14}", other);
    llvm::outs() << "\n";
  };
  auto ms = [](double value) {
    return llvm::formatv("{0:F3} ms", value).str();
  };
  // What the other engine has of it.
  auto others = [&](llvm::function_ref<double(const Side &)> time) {
    return c.onnxRuntime ? ms(time(*c.onnxRuntime)) : "";
  };
  auto p99 = [](const Side &side) { return percentile(side.times, 99); };
  auto count = [](uint64_t value) {
    return llvm::formatv("{0:N}", value).str();
  };
  llvm::outs() << c.model << ", " << (c.gpu.empty() ? "" : c.gpu + " and ")
               << c.threads << " thread" << (c.threads == 1 ? "" : "s") << ", "
               << c.cpu << ", " << c.eager.times.size()
               << " runs each, in turns\n\n";
  row("", "eager", "compiled", c.onnxRuntime ? "onnxruntime" : "");
  row("compile", ms(c.eager.compile), ms(c.compiled.compile),
      others([](const Side &side) { return side.compile; }));
  row("first call", ms(c.eager.first), ms(c.compiled.first),
      others([](const Side &side) { return side.first; }));
  row("median", ms(c.eager.median()), ms(c.compiled.median()),
      others([](const Side &side) { return side.median(); }));
  row("99th percentile", ms(p99(c.eager)), ms(p99(c.compiled)), others(p99));
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
  if (c.onnxRuntime) {
    llvm::outs() << llvm::formatv(
        "  compiled is {0:F2} times as fast as ONNX Runtime {1}\n",
        c.onnxRuntime->median() / c.compiled.median(), c.onnxRuntime->version);
    difference("largest difference of ONNX Runtime's outputs",
               c.onnxRuntime->difference);
  }
  if (c.error)
    difference("largest error against the reference", *c.error);
}

/// JSON has no infinity.
static double finite(double number) {
  return std::min(number, std::numeric_limits<double>::max());
}

static nlohmann::json errorNumber(const Comparison &c,
                                  double Difference::*part) {
  if (!c.error)
    return nullptr;
  return finite(*c.error.*part);
}

static nlohmann::ordered_json otherJson(const OtherSide &other) {
  return {{"version", other.version},
          {"load_ms", other.compile},
          {"first_ms", other.first},
          {"median_ms", other.median()},
          {"p99_ms", percentile(other.times, 99)},
          {"max_abs_difference", finite(other.difference.absolute)},
          {"max_rel_difference", finite(other.difference.relative)}};
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
  if (c.onnxRuntime)
    json["onnxruntime"] = otherJson(*c.onnxRuntime);
  json["speedup"] = c.speedup();
  if (double calls = c.breakEven(); calls < 0)
    json["break_even_calls"] = nullptr; // Compiling never pays.
  else
    json["break_even_calls"] = std::ceil(calls);
  json["max_abs_difference"] = c.difference.absolute;
  json["max_rel_difference"] = c.difference.relative;
  json["max_abs_error"] = errorNumber(c, &Difference::absolute);
  json["max_rel_error"] = errorNumber(c, &Difference::relative);
  auto replace = nlohmann::ordered_json::error_handler_t::replace;
  llvm::outs() << json.dump(2, ' ', false, replace) << "\n";
}

} // namespace tinh::tools
