//===- profile.cpp - Where the time of a run goes ---------------*- C++ -*-===//
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
#include "profile.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace tinh::tools {

static std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

static std::string name_of(const tinh_step_profile_t &step) {
  switch (step.kind) {
  case TINH_STEP_KERNEL:
    return step.kernel;
  case TINH_STEP_COPY:
    return "copy";
  case TINH_STEP_ZERO:
    return "zero";
  case TINH_STEP_LOOP:
    return "loop";
  case TINH_STEP_COLLECTIVE:
    return "collective";
  default:
    return "branch";
  }
}

static std::optional<double> unless_zero(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

/// `value` / `other`, if both are known.
static std::optional<double> ratio(std::optional<double> value, double other) {
  return value && other > 0 ? std::optional(*value / other) : std::nullopt;
}

static void add(std::optional<double> &sum, std::optional<double> value) {
  if (value)
    sum = sum.value_or(0) + *value;
}

/// Threads share whole chunks: those of the thread that has the most.
static double estimate_of(const tinh_step_profile_t &step,
                          const FunctionProfile &of) {
  if (of.clock == 0 || step.on_cuda || step.chunks == 0)
    return 0;
  uint64_t most = (step.chunks + of.threads - 1) / of.threads;
  double part = static_cast<double>(most) / static_cast<double>(step.chunks);
  return step.estimated_cycles * part / (of.clock * 1e6);
}

/// Rates and shares, from times and work.
static void derive(StepProfile &step, const FunctionProfile &of) {
  step.share = of.steps_time > 0 ? step.time / of.steps_time : 0;
  step.gflops = ratio(step.operations, step.time * 1e6);
  step.gbytes = ratio(step.bytes, step.time * 1e6);
  step.estimate_ratio = ratio(step.estimate, step.time);
  if (step.on_cuda)
    return;
  step.busy = ratio(unless_zero(step.work), of.threads * step.time);
  step.peak = ratio(step.gflops, of.peak());
  step.memory_peak = ratio(step.gbytes, of.core_bytes * of.clock * of.threads);
}

static StepProfile describe(const tinh_step_profile_t &measured, uint32_t index,
                            const FunctionProfile &of) {
  StepProfile step;
  step.step = index;
  step.kind = measured.kind;
  step.on_cuda = measured.on_cuda;
  step.name = name_of(measured);
  step.nodes = lines_of(measured.nodes);
  step.plan = measured.plan;
  step.num_steps_timed = measured.num_steps_timed;
  if (measured.runs == 0)
    return step;
  auto runs = static_cast<double>(measured.runs);
  step.executions = static_cast<double>(measured.executions) / runs;
  // A branch is taken in some runs: the time that it takes on average.
  double taken = runs / static_cast<double>(of.runs);
  step.time = measured.median_ms * taken;
  step.minimum = measured.min_ms;
  step.work = measured.work_ms * taken;
  step.executions *= taken;
  // A graph's work is that of all its steps.
  if (measured.num_steps_timed == 1) {
    auto work = [&](double once) {
      return unless_zero(once * step.executions);
    };
    step.operations = work(static_cast<double>(measured.operations));
    step.bytes = work(static_cast<double>(measured.bytes));
    step.estimate = work(estimate_of(measured, of));
  }
  return step;
}

std::vector<StepProfile> FunctionProfile::work() const {
  std::vector<StepProfile> result;
  std::ranges::copy_if(
      steps, std::back_inserter(result), [](const StepProfile &step) {
        return step.is_measured() && step.kind != TINH_STEP_LOOP;
      });
  return result;
}

/// Adds all but names and what follows.
static void accumulate(StepProfile &sum, const StepProfile &step) {
  sum.count += step.count;
  sum.executions += step.executions;
  sum.time += step.time;
  sum.minimum += step.minimum;
  sum.work += step.work;
  add(sum.operations, step.operations);
  add(sum.bytes, step.bytes);
  add(sum.estimate, step.estimate);
}

std::vector<StepProfile> FunctionProfile::kernels() const {
  std::vector<StepProfile> result;
  std::map<std::pair<std::string, bool>, size_t> known;
  for (const StepProfile &step : work()) {
    auto [at, is_new] =
        known.try_emplace({step.name, step.on_cuda}, result.size());
    if (is_new || step.num_steps_timed > 1) { // A graph is many kernels.
      result.push_back(step);
      continue;
    }
    StepProfile &sum = result[at->second];
    accumulate(sum, step);
    sum.nodes.insert(sum.nodes.end(), step.nodes.begin(), step.nodes.end());
  }
  for (StepProfile &kernel : result)
    derive(kernel, *this);
  return result;
}

StepProfile FunctionProfile::total() const {
  StepProfile sum;
  sum.count = 0;
  sum.num_steps_timed = 1;
  bool all_estimated = true;
  for (const StepProfile &step : work()) {
    accumulate(sum, step);
    sum.on_cuda |= step.on_cuda;
    all_estimated &= step.estimate.has_value();
  }
  if (!all_estimated) // Of some of the steps alone it would mislead.
    sum.estimate.reset();
  derive(sum, *this);
  return sum;
}

FunctionProfile make_profile(const Module &module, const Context &context,
                             uint32_t function, double clock) {
  tinh_function_profile_t whole = context.function_profile(function);
  FunctionProfile profile;
  profile.model = module.info().model;
  profile.function = module.function_info(function).name;
  profile.cpu = module.info().cpu;
  profile.threads = context.info().threads;
  profile.uses_cuda = context.info().uses_cuda;
  profile.runs = whole.runs;
  profile.lost = whole.lost;
  profile.time = whole.median_ms;
  profile.minimum = whole.min_ms;
  profile.clock = clock;
  profile.core_operations = whole.core_operations;
  profile.core_bytes = whole.core_bytes;
  for (uint32_t step = 0; step < whole.num_steps; ++step)
    profile.steps.push_back(
        describe(context.step_profile(step, function), step, profile));
  for (const StepProfile &step : profile.work())
    profile.steps_time += step.time;
  for (StepProfile &step : profile.steps)
    derive(step, profile);
  return profile;
}

} // namespace tinh::tools
