//===- DevicePlan.cpp - How the steps of a function go to a GPU -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows what is known of each execution of a step outside of branches
// and loops that are not unrolled. Of these we only know that they lie between
// what is before them and what is behind them: what they wait for by the plan
// of the memory, they wait for.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/DevicePlan.h"

#include <algorithm>
#include <utility>

namespace tinh::planning {
namespace {

/// Finds segments, and where the CPU waits for them. Executions have numbers.
class Planner {
public:
  explicit Planner(const std::vector<DeviceStep> &all)
      : steps(all), executions(steps.executions()), launch(executions.size()),
        wait(executions.size()), due(executions.size(), TINH_AT_END),
        place(executions.size()) {}

  DevicePlan run() {
    chooseLaunches();
    findCopies();
    findLaunches();
    findDues();
    findGates();
    makeSegments();
    for (uint32_t i = 0; i < plan.segments.size(); ++i)
      chooseStream(i);
    return std::move(plan);
  }

private:
  uint32_t count() const { return static_cast<uint32_t>(executions.size()); }
  const DeviceStep &stepOf(uint32_t number) const {
    return steps.all[executions[number].step];
  }
  bool isNode(uint32_t number) const {
    return plan.launches[executions[number].step] == TINH_LAUNCH_SEGMENT &&
           !stepOf(number).isEmpty;
  }
  /// Whether it is something that the CPU does, or reads.
  bool isOnCpu(uint32_t number) const {
    const DeviceStep &step = stepOf(number);
    return plan.launches[executions[number].step] == TINH_LAUNCH_NONE &&
           (step.opcode < TINH_OP_BRANCH ? !step.isEmpty : step.readsDecision);
  }
  /// Whether a loop begins of which the CPU does all.
  bool beginsCpuLoop(uint32_t number) const {
    auto launches = plan.launches.begin();
    return stepOf(number).opcode == TINH_OP_LOOP &&
           std::all_of(launches + executions[number].step,
                       launches + stepOf(number).target, [](uint8_t launch) {
                         return launch == TINH_LAUNCH_NONE;
                       });
  }

  void chooseLaunches();
  void findCopies();
  void findLaunches();
  void findDues();
  void findGates();
  void beginSegment(uint32_t number);
  void makeSegments();
  void addNode(uint32_t number);
  void chooseStream(uint32_t segment);
  bool touchesCopies(uint32_t step) const;
  uint32_t needsAllBefore(uint32_t number) const;

  const DeviceSteps steps;
  const std::vector<Execution> executions;
  DevicePlan plan;
  bool hasLoose = false;
  /// Of nodes: the position where each is launched, that which all workers must
  /// have come to, and the step of the CPU that needs it first.
  std::vector<uint32_t> launch, wait, due;
  struct Place {
    uint32_t segment = TINH_NO_SEGMENT, node = 0;
  };
  std::vector<Place> place;
  /// By node: how many of its segment's first nodes it comes after.
  std::vector<uint32_t> complete;
  /// What the GPU's copies access of the host's memory, and more.
  std::vector<ByteAccess> copies;
};

void Planner::chooseLaunches() {
  plan.launches.assign(steps.size(), TINH_LAUNCH_NONE);
  plan.gates.assign(steps.size(), 0);
  for (uint32_t s = 0; s < steps.size(); ++s) {
    if (!steps.all[s].onDevice && !steps.unrolled[s])
      continue;
    plan.launches[s] =
        steps.conditional[s] ? TINH_LAUNCH_LOOSE : TINH_LAUNCH_SEGMENT;
    hasLoose |= steps.conditional[s];
  }
}

void Planner::findCopies() {
  for (uint32_t s = 0; s < steps.size(); ++s)
    if (steps.all[s].onDevice && steps.all[s].opcode == TINH_OP_COPY)
      for (const ByteAccess &access : steps.accesses(s))
        copies.push_back(access);
}

/// Whether a step of the CPU has memory in common with the GPU in any way that
/// needs an order.
bool Planner::touchesCopies(uint32_t s) const {
  std::vector<ByteAccess> own = steps.accesses(s);
  return std::any_of(own.begin(), own.end(), [&](const ByteAccess &access) {
    return std::any_of(
        copies.begin(), copies.end(),
        [&](const ByteAccess &copy) { return access.conflicts(copy); });
  });
}

/// What the CPU does in branches and loops comes before all that waits for it,
/// and what follows them is launched behind them.
void Planner::findLaunches() {
  uint32_t block = 0, conditional = 0; // Behind the last of either.
  std::vector<uint32_t> conditionalBefore(count() + 1);
  for (uint32_t i = 0; i < count(); ++i) {
    uint32_t s = executions[i].step;
    const DeviceStep &step = steps.all[s];
    if (step.opcode >= TINH_OP_BRANCH)
      block = std::max(
          {block, s + 1, step.opcode == TINH_OP_NEXT ? 0 : step.target});
    if (steps.conditional[s] && isOnCpu(i))
      conditional = s + 1;
    conditionalBefore[i + 1] = conditional;
    if (!isNode(i))
      continue;
    wait[i] = conditionalBefore[executions[i].wait];
    launch[i] = std::max(block, wait[i]);
    for (uint32_t other : executions[i].follows) {
      if (isNode(other))
        launch[i] = std::max(launch[i], launch[other]);
      else
        wait[i] = std::max(wait[i], executions[other].step + 1);
    }
    launch[i] = std::max(launch[i], wait[i]);
  }
}

/// If execution `number` is one of the CPU's that the nodes before some number
/// all have to be finished for, that number; else 0. What is known of branches
/// and loops is no more than whether they have to do with the GPU at all.
uint32_t Planner::needsAllBefore(uint32_t number) const {
  uint32_t s = executions[number].step;
  if (beginsCpuLoop(number)) {
    for (uint32_t end = steps.all[s].target; ++s < end;)
      if (touchesCopies(s))
        return number;
    return 0;
  }
  return steps.conditional[s] && isOnCpu(number) && touchesCopies(s)
             ? executions[number].wait
             : 0;
}

void Planner::findDues() {
  std::vector<uint32_t> allBefore(count() + 1, TINH_AT_END);
  for (uint32_t i = 0; i < count(); ++i)
    if (uint32_t end = needsAllBefore(i))
      allBefore[end] = std::min(allBefore[end], executions[i].step);
  uint32_t least = TINH_AT_END;
  for (uint32_t i = count(); i-- > 0;) {
    least = std::min(least, allBefore[i + 1]);
    if (isNode(i))
      due[i] = std::min(due[i], least);
    uint32_t neededAt = isNode(i)    ? due[i]
                        : isOnCpu(i) ? executions[i].step
                                     : TINH_AT_END;
    for (uint32_t other : executions[i].follows)
      due[other] = std::min(due[other], neededAt);
  }
}

/// Where something is due that has not been waited for on each way there.
void Planner::findGates() {
  // All that was due up to these steps is finished, and all loose steps before
  // these executions: in any case, and within a loop.
  int64_t passed = -1, passedInLoop = -1;
  uint32_t loose = 0, looseInLoop = 0, loopEnd = 0;
  std::vector<uint32_t> lastDue(count() + 1), lastLoose(count() + 1);
  for (uint32_t i = 0; i < count(); ++i) {
    uint32_t s = executions[i].step;
    bool hasDue = isNode(i) && due[i] != TINH_AT_END;
    lastDue[i + 1] = std::max(lastDue[i], hasDue ? due[i] : 0);
    lastLoose[i + 1] =
        plan.launches[s] == TINH_LAUNCH_LOOSE ? i + 1 : lastLoose[i];
    if (s >= loopEnd)
      passedInLoop = -1, looseInLoop = 0;
    bool isLoop = beginsCpuLoop(i);
    if (!isOnCpu(i) && !isLoop)
      continue;
    uint32_t before = needsAllBefore(i);
    int64_t known = std::max(passed, passedInLoop);
    bool gate = before != 0 && (steps.inDeviceLoop[s] || // In each iteration.
                                lastDue[before] > known);
    for (uint32_t other : executions[i].follows)
      gate |= isNode(other) && due[other] > known;
    if (lastLoose[executions[i].wait] > std::max(loose, looseInLoop))
      gate |= before != 0 || touchesCopies(s);
    plan.gates[s] = gate;
    if (gate && !steps.conditional[s])
      passed = s, loose = i;
    if (isLoop && s >= loopEnd)
      passedInLoop = s, looseInLoop = i, loopEnd = steps.all[s].target;
  }
}

/// Begins a segment with execution `number`, of those that are launched and due
/// as it is.
void Planner::beginSegment(uint32_t number) {
  tinh_device_segment_t &segment = plan.segments.emplace_back();
  segment = {};
  segment.first_node = static_cast<uint32_t>(plan.nodes.size());
  segment.launch = launch[number];
  segment.due = due[number];
  segment.after = TINH_NO_SEGMENT;
  segment.is_awaited = segment.due != TINH_AT_END;
}

/// Those that are launched and due alike, in the order of that: each needs none
/// behind it.
void Planner::makeSegments() {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> groups;
  for (uint32_t i = 0; i < count(); ++i)
    if (isNode(i))
      groups[{launch[i], due[i]}].push_back(i);
  for (const auto &[key, members] : groups) {
    beginSegment(members.front());
    for (uint32_t i : members) {
      tinh_device_segment_t &segment = plan.segments.back();
      segment.wait = std::max(segment.wait, wait[i]);
      ++segment.num_nodes;
      addNode(i);
    }
  }
}

/// To the last segment, with edges from what it follows there; those that
/// others imply are left out.
void Planner::addNode(uint32_t number) {
  auto segment = static_cast<uint32_t>(plan.segments.size() - 1);
  uint32_t first = plan.segments[segment].first_node;
  place[number] = {segment, static_cast<uint32_t>(plan.nodes.size()) - first};
  std::vector<uint32_t> follows;
  uint32_t implied = 0;
  for (uint32_t other : executions[number].follows)
    if (place[other].segment == segment) {
      follows.push_back(place[other].node);
      implied = std::max(implied, complete[first + place[other].node]);
    }
  std::erase_if(follows, [&](uint32_t other) { return other < implied; });
  for (uint32_t other : follows)
    implied += other == implied;
  complete.push_back(implied);
  uint32_t step = executions[number].step;
  plan.nodes.push_back(
      {step, steps.flatIteration(step, executions[number].iterations),
       static_cast<uint32_t>(plan.edges.size()),
       static_cast<uint32_t>(follows.size())});
  plan.edges.insert(plan.edges.end(), follows.begin(), follows.end());
}

void Planner::chooseStream(uint32_t number) {
  tinh_device_segment_t &segment = plan.segments[number];
  std::vector<bool> needs(number);
  for (uint32_t i = 0; i < count(); ++i)
    if (place[i].segment == number)
      for (uint32_t other : executions[i].follows)
        if (place[other].segment < number)
          needs[place[other].segment] = true;
  // Where steps are loose, the first stream has all of them in order.
  if (number > 0 && !hasLoose)
    segment.stream = plan.segments[number - 1].stream ^ !needs[number - 1];
  for (uint32_t other = number;
       other-- > 0 && segment.after == TINH_NO_SEGMENT;) {
    tinh_device_segment_t &earlier = plan.segments[other];
    if (needs[other] && earlier.stream != segment.stream) {
      segment.after = other;
      earlier.is_awaited = 1;
    }
  }
}

} // namespace

DevicePlan planDevice(const std::vector<DeviceStep> &steps) {
  return Planner(steps).run();
}

} // namespace tinh::planning
