//===- DeviceSteps.cpp - What a function executes, in order -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step waits for the steps up to its own waitFor or that of any step before
// it, whichever comes last, and an iteration for all before it. The memory plan
// so orders whatever accesses the same bytes, and much else that needs no
// order: what follows what is the part of that order which has to do with
// memory.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/DeviceSteps.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tinh::planning {

/// For each step the LOOP that it lies in, or -1. A LOOP lies outside its loop
/// and a NEXT inside.
static std::vector<int32_t> enclosingLoops(const std::vector<DeviceStep> &all) {
  std::vector<int32_t> enclosing(all.size(), -1);
  int32_t innermost = -1;
  for (size_t s = 0; s < all.size(); ++s) {
    enclosing[s] = innermost;
    if (all[s].opcode == TINH_OP_LOOP)
      innermost = static_cast<int32_t>(s);
    else if (all[s].opcode == TINH_OP_NEXT)
      innermost = enclosing[static_cast<size_t>(innermost)];
  }
  return enclosing;
}

DeviceSteps::DeviceSteps(const std::vector<DeviceStep> &steps)
    : all(steps), unrolled(steps.size()), conditional(steps.size()),
      inDeviceLoop(steps.size()), enclosing(enclosingLoops(steps)) {
  uint32_t conditionalUntil = 0, deviceLoopUntil = 0;
  uint64_t budget = kMaxUnrolled;
  for (uint32_t s = 0; s < size(); ++s) {
    const DeviceStep &step = all[s];
    conditional[s] = s < conditionalUntil;
    inDeviceLoop[s] = s < deviceLoopUntil;
    if (step.opcode == TINH_OP_LOOP && !conditional[s])
      findUnrolled(s, budget);
    if (step.opcode < TINH_OP_BRANCH || unrolled[s])
      continue;
    conditionalUntil = std::max(conditionalUntil, step.target);
    if (step.opcode == TINH_OP_LOOP &&
        std::any_of(all.begin() + s, all.begin() + step.target,
                    [](const DeviceStep &in) { return in.onDevice; }))
      deviceLoopUntil = std::max(deviceLoopUntil, step.target);
  }
}

/// How many steps are executed if the loop is unrolled; more than `limit` if it
/// cannot be, or not within that.
uint64_t DeviceSteps::countExecutions(uint32_t loop, uint64_t limit) const {
  const DeviceStep &begin = all[loop];
  if (begin.readsDecision)
    return limit + 1;
  uint64_t inOne = 0;
  for (uint32_t s = loop + 1; s + 1 < begin.target; ++s) {
    if (all[s].opcode == TINH_OP_LOOP) {
      inOne += countExecutions(s, limit);
      s = all[s].target - 1;
    } else if (all[s].onDevice) {
      ++inOne;
    } else {
      return limit + 1;
    }
    if (inOne > limit)
      return limit + 1;
  }
  return inOne == 0 || begin.iterations > limit / inOne
             ? limit + 1
             : inOne * begin.iterations;
}

void DeviceSteps::findUnrolled(uint32_t loop, uint64_t &budget) {
  uint64_t count = countExecutions(loop, budget);
  if (count > budget)
    return;
  budget -= count;
  for (uint32_t s = loop; s < all[loop].target; ++s)
    unrolled[s] = all[s].opcode >= TINH_OP_BRANCH;
}

/// Of all loops around a step, the outermost first.
std::vector<uint64_t> DeviceSteps::lengthsAround(uint32_t step) const {
  std::vector<uint64_t> lengths;
  for (int32_t loop = enclosing[step]; loop >= 0;
       loop = enclosing[static_cast<uint32_t>(loop)])
    lengths.push_back(all[static_cast<uint32_t>(loop)].iterations);
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

uint32_t
DeviceSteps::flatIteration(uint32_t step,
                           const std::vector<int64_t> &iterations) const {
  std::vector<uint64_t> lengths = lengthsAround(step);
  uint64_t flat = 0;
  for (size_t i = 0; i < iterations.size(); ++i)
    flat = flat * lengths[i] + static_cast<uint64_t>(iterations[i]);
  return static_cast<uint32_t>(flat); // At most kMaxUnrolled.
}

/// Moves an access to these iterations; by loops beyond them it grows.
static void move(ByteAccess &access, const std::vector<tinh_stride_t> &strides,
                 const std::vector<int64_t> &iterations,
                 const std::vector<uint64_t> &lengths) {
  for (const tinh_stride_t &stride : strides) {
    auto bytes = static_cast<uint64_t>(stride.bytes); // Wraps if negative.
    if (stride.loop < iterations.size()) {
      bytes *= static_cast<uint64_t>(iterations[stride.loop]);
      access.begin += bytes;
      access.end += bytes;
    } else if (lengths[stride.loop] != 0) {
      bytes *= lengths[stride.loop] - 1;
      (stride.bytes < 0 ? access.begin : access.end) += bytes;
    }
  }
}

std::vector<ByteAccess>
DeviceSteps::accesses(uint32_t step,
                      const std::vector<int64_t> &iterations) const {
  std::vector<uint64_t> lengths = lengthsAround(step);
  std::vector<ByteAccess> accesses;
  for (const MovingAccess &access : all[step].accesses)
    move(accesses.emplace_back(access), access.strides, iterations, lengths);
  return accesses;
}

namespace {

class Walk {
public:
  explicit Walk(const DeviceSteps &steps)
      : steps(steps), latest(steps.size()) {}

  std::vector<Execution> run() {
    for (uint32_t s = 0; s < steps.size();)
      s = steps.unrolled[s] ? iterate(s) : execute(s);
    return std::move(all);
  }

private:
  uint32_t number() const { return static_cast<uint32_t>(all.size()); }

  /// Begins or ends a loop; the step that is next.
  uint32_t iterate(uint32_t s) {
    const DeviceStep &step = steps.all[s];
    waitFor(step);
    latest[s] = number();
    if (step.opcode == TINH_OP_LOOP) {
      if (step.iterations == 0) {
        std::fill(latest.begin() + s, latest.begin() + step.target, number());
        return step.target;
      }
      iterations.push_back(0);
    } else if (static_cast<uint64_t>(++iterations.back()) ==
               steps.all[step.target - 1].iterations) {
      iterations.pop_back();
      return s + 1;
    }
    wait = number(); // An iteration waits for all before it.
    return step.opcode == TINH_OP_LOOP ? s + 1 : step.target;
  }

  void waitFor(const DeviceStep &step) {
    if (step.waitFor >= 0)
      wait = std::max(wait, latest[static_cast<uint32_t>(step.waitFor)]);
  }

  uint32_t execute(uint32_t s) {
    waitFor(steps.all[s]);
    if (steps.all[s].opcode == TINH_OP_LOOP)
      wait = number();
    Execution execution = {s, iterations, wait, {}};
    if (!steps.conditional[s])
      execution.follows =
          order.add(number(), wait, steps.accesses(s, iterations));
    if (steps.all[s].opcode == TINH_OP_AWAIT)
      follow(execution, latest[steps.all[s].target] - 1);
    if (steps.all[s].opcode == TINH_OP_START) {
      if (lastStart)
        follow(execution, *lastStart);
      lastStart = number();
    }
    all.push_back(std::move(execution));
    latest[s] = number();
    return s + 1;
  }

  /// Whatever else it follows. All ranks start collectives in one order.
  static void follow(Execution &execution, uint32_t other) {
    auto &follows = execution.follows;
    auto at = std::lower_bound(follows.begin(), follows.end(), other);
    if (at == follows.end() || *at != other)
      follows.insert(at, other);
  }

  const DeviceSteps &steps;
  std::vector<uint32_t> latest; ///< Behind the latest execution of each step.
  std::vector<int64_t> iterations;
  AccessOrder order;
  std::optional<uint32_t> lastStart;
  uint32_t wait = 0;
  std::vector<Execution> all;
};

} // namespace

std::vector<Execution> DeviceSteps::executions() const {
  return Walk(*this).run();
}

} // namespace tinh::planning
