//===- Recompute.cpp - Which values are computed again ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A greedy search: of all ways to forget one value in one of the gaps between
// its uses, the one that takes most off what is live beyond the limit, summed
// over all steps, for each unit of cost. Where what a value is computed from is
// gone, too, that is kept for longer or computed again, whichever is better.
// Each way is tried, so nothing has to be estimated but the costs of steps. In
// the end repetitions go that are not needed any more, the dearest first.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Recompute.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace tinh::planning {
namespace {

using Order = std::vector<uint32_t>;

constexpr uint32_t kNone = UINT32_MAX;

/// What one execution of a step leaves: a value, till it is computed again.
struct Version {
  uint32_t value, first, last;
};

/// From one use of a version to the next one.
struct Gap {
  uint32_t value, from, to;
};

/// The lives of values in one order of steps.
struct Lives {
  std::vector<Version> versions;
  std::vector<Gap> gaps;
  std::vector<uint64_t> live; ///< Bytes, by position.

  uint64_t peak() const {
    return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  }
  /// What is live beyond `limit`, summed over all positions.
  double excess(uint64_t limit) const {
    double sum = 0;
    for (uint64_t bytes : live)
      sum += bytes > limit ? static_cast<double>(bytes - limit) : 0;
    return sum;
  }
};

/// A step that may write its result over a version that dies in it.
struct Replacement {
  uint32_t version, position;
  uint64_t size;
};

class LifeFinder {
public:
  LifeFinder(const Computations &problem, const Order &order)
      : problem(problem), order(order), latest(problem.sizes.size(), kNone) {}

  Lives find() {
    for (uint32_t at = 0; at < order.size(); ++at)
      visit(problem.steps[order[at]], at);
    sumUp();
    return std::move(lives);
  }

private:
  void visit(const Computation &step, uint32_t at) {
    for (uint32_t value : step.reads) {
      if (latest[value] == kNone)
        continue;
      Version &version = lives.versions[latest[value]];
      if (version.last + 1 < at && problem.sizes[value] > 0)
        lives.gaps.push_back({value, version.last, at});
      version.last = at;
    }
    for (uint32_t value : step.writes)
      for (uint32_t read : step.inplace)
        if (latest[read] != kNone &&
            problem.sizes[read] >= problem.sizes[value])
          replacements.push_back({latest[read], at, problem.sizes[value]});
    for (uint32_t value : step.writes) {
      latest[value] = static_cast<uint32_t>(lives.versions.size());
      lives.versions.push_back({value, at, at});
    }
  }

  void sumUp() {
    std::vector<int64_t> change(order.size() + 1, 0);
    for (const Version &version : lives.versions) {
      auto size = static_cast<int64_t>(problem.sizes[version.value]);
      change[version.first] += size;
      change[version.last + 1] -= size;
    }
    int64_t live = 0;
    for (uint32_t at = 0; at < order.size(); ++at) {
      live += change[at];
      lives.live.push_back(static_cast<uint64_t>(live) +
                           problem.steps[order[at]].inside);
    }
    uint32_t done = kNone; // A result takes one place.
    for (const Replacement &one : replacements)
      if (lives.versions[one.version].last == one.position &&
          one.position != done) {
        lives.live[one.position] -= one.size;
        done = one.position;
      }
  }

  const Computations &problem;
  const Order &order;
  std::vector<uint32_t> latest; ///< The version of each value.
  std::vector<Replacement> replacements;
  Lives lives;
};

/// A step that overwrites something, those whose results it reads, and others
/// that read what it overwrites.
struct Update {
  uint32_t step;
  Order sources, readers;
};

class Search {
public:
  explicit Search(const Computations &problem)
      : problem(problem), producers(problem.sizes.size(), kNone) {
    for (uint32_t step = 0; step < problem.steps.size(); ++step) {
      order.push_back(step);
      for (uint32_t value : problem.steps[step].writes)
        producers[value] = step;
    }
    findUpdates();
    moveUpdates(order, /*first=*/true);
    lives = LifeFinder(problem, order).find();
  }

  void run(uint64_t bound) {
    limit = bound;
    // Each repetition takes something off; the bound is for odd cases.
    for (size_t i = 0; i < 4 * problem.steps.size(); ++i)
      if (lives.peak() <= limit || !improve())
        break;
    removeNeedless();
  }

  Recomputation take() { return {std::move(order), lives.peak()}; }

private:
  /// A changed order, and what it is better by.
  struct Trial {
    Order order;
    Lives lives;
    double gain = 0, cost = 0;

    bool isBetterThan(const Trial &other) const {
      // What costs nothing comes first.
      return gain * std::max(other.cost, 1.0) >
             other.gain * std::max(cost, 1.0);
    }
  };

  void findUpdates();
  void moveUpdates(Order &steps, bool first = false) const;
  double costOf(const Order &steps) const;
  Trial evaluate(Order steps) const;
  std::vector<Gap> bestGaps() const;
  bool isLive(uint32_t value, uint32_t at) const;
  void require(uint32_t step, uint32_t at, unsigned depth, Order &list) const;
  Trial insert(const Order &list, uint32_t at) const;
  bool improve();
  void removeNeedless();

  const Computations &problem;
  std::vector<uint32_t> producers; ///< The step that computes each value.
  std::vector<Update> updates;
  uint64_t limit = 0;
  Order order;
  Lives lives;
};

/// What each step that overwrites something comes after.
void Search::findUpdates() {
  auto contains = [](const std::vector<uint32_t> &list, uint32_t value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  for (uint32_t step = 0; step < problem.steps.size(); ++step) {
    const Computation &computation = problem.steps[step];
    if (computation.overwrites.empty())
      continue;
    Update update{step, {}, {}};
    for (uint32_t value : computation.reads)
      if (producers[value] != kNone)
        update.sources.push_back(producers[value]);
    for (uint32_t other = 0; other < problem.steps.size(); ++other)
      if (other != step &&
          std::any_of(computation.overwrites.begin(),
                      computation.overwrites.end(), [&](uint32_t value) {
                        return contains(problem.steps[other].reads, value);
                      }))
        update.readers.push_back(other);
    updates.push_back(std::move(update));
  }
}

/// Moves steps that overwrite something to where nothing reads that any more,
/// but not beyond what reads their results; at first also up to there.
void Search::moveUpdates(Order &steps, bool first) const {
  Order others, positions(problem.steps.size(), 0);
  std::vector<uint32_t> firstRead(problem.sizes.size(), kNone);
  for (uint32_t step : steps) {
    const Computation &computation = problem.steps[step];
    positions[step] = static_cast<uint32_t>(others.size());
    if (!computation.overwrites.empty())
      continue;
    for (uint32_t value : computation.reads)
      firstRead[value] = std::min(firstRead[value], positions[step]);
    others.push_back(step);
    ++positions[step]; // What comes after it.
  }
  std::vector<Order> following(others.size() + 1);
  for (const Update &update : updates) {
    uint32_t position = first ? 0 : positions[update.step];
    for (uint32_t other : update.readers)
      position = std::max(position, positions[other]);
    for (uint32_t other : update.sources)
      if (first || !problem.steps[other].overwrites.empty())
        position = std::max(position, positions[other]);
    for (uint32_t value : problem.steps[update.step].writes)
      position = std::min(position, firstRead[value]);
    positions[update.step] = position;
    following[position].push_back(update.step);
  }
  steps = std::move(following[0]);
  for (uint32_t i = 0; i < others.size(); ++i) {
    steps.push_back(others[i]);
    steps.insert(steps.end(), following[i + 1].begin(), following[i + 1].end());
  }
}

double Search::costOf(const Order &steps) const {
  double cost = 0;
  for (uint32_t step : steps)
    cost += static_cast<double>(problem.steps[step].cost);
  return cost;
}

Search::Trial Search::evaluate(Order steps) const {
  Trial trial;
  trial.order = std::move(steps);
  moveUpdates(trial.order);
  trial.lives = LifeFinder(problem, trial.order).find();
  trial.gain = lives.excess(limit) - trial.lives.excess(limit);
  trial.cost = costOf(trial.order) - costOf(order);
  return trial;
}

/// The gaps that promise most: bytes off all positions beyond the limit for
/// each unit of cost. Those of values that make no difference are left out.
std::vector<Gap> Search::bestGaps() const {
  constexpr size_t kTried = 64;
  const uint64_t least = lives.peak() / 4096;
  std::vector<uint32_t> beyond = {0}; // How many positions before each.
  for (uint64_t bytes : lives.live)
    beyond.push_back(beyond.back() + (bytes > limit));
  std::vector<std::pair<double, Gap>> scored;
  for (const Gap &gap : lives.gaps) {
    uint32_t step = producers[gap.value];
    uint32_t count = beyond[gap.to] - beyond[gap.from + 1];
    if (count == 0 || problem.sizes[gap.value] < least ||
        !problem.steps[step].repeatable)
      continue;
    double promise = static_cast<double>(problem.sizes[gap.value]) * count;
    double cost = static_cast<double>(problem.steps[step].cost);
    scored.push_back({promise / std::max(cost, 1.0), gap});
  }
  std::sort(scored.begin(), scored.end(), [](const auto &a, const auto &b) {
    return std::make_tuple(-a.first, a.second.from, a.second.value) <
           std::make_tuple(-b.first, b.second.from, b.second.value);
  });
  std::vector<Gap> gaps;
  for (size_t i = 0; i < std::min(kTried, scored.size()); ++i)
    gaps.push_back(scored[i].second);
  return gaps;
}

/// Whether `value` is there before position `at` without living longer.
bool Search::isLive(uint32_t value, uint32_t at) const {
  if (problem.sizes[value] == 0)
    return true;
  return std::any_of(lives.versions.begin(), lives.versions.end(),
                     [&](const Version &version) {
                       return version.value == value && version.first < at &&
                              version.last >= at;
                     });
}

/// Adds `step` to `list`, after those that compute again what it reads and
/// what is gone before position `at`. What is small lives on instead.
void Search::require(uint32_t step, uint32_t at, unsigned depth,
                     Order &list) const {
  constexpr uint64_t kSmall = 16;
  if (std::find(list.begin(), list.end(), step) != list.end())
    return;
  uint64_t written = 0;
  for (uint32_t value : problem.steps[step].writes)
    written += problem.sizes[value];
  for (uint32_t value : problem.steps[step].reads)
    if (uint32_t producer = producers[value];
        depth > 0 && producer != kNone && problem.steps[producer].repeatable &&
        problem.sizes[value] * kSmall > written && !isLive(value, at))
      require(producer, at, depth - 1, list);
  list.push_back(step);
}

/// The order with `list` before position `at`, whose steps are not repeated
/// later if that is as good.
Search::Trial Search::insert(const Order &list, uint32_t at) const {
  Order steps = order;
  steps.insert(steps.begin() + at, list.begin(), list.end());
  Trial best = evaluate(steps);
  for (size_t i = at + list.size(); i < steps.size();) {
    if (std::find(list.begin(), list.end(), steps[i]) != list.end() &&
        problem.steps[steps[i]].repeatable) {
      Order fewer = steps;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      Trial trial = evaluate(fewer);
      if (trial.gain >= best.gain) {
        best = std::move(trial);
        steps = std::move(fewer);
        continue;
      }
    }
    ++i;
  }
  return best;
}

/// Repeats what gives most for its cost; false if nothing gives anything.
bool Search::improve() {
  constexpr unsigned kMostDepth = 8;
  std::optional<Trial> best;
  for (const Gap &gap : bestGaps()) {
    Order last;
    for (unsigned depth = 0; depth <= kMostDepth; ++depth) {
      Order list;
      require(producers[gap.value], gap.to, depth, list);
      if (list == last)
        break;
      Trial trial = insert(list, gap.to);
      if (trial.gain > 0 && (!best || trial.isBetterThan(*best)))
        best = std::move(trial);
      last = std::move(list);
    }
  }
  if (!best)
    return false;
  order = std::move(best->order);
  lives = std::move(best->lives);
  return true;
}

/// Leaves out repetitions without which no more is live than with them, or
/// than the limit.
void Search::removeNeedless() {
  auto findRepeated = [&] {
    std::vector<char> seen(problem.steps.size(), false);
    Order positions;
    for (uint32_t at = 0; at < order.size(); ++at) {
      if (seen[order[at]])
        positions.push_back(at);
      seen[order[at]] = true;
    }
    std::sort(positions.begin(), positions.end(), [&](uint32_t a, uint32_t b) {
      uint64_t first = problem.steps[order[a]].cost,
               second = problem.steps[order[b]].cost;
      return first != second ? first > second : a < b;
    });
    return positions;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t at : findRepeated()) {
      Order fewer = order;
      fewer.erase(fewer.begin() + at);
      Trial trial = evaluate(std::move(fewer));
      if (trial.lives.peak() > std::max(limit, lives.peak()))
        continue;
      order = std::move(trial.order);
      lives = std::move(trial.lives);
      changed = true;
      break;
    }
  }
}

} // namespace

Recomputation planRecomputation(const Computations &problem, uint64_t limit) {
  Search search(problem);
  search.run(limit);
  return search.take();
}

} // namespace tinh::planning
