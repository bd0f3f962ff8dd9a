//===- assign.cpp - Whose the undivided steps are ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program/assign.h"

#include "artifact/step_buffers.h"
#include "program/program.h"

#include <algorithm>

namespace tinh::runtime {

namespace {

/// Cycles until a worker sees that another one is done with a step, and has
/// from its cache what that has written.
constexpr double kHandOver = 2000;

/// Iterations that a loop without a bound is taken to have.
constexpr double kUnknownLength = 100;

class Assigner {
public:
  Assigner(const Module &module, const tinh_function_desc_t &function,
           uint32_t num_workers)
      : module(module), function(function), last(num_workers - 1),
        owners(function.num_steps, last), now(num_workers, 0),
        passed(num_workers, std::vector<double>(function.num_steps, 0)) {}

  std::vector<uint32_t> run() {
    uint32_t loops = 0;
    for (uint32_t s = 0, end; s < function.num_steps; s = end) {
      const tinh_step_t &step = function.steps[s];
      bool alone = step.opcode == TINH_OP_LOOP && step.alone;
      end = alone ? step.target : s + 1;
      needed = std::max(needed, step.wait_for);
      loops += step.opcode == TINH_OP_LOOP && !alone;
      loops -= step.opcode == TINH_OP_NEXT;
      bool undivided = alone || (step.opcode < TINH_OP_BRANCH && loops == 0 &&
                                 is_one_piece(step));
      if (undivided && !is_collective(step))
        give(s, end, cycles(s, end));
      else
        divide(cycles(s, end));
      for (uint32_t worker = 0; worker <= last; ++worker)
        std::fill(passed[worker].begin() + s, passed[worker].begin() + end,
                  now[worker]);
    }
    return std::move(owners);
  }

private:
  double cycles(uint32_t begin, uint32_t end) const {
    double sum = 0;
    for (uint32_t s = begin; s < end; ++s) {
      const tinh_step_t &step = function.steps[s];
      if (step.opcode == TINH_OP_DISPATCH)
        sum += module.artifact().kernels[step.kernel].estimated_cycles;
    }
    const tinh_step_t &first = function.steps[begin];
    if (first.opcode != TINH_OP_LOOP || end == begin + 1)
      return sum;
    return sum * (first.num_chunks == INT64_MAX
                      ? kUnknownLength
                      : static_cast<double>(first.num_chunks));
  }

  /// When `worker` may begin with what waits for step `needed`.
  double ready(uint32_t worker) const {
    double time = now[worker];
    for (uint32_t other = 0; needed >= 0 && other <= last; ++other)
      if (double done = passed[other][static_cast<size_t>(needed)];
          other != worker && done > 0)
        time = std::max(time, done + kHandOver);
    return time;
  }

  /// Another worker than the last one is worth it if what waits for both is
  /// sooner ready in spite of the way between them.
  void give(uint32_t begin, uint32_t end, double cost) {
    uint32_t owner = last;
    double best = ready(last) + cost;
    for (uint32_t worker = 0; worker < last; ++worker)
      if (double done = ready(worker) + cost; done + kHandOver < best) {
        owner = worker;
        best = done;
      }
    now[owner] = best;
    std::fill(owners.begin() + begin, owners.begin() + end, owner);
  }

  void divide(double cost) {
    std::vector<double> begins;
    for (uint32_t worker = 0; worker <= last; ++worker)
      begins.push_back(ready(worker));
    for (uint32_t worker = 0; worker <= last; ++worker)
      now[worker] = begins[worker] + cost / (last + 1);
  }

  const Module &module;
  const tinh_function_desc_t &function;
  const uint32_t last;
  std::vector<uint32_t> owners;
  int32_t needed = -1;     ///< What the steps so far wait for.
  std::vector<double> now; ///< When each worker is done with them, in cycles.
  std::vector<std::vector<double>> passed; ///< The same at each step.
};

} // namespace

std::vector<uint32_t> assign_steps(const Module &module,
                                   const tinh_function_desc_t &function,
                                   uint32_t num_workers) {
  return Assigner(module, function, num_workers).run();
}

} // namespace tinh::runtime
