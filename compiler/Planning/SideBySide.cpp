//===- SideBySide.cpp - Loops that workers do at once -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops move down, past steps that need nothing of them, until they are
// neighbours.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/SideBySide.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tinh::planning {
namespace {

using Unit = Schedule::Unit;

/// Bytes by which an arena may grow, if not by an eighth.
constexpr uint64_t kKeptApart = 64u << 10;

/// Moves loops in an order of a problem's steps.
class Gatherer {
public:
  explicit Gatherer(const Problem &problem)
      : problem(problem), schedule(problem.steps.size(), problem.controls),
        isBound(problem.steps.size(), false), order(problem.steps.size()) {
    std::iota(order.begin(), order.end(), 0);
    for (const Control &control : problem.controls)
      for (uint32_t step = control.first; step <= control.last; ++step)
        isBound[step] = true;
  }

  /// The last loop first: what comes before it goes to where it is then.
  std::vector<uint32_t> run() {
    for (uint32_t place = static_cast<uint32_t>(order.size()); place-- > 0;)
      if (isLoop(place))
        sink(place);
    return std::move(order);
  }

private:
  Unit unitAt(uint32_t place) const { return schedule.unit(order[place]); }

  /// Whether a loop that one worker does begins there, in no other one.
  bool isLoop(uint32_t place) const {
    Unit unit = unitAt(place);
    return unit.first == order[place] && unit.last > unit.first &&
           std::none_of(problem.controls.begin(), problem.controls.end(),
                        [&](const Control &control) {
                          return control.first < unit.first &&
                                 unit.last <= control.last;
                        });
  }

  /// The buffer and all that it is a part of.
  void add(uint32_t buffer, std::set<uint32_t> &buffers) const {
    for (int64_t at = buffer; at >= 0; at = problem.buffers[at].partOf)
      buffers.insert(static_cast<uint32_t>(at));
  }

  bool meets(uint32_t buffer, const std::set<uint32_t> &buffers) const {
    for (int64_t at = buffer; at >= 0; at = problem.buffers[at].partOf)
      if (buffers.count(static_cast<uint32_t>(at)))
        return true;
    return false;
  }

  void sink(uint32_t place) {
    Unit loop = unitAt(place);
    std::set<uint32_t> read, written;
    for (uint32_t i = loop.first; i <= loop.last; ++i) {
      for (uint32_t buffer : problem.steps[i].reads)
        add(buffer, read);
      for (uint32_t buffer : problem.steps[i].writes)
        add(buffer, written);
    }
    auto needs = [&](const Step &step) {
      auto isWritten = [&](uint32_t b) { return meets(b, written); };
      auto isUsed = [&](uint32_t b) { return isWritten(b) || meets(b, read); };
      return std::any_of(step.reads.begin(), step.reads.end(), isWritten) ||
             std::any_of(step.writes.begin(), step.writes.end(), isUsed);
    };
    uint32_t size = loop.last - loop.first + 1, next = place + size;
    while (next < order.size() && !isLoop(next) && !isBound[order[next]] &&
           !needs(problem.steps[order[next]]))
      ++next;
    if (next == order.size() || !isLoop(next))
      return;
    Unit other = unitAt(next);
    for (uint32_t i = other.first; i <= other.last; ++i)
      if (needs(problem.steps[i]))
        return;
    auto from = order.begin() + place;
    std::rotate(from, from + size, order.begin() + next);
  }

  const Problem &problem;
  Schedule schedule;         ///< For its units alone.
  std::vector<bool> isBound; ///< Steps of branches and loops.
  std::vector<uint32_t> order;
};

} // namespace

std::vector<uint32_t> gatherLoops(Problem &problem) {
  std::vector<uint32_t> order = Gatherer(problem).run();
  std::vector<uint32_t> place(order.size());
  std::vector<Step> steps;
  for (uint32_t step : order) {
    place[step] = static_cast<uint32_t>(steps.size());
    steps.push_back(std::move(problem.steps[step]));
  }
  problem.steps = std::move(steps);
  for (Control &control : problem.controls) {
    bool isBranch = control.kind == Control::Kind::Branch;
    control.otherwise = isBranch ? place[control.otherwise] : 0;
    control.first = place[control.first];
    control.last = place[control.last];
  }
  return order;
}

void keepLoopsApart(const Schedule &schedule,
                    const std::vector<Control> &controls,
                    const ArenaOptions &options, std::vector<Lifetime> &lives) {
  std::vector<Unit> loops;
  for (const Control &control : controls)
    if (Unit unit = schedule.unit(control.first); unit.last > unit.first)
      if (loops.empty() || loops.back() != unit)
        loops.push_back(unit);
  std::sort(loops.begin(), loops.end(),
            [](Unit a, Unit b) { return a.first < b.first; });
  loops.erase(std::unique(loops.begin(), loops.end()), loops.end());
  auto bound = [&](const std::vector<Lifetime> &of) {
    return liveLowerBound(of, schedule.size(), options.alignment);
  };
  for (size_t begin = 0, end; begin < loops.size(); begin = end) {
    for (end = begin + 1;
         end < loops.size() && loops[end].first == loops[end - 1].last + 1 &&
         !schedule.happensBefore(loops[end - 1].first, loops[end].first);
         ++end) {
    }
    if (end == begin + 1)
      continue;
    Unit all = {loops[begin].first, loops[end - 1].last};
    auto isIn = [&](uint32_t step) {
      return all.first <= step && step <= all.last;
    };
    std::vector<Lifetime> apart = lives;
    for (Lifetime &life : apart) {
      if (life.hasGap())
        continue;
      bool begins = isIn(life.first), ends = isIn(life.last);
      if (begins)
        life.first = all.first;
      if (ends)
        life.last = all.last;
    }
    uint64_t before = bound(lives);
    if (bound(apart) <= before + std::max(before / 8, kKeptApart))
      lives = std::move(apart);
  }
}

} // namespace tinh::planning
