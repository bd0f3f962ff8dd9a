//===- executions.cpp - What a function executes, in order ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step waits for the steps up to its own wait_for or that of any step before
// it, whichever comes last, and an iteration for all before it. The memory plan
// so orders whatever accesses the same bytes, and much else that needs no
// order: what follows what is the part of that order which has to do with
// memory.
//
//===----------------------------------------------------------------------===//
#include "cuda/schedule/executions.h"

#include "artifact/steps.h"

#include <algorithm>

namespace tinh::runtime::cuda {

Steps::Steps(const tinh_artifact_t &artifact,
             const tinh_function_desc_t &function)
    : artifact(artifact), function(function), on_device(function.num_steps),
      unrolled(function.num_steps), conditional(function.num_steps),
      in_device_loop(function.num_steps), enclosing(enclosing_loops(function)) {
  for (uint32_t s = 0; s < function.num_steps; ++s)
    on_device[s] = runtime::on_device(artifact, function, function.steps[s]);
  uint32_t conditional_until = 0, device_loop_until = 0;
  uint64_t budget = kMaxUnrolled;
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    conditional[s] = s < conditional_until;
    in_device_loop[s] = s < device_loop_until;
    if (step.opcode == TINH_OP_LOOP && !conditional[s])
      find_unrolled(s, budget);
    if (step.opcode < TINH_OP_BRANCH || unrolled[s])
      continue;
    conditional_until = std::max(conditional_until, step.target);
    auto first = on_device.begin() + s;
    if (step.opcode == TINH_OP_LOOP &&
        std::find(first, on_device.begin() + step.target, true) !=
            on_device.begin() + step.target)
      device_loop_until = std::max(device_loop_until, step.target);
  }
}

/// How many steps are executed if the loop is unrolled; more than `limit` if it
/// cannot be, or not within that.
uint64_t Steps::count_executions(uint32_t loop, uint64_t limit) const {
  const tinh_step_t &begin = function.steps[loop];
  if (begin.num_buffers != 0)
    return limit + 1;
  uint64_t in_one = 0;
  for (uint32_t s = loop + 1; s + 1 < begin.target; ++s) {
    const tinh_step_t &step = function.steps[s];
    if (step.opcode == TINH_OP_LOOP) {
      in_one += count_executions(s, limit);
      s = step.target - 1;
    } else if (on_device[s]) {
      ++in_one;
    } else {
      return limit + 1;
    }
    if (in_one > limit)
      return limit + 1;
  }
  return in_one == 0 || begin.num_chunks > limit / in_one
             ? limit + 1
             : in_one * begin.num_chunks;
}

void Steps::find_unrolled(uint32_t loop, uint64_t &budget) {
  uint64_t count = count_executions(loop, budget);
  if (count > budget)
    return;
  budget -= count;
  for (uint32_t s = loop; s < function.steps[loop].target; ++s)
    unrolled[s] = function.steps[s].opcode >= TINH_OP_BRANCH;
}

std::vector<uint64_t> Steps::lengths_around(uint32_t step) const {
  std::vector<uint64_t> lengths;
  for (int32_t loop = enclosing[step]; loop >= 0;
       loop = enclosing[static_cast<uint32_t>(loop)])
    lengths.push_back(function.steps[loop].num_chunks);
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

namespace {

class Walk {
public:
  explicit Walk(const Steps &steps)
      : steps(steps), function(steps.function), latest(function.num_steps) {}

  std::vector<Execution> run() {
    for (uint32_t s = 0; s < function.num_steps;)
      s = steps.unrolled[s] ? iterate(s) : execute(s);
    return std::move(all);
  }

private:
  uint32_t number() const { return static_cast<uint32_t>(all.size()); }

  /// Begins or ends a loop; the step that is next.
  uint32_t iterate(uint32_t s) {
    const tinh_step_t &step = function.steps[s];
    wait_for(step);
    latest[s] = number();
    if (step.opcode == TINH_OP_LOOP) {
      if (step.num_chunks == 0) {
        std::fill(latest.begin() + s, latest.begin() + step.target, number());
        return step.target;
      }
      iterations.push_back(0);
    } else if (static_cast<uint64_t>(++iterations.back()) ==
               function.steps[step.target - 1].num_chunks) {
      iterations.pop_back();
      return s + 1;
    }
    wait = number(); // An iteration waits for all before it.
    return step.opcode == TINH_OP_LOOP ? s + 1 : step.target;
  }

  void wait_for(const tinh_step_t &step) {
    if (step.wait_for >= 0)
      wait = std::max(wait, latest[static_cast<uint32_t>(step.wait_for)]);
  }

  uint32_t execute(uint32_t s) {
    const tinh_step_t &step = function.steps[s];
    wait_for(step);
    if (step.opcode == TINH_OP_LOOP)
      wait = number();
    Execution execution = {s, iterations, wait, {}};
    if (!steps.conditional[s])
      execution.follows = order.add(
          number(), wait,
          accesses_of(steps.artifact, function, step, iterations, {}));
    all.push_back(std::move(execution));
    latest[s] = number();
    return s + 1;
  }

  const Steps &steps;
  const tinh_function_desc_t &function;
  std::vector<uint32_t> latest; ///< Behind the latest execution of each step.
  std::vector<int64_t> iterations;
  AccessOrder order;
  uint32_t wait = 0;
  std::vector<Execution> all;
};

} // namespace

std::vector<Execution> find_executions(const Steps &steps) {
  return Walk(steps).run();
}

} // namespace tinh::runtime::cuda
