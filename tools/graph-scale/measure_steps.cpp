//===- measure_steps.cpp - Measured times of steps ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "input_source.h"
#include "inputs.h"
#include "measure.h"
#include "program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tinh::tools {

namespace {

/// Ranks of which there is this one alone: each collective is done at once, as
/// if all others had the same as this one.
class InertCollectives {
public:
  InertCollectives(uint32_t num_ranks, const tinh_collectives_t *real) {
    table.struct_size = sizeof table;
    table.num_ranks = num_ranks;
    table.num_local_ranks = 1;
    table.library = "none";
    table.start = start;
    table.wait = [](tinh_collectives_t *, uint64_t) -> const char * {
      return nullptr;
    };
    table.abort = [](tinh_collectives_t *, const char *) {};
    table.destroy = [](tinh_collectives_t *) {};
    if (real) {
      table.local_rank = real->local_rank;
      table.num_local_ranks = real->num_local_ranks;
      table.cpus = real->cpus;
    }
  }
  tinh_collectives_t *handle() { return &table; }

private:
  static const char *start(tinh_collectives_t *table,
                           const tinh_collective_t *what,
                           uint64_t *out_ticket) {
    *out_ticket = 0;
    size_t size = what->count * tinh_dtype_size(what->dtype);
    uint32_t parts = what->kind == TINH_ALL_GATHER ? table->num_ranks : 1;
    for (uint32_t part = 0; part < parts; ++part)
      if (char *to = static_cast<char *>(what->output) + part * size;
          to != what->input)
        std::memmove(to, what->input, size);
    return nullptr;
  }

  tinh_collectives_t table = {};
};

/// Runs of a function on random inputs.
class Runs {
public:
  Runs(const Module &module, const Context &context, uint32_t function)
      : context(context), function(function) {
    InputSource source("random");
    for (const tinh_tensor_info_t &tensor : module.inputs(function))
      add(source.read(tensor), inputs);
    for (const tinh_tensor_info_t &tensor : module.outputs(function))
      add(allocate(tensor, "output"), outputs);
  }

  void run() const { context.run(inputs, outputs, function); }

  /// As many as take so long, but a few at least.
  void run_for(double seconds) const {
    constexpr int kFewest = 5, kMost = 2000;
    using Clock = std::chrono::steady_clock;
    auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int i = 0; i < kFewest || (i < kMost && Clock::now() < end); ++i)
      run();
  }

private:
  void add(std::vector<char> bytes, Context::Buffers &buffers) {
    memory.push_back(std::move(bytes));
    buffers.push_back(buffer(memory.back()));
  }

  const Context &context;
  const uint32_t function;
  std::vector<std::vector<char>> memory;
  Context::Buffers inputs, outputs;
};

} // namespace

/// Whether a run has executed it; what is in a loop is part of the loop's time.
static std::vector<bool> are_measured(const tinh_function_desc_t &function) {
  std::vector<bool> measured(function.num_steps);
  uint32_t loop_end = 0;
  for (uint32_t i = 0; i < function.num_steps; ++i) {
    measured[i] = i >= loop_end;
    if (function.steps[i].opcode == TINH_OP_LOOP)
      loop_end = std::max(loop_end, function.steps[i].target);
  }
  return measured;
}

/// The time of a step in a run, on average: not all runs may have executed it.
static double seconds_of(const tinh_step_profile_t &step, uint64_t runs) {
  return step.median_ms * 1e-3 * static_cast<double>(step.runs) /
         static_cast<double>(runs);
}

/// By step, and that of a run behind them.
static std::vector<double> profile_of(const Context &context, uint32_t function,
                                      const std::vector<bool> &measured) {
  tinh_function_profile_t all = context.function_profile(function);
  if (all.runs == 0)
    throw UserError("the steps of a run are too many to be measured");
  std::vector<double> times;
  for (uint32_t i = 0; i < all.num_steps; ++i)
    times.push_back(
        measured[i] ? seconds_of(context.step_profile(i, function), all.runs)
                    : 0);
  times.push_back(all.median_ms * 1e-3);
  return times;
}

/// The steps of collectives were copies here, which do not count.
static void take_times(Plan &plan, const std::vector<double> &times) {
  double computed = 0, left = times.back();
  for (size_t i = 0; i < plan.steps.size(); ++i)
    (plan.steps[i].kind == PlanStep::Kind::compute ? computed : left) +=
        plan.steps[i].kind == PlanStep::Kind::compute ? times[i] : -times[i];
  double scale = computed > 0 ? std::max(left, 0.0) / computed : 0;
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (plan.steps[i].kind == PlanStep::Kind::compute)
      plan.steps[i].seconds = times[i] * scale;
}

void measure_steps(Plan &plan, const Module &module,
                   const tinh_artifact_t &program, uint32_t function,
                   const Ranks &ranks, const MeasureOptions &options) {
  InertCollectives collectives(plan.num_ranks ? plan.num_ranks : 2,
                               ranks.table());
  ContextOptions wanted = options.of_context;
  wanted.collectives = collectives.handle();
  wanted.measure_steps = true;
  Context context(module, wanted);
  if (&program_of(module, context) != &program)
    throw UserError("the artifact has no code for this GPU: give --device=cpu");
  Runs runs(module, context, function);
  runs.run();
  runs.run();
  std::vector<double> together(1);
  ranks.sum(together); // All begin now.
  context.reset_profile();
  runs.run_for(options.seconds);
  std::vector<double> times =
      profile_of(context, function, are_measured(program.functions[function]));
  ranks.sum(times);
  for (double &time : times)
    time /= ranks.count();
  take_times(plan, times);
}

} // namespace tinh::tools
