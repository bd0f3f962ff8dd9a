//===- Schedule.cpp - Order among steps -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits from what steps read and write.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Schedule.h"

#include <algorithm>
#include <map>

namespace tinh::planning {

Schedule::Schedule(size_t numSteps, const std::vector<Control> &controls)
    : finishedBefore(numSteps, -1) {
  std::vector<Unit> found(numSteps);
  for (uint32_t i = 0; i < numSteps; ++i)
    found[i] = {i, i};
  bool any = false;
  for (const Control &loop : controls) { // The outer one comes later.
    if (loop.kind != Control::Kind::Loop || !loop.alone)
      continue;
    std::fill(found.begin() + loop.first, found.begin() + loop.last + 1,
              Unit{loop.first, loop.last});
    any = true;
  }
  if (any)
    units = std::make_shared<const std::vector<Unit>>(std::move(found));
}

void Schedule::order(uint32_t a, uint32_t b) {
  if (unit(a) == unit(b))
    return;
  int32_t last = static_cast<int32_t>(unit(a).last);
  for (size_t i = unit(b).first;
       i < finishedBefore.size() && finishedBefore[i] < last; ++i)
    finishedBefore[i] = last;
}

std::vector<int32_t> Schedule::waits() const {
  std::vector<int32_t> waits(size(), -1);
  int32_t covered = -1;
  for (size_t i = 0; i < size(); ++i) {
    if (finishedBefore[i] > covered)
      waits[i] = covered = finishedBefore[i];
  }
  return waits;
}

namespace {

/// The latest steps that wrote and that accessed each buffer.
struct Latest {
  std::vector<int32_t> write, access;

  explicit Latest(size_t numBuffers)
      : write(numBuffers, -1), access(numBuffers, -1) {}

  /// The latest step that one with these accesses has to come after, or -1.
  int32_t before(const Accesses &step) const {
    int32_t last = -1;
    for (uint32_t buffer : step.reads)
      last = std::max(last, write[buffer]);
    for (uint32_t buffer : step.writes)
      last = std::max(last, access[buffer]);
    return last;
  }

  void add(const Accesses &step, uint32_t number) {
    auto i = static_cast<int32_t>(number);
    for (uint32_t buffer : step.reads)
      access[buffer] = i;
    for (uint32_t buffer : step.writes)
      write[buffer] = access[buffer] = i;
  }

  void join(const Latest &other) {
    for (size_t b = 0; b < write.size(); ++b) {
      write[b] = std::max(write[b], other.write[b]);
      access[b] = std::max(access[b], other.access[b]);
    }
  }
};

/// All that the steps of a unit read and write.
Accesses accessesOf(const std::vector<Accesses> &steps, Schedule::Unit unit) {
  Accesses all;
  for (uint32_t i = unit.first; i <= unit.last; ++i) {
    const Accesses &step = steps[i];
    all.reads.insert(all.reads.end(), step.reads.begin(), step.reads.end());
    all.writes.insert(all.writes.end(), step.writes.begin(), step.writes.end());
  }
  return all;
}

} // namespace

Schedule scheduleByAccesses(const std::vector<Accesses> &steps,
                            size_t numBuffers,
                            const std::vector<Control> &controls) {
  using Kind = Control::Kind;
  Schedule schedule(steps.size(), controls);
  Latest latest(numBuffers);
  // What held where branches began and, later, at the end of their first steps.
  std::map<uint32_t, Latest> before, inThen;
  std::map<uint32_t, const Control *> begins, turns, ends;
  for (const Control &control : controls) {
    begins[control.first] = &control;
    if (control.kind == Kind::Branch) {
      turns[control.otherwise] = &control;
      ends[control.last] = &control;
    }
  }
  auto add = [&](const Accesses &accesses, Schedule::Unit unit) {
    if (int32_t last = latest.before(accesses); last >= 0)
      schedule.order(static_cast<uint32_t>(last), unit.first);
    latest.add(accesses, unit.last);
  };
  for (uint32_t i = 0; i < steps.size(); ++i) {
    Schedule::Unit unit = schedule.unit(i);
    if (unit.last > i) {
      add(accessesOf(steps, unit), unit);
      i = unit.last;
      continue;
    }
    add(steps[i], unit);
    if (auto control = begins.find(i); control != begins.end()) {
      if (control->second->kind == Kind::Loop)
        schedule.order(i, i + 1);
      else
        before.emplace(i, latest);
    } else if (auto turn = turns.find(i); turn != turns.end()) {
      inThen.emplace(i, std::move(latest));
      latest = std::move(before.at(turn->second->first));
    } else if (auto end = ends.find(i); end != ends.end()) {
      latest.join(inThen.at(end->second->otherwise));
    }
  }
  return schedule;
}

} // namespace tinh::planning
