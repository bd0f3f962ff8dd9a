//===- schedule.cpp - Which steps a GPU does, and how they go to it -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows what is known of each execution of a step outside of branches
// and loops that are not unrolled. Of these we only know that they lie between
// what is before them and what is behind them: what they wait for by the plan,
// they wait for.
//
//===----------------------------------------------------------------------===//
#include "cuda/schedule/schedule.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tinh::runtime::cuda {

static bool is_empty(const tinh_step_t &step) {
  return (step.opcode == TINH_OP_COPY || step.opcode == TINH_OP_ZERO) &&
         step.size == 0;
}

/// Finds segments, and where the CPU waits for them. Executions have numbers.
class Schedule::Finder {
public:
  Finder(Schedule &schedule, const Steps &steps)
      : schedule(schedule), steps(steps), function(steps.function),
        all(find_executions(steps)), launch(all.size()), wait(all.size()),
        due(all.size(), kAtEnd), place(all.size()) {}

  void run() {
    find_copies();
    find_launches();
    find_dues();
    find_gates();
    make_segments();
    for (uint32_t i = 0; i < schedule.all_segments.size(); ++i)
      choose_stream(i);
  }

private:
  const tinh_step_t &step_of(uint32_t number) const {
    return function.steps[all[number].step];
  }
  bool is_node(uint32_t number) const {
    return schedule.kind[all[number].step] == StepKind::segment &&
           !is_empty(step_of(number));
  }
  /// Whether it is something that the CPU does, or reads.
  bool is_on_cpu(uint32_t number) const {
    const tinh_step_t &step = step_of(number);
    return schedule.kind[all[number].step] == StepKind::host &&
           (step.opcode < TINH_OP_BRANCH ? !is_empty(step)
                                         : step.num_buffers != 0);
  }
  /// Whether a loop begins of which the CPU does all.
  bool begins_cpu_loop(uint32_t number) const {
    uint32_t s = all[number].step;
    return function.steps[s].opcode == TINH_OP_LOOP &&
           !schedule.any(s, function.steps[s].target);
  }

  void find_copies();
  void find_launches();
  void find_dues();
  void find_gates();
  void make_segments();
  void choose_stream(uint32_t segment);
  bool touches_copies(uint32_t step) const;
  uint32_t needs_all_before(uint32_t number) const;
  std::vector<uint32_t> follows_in_segment(uint32_t number) const;

  Schedule &schedule;
  const Steps &steps;
  const tinh_function_desc_t &function;
  const std::vector<Execution> all;
  /// Of nodes: the position where each is launched, that which all workers must
  /// have come to, and the step of the CPU that needs it first.
  std::vector<uint32_t> launch, wait, due;
  struct Place {
    uint32_t segment = kNoSegment, node = 0;
  };
  std::vector<Place> place;
  /// What the GPU's copies access of the host's memory, and more.
  std::vector<Access> copies;
};

void Schedule::Finder::find_copies() {
  for (uint32_t s = 0; s < function.num_steps; ++s)
    if (steps.on_device[s] && function.steps[s].opcode == TINH_OP_COPY)
      for (const Access &access :
           accesses_of(steps.artifact, function, function.steps[s], {},
                       steps.lengths_around(s)))
        copies.push_back(access);
}

/// Whether a step of the CPU has memory in common with the GPU in any way that
/// needs an order.
bool Schedule::Finder::touches_copies(uint32_t s) const {
  std::vector<Access> own = accesses_of(
      steps.artifact, function, function.steps[s], {}, steps.lengths_around(s));
  return std::any_of(own.begin(), own.end(), [&](const Access &access) {
    return std::any_of(copies.begin(), copies.end(), [&](const Access &copy) {
      return access.conflicts(copy);
    });
  });
}

/// What the CPU does in branches and loops comes before all that waits for it,
/// and what follows them is launched behind them.
void Schedule::Finder::find_launches() {
  uint32_t block = 0, conditional = 0; // Behind the last of either.
  std::vector<uint32_t> conditional_before(all.size() + 1);
  for (uint32_t i = 0; i < all.size(); ++i) {
    uint32_t s = all[i].step;
    if (function.steps[s].opcode >= TINH_OP_BRANCH)
      block = std::max(s + 1, function.steps[s].opcode == TINH_OP_NEXT
                                  ? block
                                  : function.steps[s].target);
    if (steps.conditional[s] && is_on_cpu(i))
      conditional = s + 1;
    conditional_before[i + 1] = conditional;
    if (!is_node(i))
      continue;
    wait[i] = conditional_before[all[i].wait];
    launch[i] = std::max(block, wait[i]);
    for (uint32_t other : all[i].follows) {
      if (is_node(other))
        launch[i] = std::max(launch[i], launch[other]);
      else
        wait[i] = std::max(wait[i], all[other].step + 1);
    }
    launch[i] = std::max(launch[i], wait[i]);
  }
}

/// If execution `number` is one of the CPU's that the nodes before some number
/// all have to be finished for, that number; else 0. What is known of branches
/// and loops is no more than whether they have to do with the GPU at all.
uint32_t Schedule::Finder::needs_all_before(uint32_t number) const {
  uint32_t s = all[number].step;
  if (begins_cpu_loop(number)) {
    for (uint32_t end = function.steps[s].target; ++s < end;)
      if (touches_copies(s))
        return number;
    return 0;
  }
  return steps.conditional[s] && is_on_cpu(number) && touches_copies(s)
             ? all[number].wait
             : 0;
}

void Schedule::Finder::find_dues() {
  std::vector<uint32_t> all_before(all.size() + 1, kAtEnd);
  for (uint32_t i = 0; i < all.size(); ++i)
    if (uint32_t end = needs_all_before(i))
      all_before[end] = std::min(all_before[end], all[i].step);
  uint32_t least = kAtEnd;
  for (auto i = static_cast<uint32_t>(all.size()); i-- > 0;) {
    least = std::min(least, all_before[i + 1]);
    if (is_node(i))
      due[i] = std::min(due[i], least);
    uint32_t needed_at = is_node(i)     ? due[i]
                         : is_on_cpu(i) ? all[i].step
                                        : kAtEnd;
    for (uint32_t other : all[i].follows)
      due[other] = std::min(due[other], needed_at);
  }
}

/// Where something is due that has not been waited for on each way there.
void Schedule::Finder::find_gates() {
  // All that was due up to these steps is finished, and all loose steps before
  // these executions: in any case, and within a loop.
  int64_t passed = -1, passed_in_loop = -1;
  uint32_t loose = 0, loose_in_loop = 0, loop_end = 0;
  std::vector<uint32_t> last_due(all.size() + 1), last_loose(all.size() + 1);
  for (uint32_t i = 0; i < all.size(); ++i) {
    uint32_t s = all[i].step;
    bool has_due = is_node(i) && due[i] != kAtEnd;
    last_due[i + 1] = std::max(last_due[i], has_due ? due[i] : 0);
    last_loose[i + 1] = schedule.is_loose(s) ? i + 1 : last_loose[i];
    if (s >= loop_end)
      passed_in_loop = -1, loose_in_loop = 0;
    bool is_loop = begins_cpu_loop(i);
    if (!is_on_cpu(i) && !is_loop)
      continue;
    uint32_t before = needs_all_before(i);
    int64_t known = std::max(passed, passed_in_loop);
    bool gate = before != 0 && (steps.in_device_loop[s] || // In each iteration.
                                last_due[before] > known);
    for (uint32_t other : all[i].follows)
      gate |= is_node(other) && due[other] > known;
    if (last_loose[all[i].wait] > std::max(loose, loose_in_loop))
      gate |= before != 0 || touches_copies(s);
    schedule.all_gates[s] = gate;
    if (gate && !steps.conditional[s])
      passed = s, loose = i;
    if (is_loop && s >= loop_end)
      passed_in_loop = s, loose_in_loop = i, loop_end = step_of(i).target;
  }
}

/// Those that are launched and due alike, in the order of that: each needs none
/// behind it.
void Schedule::Finder::make_segments() {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> groups;
  for (uint32_t i = 0; i < all.size(); ++i)
    if (is_node(i))
      groups[{launch[i], due[i]}].push_back(i);
  for (const auto &[key, members] : groups) {
    auto number = static_cast<uint32_t>(schedule.all_segments.size());
    Segment &segment = schedule.all_segments.emplace_back();
    std::tie(segment.launch, segment.due) = key;
    segment.is_awaited = segment.due != kAtEnd;
    for (uint32_t i : members) {
      place[i] = {number, static_cast<uint32_t>(segment.nodes.size())};
      segment.wait = std::max(segment.wait, wait[i]);
      std::vector<uint32_t> follows = follows_in_segment(i);
      uint32_t implied = 0;
      for (uint32_t other : follows)
        implied = std::max(implied, segment.nodes[other].complete);
      std::erase_if(follows, [&](uint32_t other) { return other < implied; });
      for (uint32_t other : follows)
        implied += other == implied;
      segment.nodes.push_back(
          {all[i].step, all[i].iterations, std::move(follows), implied});
    }
  }
}

std::vector<uint32_t>
Schedule::Finder::follows_in_segment(uint32_t number) const {
  std::vector<uint32_t> nodes;
  for (uint32_t other : all[number].follows)
    if (place[other].segment == place[number].segment)
      nodes.push_back(place[other].node);
  return nodes;
}

void Schedule::Finder::choose_stream(uint32_t number) {
  std::vector<Segment> &segments = schedule.all_segments;
  Segment &segment = segments[number];
  std::vector<bool> needs(number);
  for (uint32_t i = 0; i < all.size(); ++i)
    if (place[i].segment == number)
      for (uint32_t other : all[i].follows)
        if (place[other].segment < number)
          needs[place[other].segment] = true;
  // Where steps are loose, the first stream has all of them in order.
  if (number > 0 && !schedule.has_loose)
    segment.stream = segments[number - 1].stream ^ !needs[number - 1];
  for (uint32_t other = number; other-- > 0 && segment.after == kNoSegment;)
    if (needs[other] && segments[other].stream != segment.stream) {
      segment.after = other;
      segments[other].is_awaited = true;
    }
}

Schedule::Schedule(const tinh_artifact_t &artifact,
                   const tinh_function_desc_t &function, bool one_by_one)
    : description(&function), kind(function.num_steps, StepKind::host),
      all_gates(function.num_steps + 1u) {
  Steps steps(artifact, function);
  for (uint32_t s = 0; s < function.num_steps; ++s)
    if (steps.on_device[s] || (steps.unrolled[s] && !one_by_one)) {
      bool loose = one_by_one || steps.conditional[s];
      kind[s] = loose ? StepKind::loose : StepKind::segment;
      has_loose |= loose;
    }
  if (any(0, function.num_steps) && !one_by_one)
    Finder(*this, steps).run();
}

bool Schedule::any(uint32_t begin, uint32_t end) const {
  return std::any_of(kind.begin() + begin, kind.begin() + end,
                     [](StepKind k) { return k != StepKind::host; });
}

} // namespace tinh::runtime::cuda
