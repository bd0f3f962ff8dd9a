//===- profile_report.cpp - Profiles as tables and as JSON ------*- C++ -*-===//
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
#include "profile_report.h"

#include "printable.h"
#include "table.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tinh::tools {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static std::string number(std::optional<double> value, int digits,
                          const char *unit = "") {
  if (!value)
    return "";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f%s", digits, *value, unit);
  return text;
}

static std::string percent(std::optional<double> part, int digits = 0) {
  return number(part ? std::optional(*part * 100) : part, digits, " %");
}

/// In milliseconds or, where whole runs are shorter than one, microseconds.
static std::string time_text(double milliseconds, const FunctionProfile &of) {
  return of.time < 1 ? number(milliseconds * 1000, 2, " µs")
                     : number(milliseconds, 3, " ms");
}

/// "/layer1/conv1/Conv +2": the first node, and how many there are beside.
static std::string nodes_text(const std::vector<std::string> &nodes) {
  constexpr size_t kWidth = 36;
  if (nodes.empty())
    return "";
  std::string text = shortened(nodes.front(), kWidth);
  if (nodes.size() > 1)
    text += " +" + std::to_string(nodes.size() - 1);
  return text;
}

static std::string name_text(const StepProfile &step) {
  constexpr size_t kWidth = 28;
  std::string name = shortened(step.name, kWidth);
  if (step.num_steps_timed > 1)
    return "CUDA graph of " + std::to_string(step.num_steps_timed) + " steps";
  return step.on_cuda ? name + " (GPU)" : name;
}

/// How often each of its steps is executed in a run.
static double times_of(const StepProfile &line) {
  return line.count > 0 ? line.executions / line.count : 1;
}

static std::string times_text(double times) {
  bool is_whole = times == static_cast<double>(static_cast<uint64_t>(times));
  return number(times, is_whole ? 0 : 2, "x");
}

namespace {

/// Whether lines are steps or kernels.
enum class Lines { steps, kernels };

} // namespace

static Table make_table(Lines lines) {
  using enum Table::Align;
  return Table({{lines == Lines::steps ? "step" : "steps", right},
                {"time", right},
                {"share", right},
                {"GFLOP/s", right},
                {"GB/s", right},
                {"peak", right},
                {"memory", right},
                {"estimate", right},
                {"busy", right},
                {"times", right},
                {"kernel", left},
                {"nodes", left},
                {"plan", left}});
}

static void add_line(Table &table, const StepProfile &step,
                     const FunctionProfile &of, const std::string &first,
                     const std::string &times) {
  // One thread is always at work.
  std::optional<double> busy = of.threads > 1 ? step.busy : std::nullopt;
  table.add({first, time_text(step.time, of), percent(step.share, 1),
             number(step.gflops, 1), number(step.gbytes, 1), percent(step.peak),
             percent(step.memory_peak), number(step.estimate_ratio, 2),
             percent(busy), times, step.name.empty() ? "all" : name_text(step),
             nodes_text(step.nodes), step.plan});
}

static void print_heading(const FunctionProfile &profile) {
  std::printf(
      "%s, %s: %llu run%s on %u thread%s, median %s, minimum %s\n",
      printable(profile.model).c_str(), printable(profile.function).c_str(),
      static_cast<unsigned long long>(profile.runs),
      profile.runs == 1 ? "" : "s", profile.threads,
      profile.threads == 1 ? "" : "s", time_text(profile.time, profile).c_str(),
      time_text(profile.minimum, profile).c_str());
  if (profile.clock > 0)
    std::printf("%.2f GHz", profile.clock);
  if (profile.peak() > 0)
    std::printf(", at best %.0f operations of f32 a cycle and core (%s): %.0f "
                "GFLOP/s",
                profile.core_operations, profile.cpu.c_str(), profile.peak());
  std::printf(profile.clock > 0 ? "\n\n" : "\n");
}

/// What the table does not have.
static void print_rest(const FunctionProfile &profile) {
  size_t unexecuted = 0, in_graphs = 0;
  for (const StepProfile &step : profile.steps)
    if (step.kind != TINH_STEP_CONTROL && !step.is_measured())
      ++(step.on_cuda && profile.uses_cuda ? in_graphs : unexecuted);
  if (in_graphs)
    std::printf(
        "%zu steps of the GPU have no time of their own: they are nodes "
        "of CUDA graphs, which are timed as a whole, or were not "
        "executed\n",
        in_graphs);
  if (unexecuted)
    std::printf("%zu step%s not executed\n", unexecuted,
                unexecuted == 1 ? " was" : "s were");
  if (profile.lost)
    std::printf("%llu runs more did not fit into memory\n",
                static_cast<unsigned long long>(profile.lost));
}

/// How much of whole runs the steps are. The fastest of each tell of the
/// runtime itself where other programs take the CPUs now and then: each run is
/// hit somewhere, and the median of a step is not.
static void print_sums(const FunctionProfile &profile,
                       const StepProfile &total) {
  auto compare = [&](const char *what, double steps, double run) {
    std::printf("%s: the steps take %s, %.1f %% of a run's %s%s\n", what,
                time_text(steps, profile).c_str(),
                run > 0 ? steps / run * 100 : 0,
                time_text(run, profile).c_str(),
                steps > run ? ": some of them overlap" : "");
  };
  compare("medians", total.time, profile.time);
  compare("minima", total.minimum, profile.minimum);
}

static void print_ending(const FunctionProfile &profile,
                         const std::string &order) {
  print_rest(profile);
  const char *others = order == "time"    ? "--profile=steps: in the order of "
                                            "the steps; --profile=kernels: by "
                                            "kernel"
                       : order == "steps" ? "--profile: the longest first; "
                                            "--profile=kernels: by kernel"
                                          : "--profile: by step, the longest "
                                            "first; --profile=steps: in their "
                                            "order";
  std::printf("%s; --json: everything\n", others);
}

void print_profile(const FunctionProfile &profile, const std::string &order) {
  Lines by = order == "kernels" ? Lines::kernels : Lines::steps;
  auto lines = by == Lines::kernels ? profile.kernels() : profile.work();
  if (order != "steps")
    std::ranges::stable_sort(lines, std::ranges::greater{}, &StepProfile::time);
  Table table = make_table(by);
  bool all_once = std::ranges::all_of(
      lines, [](const StepProfile &line) { return times_of(line) == 1; });
  for (const StepProfile &line : lines)
    add_line(table, line, profile,
             std::to_string(by == Lines::kernels ? line.count : line.step),
             all_once ? "" : times_text(times_of(line)));
  StepProfile total = profile.total();
  add_line(table, total, profile, "", "");
  print_heading(profile);
  std::printf("%s\n", table.text().c_str());
  print_sums(profile, total);
  print_ending(profile, order);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

using Json = nlohmann::ordered_json;

static Json json_of(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

static Json unless_zero(double value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

static const char *kind_text(tinh_step_kind_t kind) {
  static const char *const kTexts[] = {"kernel", "copy",   "zero",
                                       "loop",   "branch", "collective"};
  return kTexts[kind];
}

static Json json_of(const StepProfile &step) {
  Json json;
  json["step"] = step.step;
  json["kind"] = kind_text(step.kind);
  json["device"] = step.on_cuda ? "cuda" : "cpu";
  json["kernel"] =
      step.kind == TINH_STEP_KERNEL ? Json(step.name) : Json(nullptr);
  json["nodes"] = step.nodes;
  json["plan"] = step.plan;
  json["num_steps_timed"] = step.num_steps_timed;
  json["executions"] = step.executions;
  if (!step.is_measured())
    return json;
  json["ms"] = step.time;
  json["min_ms"] = step.minimum;
  json["work_ms"] = step.on_cuda ? Json(nullptr) : Json(step.work);
  json["share"] = step.share;
  json["busy"] = json_of(step.busy);
  json["operations"] = json_of(step.operations);
  json["bytes"] = json_of(step.bytes);
  json["gflops"] = json_of(step.gflops);
  json["gbytes_per_s"] = json_of(step.gbytes);
  json["peak"] = json_of(step.peak);
  json["memory_peak"] = json_of(step.memory_peak);
  json["estimated_ms"] = json_of(step.estimate);
  json["estimate_ratio"] = json_of(step.estimate_ratio);
  return json;
}

void print_profile_json(const FunctionProfile &profile) {
  Json json;
  json["model"] = profile.model;
  json["function"] = profile.function;
  json["cpu"] = profile.cpu;
  json["threads"] = profile.threads;
  json["runs"] = profile.runs;
  json["lost_runs"] = profile.lost;
  json["median_ms"] = profile.time;
  json["min_ms"] = profile.minimum;
  json["steps_ms"] = profile.steps_time;
  json["clock_ghz"] = unless_zero(profile.clock);
  json["core_operations_per_cycle"] = unless_zero(profile.core_operations);
  json["core_bytes_per_cycle"] = unless_zero(profile.core_bytes);
  json["peak_gflops"] = unless_zero(profile.peak());
  json["steps"] = Json::array();
  for (const StepProfile &step : profile.steps)
    json["steps"].push_back(json_of(step));
  auto replace = Json::error_handler_t::replace;
  std::printf("%s\n", json.dump(2, ' ', false, replace).c_str());
}

} // namespace tinh::tools
