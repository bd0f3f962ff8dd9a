//===- Arena.cpp - Offsets of buffers in an arena ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy placement in a given order, and a search over orders.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Arena.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>

namespace tinh::planning {
namespace {

uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

enum class Fit { First, Best };

/// Which buffers live on different sides of a branch.
class Sides {
public:
  Sides(const std::vector<Lifetime> &buffers,
        const std::vector<Control> &controls)
      : sides(buffers.size()) {
    for (uint32_t c = 0; c < controls.size(); ++c) {
      const Control &branch = controls[c];
      if (branch.kind != Control::Kind::Branch)
        continue;
      for (uint32_t b = 0; b < buffers.size(); ++b) {
        uint32_t first = buffers[b].first, last = buffers[b].last;
        if (first > branch.first && last < branch.otherwise)
          sides[b].push_back({c, false});
        else if (first > branch.otherwise && last < branch.last)
          sides[b].push_back({c, true});
      }
      any = true;
    }
  }

  bool differ(uint32_t a, uint32_t b) const {
    if (!any)
      return false;
    for (auto [branch, isElse] : sides[a])
      for (auto [other, otherIsElse] : sides[b])
        if (branch == other && isElse != otherIsElse)
          return true;
    return false;
  }

private:
  std::vector<std::vector<std::pair<uint32_t, bool>>> sides;
  bool any = false; ///< Most functions have no branches.
};

/// Places buffers one after the other.
class Placer {
public:
  Placer(const std::vector<Lifetime> &buffers, const Sides &sides,
         const Schedule &schedule, uint64_t alignment, uint64_t bound, Fit fit)
      : buffers(buffers), sides(sides), alignment(alignment), bound(bound),
        fit(fit),
        plan{std::vector<uint64_t>(buffers.size(), 0), 0, schedule, 0} {}

  /// Prefers a place that needs no wait; adds waits rather than exceed the
  /// lower bound.
  void place(uint32_t buffer) {
    uint64_t size = sizeOf(buffer);
    if (size == 0)
      return;
    uint64_t offset = findOffset(buffer, /*allowWaits=*/false);
    if (offset + size > std::max(bound, plan.size)) {
      uint64_t waiting = findOffset(buffer, /*allowWaits=*/true);
      if (waiting + size < offset + size)
        offset = waiting;
    }
    plan.offsets[buffer] = offset;
    plan.size = std::max(plan.size, offset + size);
    addWaits(buffer);
    auto position = std::lower_bound(placed.begin(), placed.end(), buffer,
                                     [&](uint32_t a, uint32_t b) {
                                       return plan.offsets[a] < plan.offsets[b];
                                     });
    placed.insert(position, buffer);
  }

  ArenaPlan take() { return std::move(plan); }

private:
  uint64_t sizeOf(uint32_t buffer) const {
    return alignTo(buffers[buffer].size, alignment);
  }

  bool ordered(uint32_t a, uint32_t b) const {
    return plan.schedule.happensBefore(buffers[a].last, buffers[b].first) ||
           plan.schedule.happensBefore(buffers[b].last, buffers[a].first) ||
           sides.differ(a, b) || isOrderedInGap(a, b) || isOrderedInGap(b, a);
  }

  /// Whether `inner` lives in the gap of `outer`.
  bool isInGap(uint32_t inner, uint32_t outer) const {
    return buffers[outer].gapFirst <= buffers[inner].first &&
           buffers[inner].last <= buffers[outer].gapLast;
  }

  bool isOrderedInGap(uint32_t inner, uint32_t outer) const {
    return isInGap(inner, outer) &&
           plan.schedule.happensBefore(buffers[inner].last,
                                       buffers[outer].gapLast + 1);
  }

  bool livesTogether(uint32_t a, uint32_t b) const {
    return buffers[a].first <= buffers[b].last &&
           buffers[b].first <= buffers[a].last && !isInGap(a, b) &&
           !isInGap(b, a);
  }

  /// The lowest or the tightest gap among the buffers that `buffer` must not
  /// overlap.
  uint64_t findOffset(uint32_t buffer, bool allowWaits) const {
    uint64_t size = sizeOf(buffer), end = 0;
    std::optional<std::pair<uint64_t, uint64_t>> best; // gap, offset
    for (uint32_t other : placed) {
      if (allowWaits ? !livesTogether(buffer, other) : ordered(buffer, other))
        continue;
      uint64_t begin = plan.offsets[other];
      if (begin >= end + size) {
        if (fit == Fit::First)
          return end;
        if (!best || begin - end < best->first)
          best = {begin - end, end};
      }
      end = std::max(end, begin + sizeOf(other));
    }
    return best ? best->second : end;
  }

  void addWaits(uint32_t buffer) {
    uint64_t begin = plan.offsets[buffer], end = begin + sizeOf(buffer);
    for (uint32_t other : placed) {
      if (plan.offsets[other] >= end ||
          plan.offsets[other] + sizeOf(other) <= begin ||
          ordered(buffer, other))
        continue;
      order(other, buffer);
      ++plan.addedWaits;
    }
  }

  /// Of two buffers that do not live together, makes one end before the other.
  void order(uint32_t a, uint32_t b) {
    if (isInGap(a, b))
      plan.schedule.order(buffers[a].last, buffers[b].gapLast + 1);
    else if (isInGap(b, a))
      plan.schedule.order(buffers[b].last, buffers[a].gapLast + 1);
    else if (buffers[a].last < buffers[b].first)
      plan.schedule.order(buffers[a].last, buffers[b].first);
    else
      plan.schedule.order(buffers[b].last, buffers[a].first);
  }

  const std::vector<Lifetime> &buffers;
  const Sides &sides;
  uint64_t alignment, bound;
  Fit fit;
  ArenaPlan plan;
  std::vector<uint32_t> placed; // By offset.
};

/// The search's state: the best plan so far and the order that gave it.
class Search {
public:
  Search(const std::vector<Lifetime> &buffers, const Schedule &schedule,
         const ArenaOptions &options, const std::vector<Control> &controls)
      : buffers(buffers), sides(buffers, controls), schedule(schedule),
        options(options),
        bound(liveLowerBound(buffers, schedule.size(), options.alignment)) {}

  ArenaPlan run() {
    tryGreedyOrders();
    improve();
    return std::move(*best);
  }

private:
  void tryOrder(const std::vector<uint32_t> &order, Fit fit) {
    Placer placer(buffers, sides, schedule, options.alignment, bound, fit);
    for (uint32_t buffer : order)
      placer.place(buffer);
    ArenaPlan plan = placer.take();
    spent += buffers.size() * buffers.size() + 1;
    if (best && score(plan) >= score(*best))
      return;
    best = std::move(plan);
    bestOrder = order;
    bestFit = fit;
  }

  /// Less is better. A percent of the arena counts for more than any number of
  /// waits, less than that does not.
  std::tuple<uint64_t, uint32_t, uint64_t> score(const ArenaPlan &plan) const {
    uint64_t percent = std::max<uint64_t>(bound / 100, 1);
    return {(plan.size - bound + percent - 1) / percent, plan.addedWaits,
            plan.size};
  }

  bool done() const {
    return (best->size <= bound && best->addedWaits == 0) ||
           spent >= options.effort;
  }

  template <typename Key> void tryKey(Key key) {
    std::vector<uint32_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(key(buffers[a]), a) < std::pair(key(buffers[b]), b);
    });
    for (Fit fit : {Fit::First, Fit::Best})
      if (!best || !done())
        tryOrder(order, fit);
  }

  void tryGreedyOrders() {
    auto length = [](const Lifetime &b) {
      return static_cast<int64_t>(b.last) - b.first + 1;
    };
    auto size = [](const Lifetime &b) { return static_cast<int64_t>(b.size); };
    tryKey([&](const Lifetime &b) { return std::pair(-size(b), -length(b)); });
    tryKey([&](const Lifetime &b) { return std::pair(-length(b), -size(b)); });
    tryKey([&](const Lifetime &b) {
      return std::pair(static_cast<int64_t>(b.first), -size(b));
    });
    tryKey([&](const Lifetime &b) {
      return -static_cast<double>(b.size) * static_cast<double>(length(b));
    });
    tryKey([&](const Lifetime &b) {
      return std::pair(-static_cast<int64_t>(b.last), -size(b));
    });
  }

  /// Moves random buffers to the front of, or elsewhere in, the best order.
  void improve() {
    if (buffers.size() < 3)
      return;
    std::mt19937 random(1);
    for (int round = 0; round < 2000 && !done(); ++round) {
      std::vector<uint32_t> order = bestOrder;
      for (unsigned moves = 1 + random() % 2; moves > 0; --moves) {
        size_t from = random() % order.size(), to = random() % (from + 1);
        std::rotate(order.begin() + to, order.begin() + from,
                    order.begin() + from + 1);
      }
      tryOrder(order, bestFit);
    }
  }

  const std::vector<Lifetime> &buffers;
  Sides sides;
  const Schedule &schedule;
  const ArenaOptions &options;
  uint64_t bound;
  uint64_t spent = 0;
  std::optional<ArenaPlan> best;
  std::vector<uint32_t> bestOrder;
  Fit bestFit = Fit::First;
};

} // namespace

uint64_t liveLowerBound(const std::vector<Lifetime> &buffers, size_t numSteps,
                        uint64_t alignment) {
  std::vector<int64_t> change(numSteps + 1, 0);
  for (const Lifetime &buffer : buffers) {
    auto size = static_cast<int64_t>(alignTo(buffer.size, alignment));
    change[buffer.first] += size;
    change[buffer.last + 1] -= size;
    if (buffer.hasGap()) {
      change[buffer.gapFirst] -= size;
      change[buffer.gapLast + 1] += size;
    }
  }
  int64_t live = 0, most = 0;
  for (int64_t delta : change)
    most = std::max(most, live += delta);
  return static_cast<uint64_t>(most);
}

ArenaPlan planArena(const std::vector<Lifetime> &buffers,
                    const Schedule &schedule, const ArenaOptions &options,
                    const std::vector<Control> &controls) {
  return Search(buffers, schedule, options, controls).run();
}

} // namespace tinh::planning
