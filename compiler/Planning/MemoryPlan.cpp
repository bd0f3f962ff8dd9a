//===- MemoryPlan.cpp - Storage, waits and offsets --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In-place updates first, since they cost nothing and save traffic; then the
// waits that the merged buffers need; then offsets.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/MemoryPlan.h"

#include "compiler/Planning/SideBySide.h"

#include <algorithm>
#include <map>

namespace tinh::planning {
namespace {

constexpr uint32_t kUnused = UINT32_MAX;

/// For each buffer the one that it is a part of, through all levels, or itself.
std::vector<uint32_t> findWholes(const Problem &problem) {
  std::vector<uint32_t> wholes;
  for (uint32_t b = 0; b < problem.buffers.size(); ++b) {
    uint32_t whole = b;
    while (problem.buffers[whole].partOf >= 0)
      whole = static_cast<uint32_t>(problem.buffers[whole].partOf);
    wholes.push_back(whole);
  }
  return wholes;
}

/// For each buffer those of its parts, through all levels, that have none:
/// itself if it has none. Two accesses meet if they have one in common.
std::vector<std::vector<uint32_t>> findPieces(const Problem &problem) {
  std::vector<char> divided(problem.buffers.size(), false);
  for (const Buffer &buffer : problem.buffers)
    if (buffer.partOf >= 0)
      divided[buffer.partOf] = true;
  std::vector<std::vector<uint32_t>> pieces(problem.buffers.size());
  for (uint32_t b = 0; b < problem.buffers.size(); ++b)
    if (!divided[b])
      for (int64_t at = b; at >= 0; at = problem.buffers[at].partOf)
        pieces[at].push_back(b);
  return pieces;
}

/// An iteration finds what steps before the loop have left, and leaves what
/// steps after the loop find; other iterations must not use its memory.
void extendOverLoops(const std::vector<Control> &controls, Lifetime &life) {
  for (const Control &loop : controls) {
    if (loop.kind != Control::Kind::Loop)
      continue;
    bool before = !loop.contains(life.first) && life.first <= loop.first;
    if (before && loop.contains(life.last))
      life.last = loop.last;
    if (loop.contains(life.first) && life.last > loop.last)
      life.first = loop.first;
  }
}

/// What both sides of a branch write is not there on the second one before that
/// writes it.
void addGaps(const Problem &problem, const std::vector<uint32_t> &wholes,
             std::vector<Lifetime> &lives) {
  using Kind = Control::Kind;
  for (const Control &branch : problem.controls) {
    if (branch.kind != Kind::Branch)
      continue;
    std::map<uint32_t, uint32_t> firstUse; // In the second side.
    for (uint32_t i = branch.otherwise + 1; i < branch.last; ++i)
      for (const auto *uses :
           {&problem.steps[i].reads, &problem.steps[i].writes})
        for (uint32_t buffer : *uses)
          firstUse.try_emplace(wholes[buffer], i);
    for (auto [buffer, use] : firstUse) {
      Lifetime &life = lives[buffer];
      if (life.first <= branch.first || life.first >= branch.otherwise ||
          life.last <= branch.last)
        continue;
      uint32_t begin = use;
      for (const Control &loop : problem.controls)
        if (loop.kind == Kind::Loop && branch.otherwise < loop.first &&
            loop.contains(use))
          begin = std::min(begin, loop.first);
      if (begin - branch.otherwise > life.gapLast - life.gapFirst + 1) {
        life.gapFirst = branch.otherwise;
        life.gapLast = begin - 1;
      }
    }
  }
}

/// For each buffer the first and last step that uses it or a part of it; not
/// for the parts themselves.
std::vector<Lifetime> lifetimes(const Problem &problem,
                                const std::vector<uint32_t> &wholes) {
  std::vector<Lifetime> result;
  for (const Buffer &buffer : problem.buffers)
    result.push_back({buffer.size, kUnused, 0});
  for (uint32_t i = 0; i < problem.steps.size(); ++i) {
    for (const auto *uses : {&problem.steps[i].reads, &problem.steps[i].writes})
      for (uint32_t buffer : *uses) {
        Lifetime &life = result[wholes[buffer]];
        life.first = std::min(life.first, i);
        life.last = i;
      }
  }
  for (Lifetime &life : result)
    if (life.first != kUnused)
      extendOverLoops(problem.controls, life);
  addGaps(problem, wholes, result);
  return result;
}

/// Decides which buffers live on in the memory of another one: returns for each
/// the buffer whose memory it has, often itself. Parts stay with their wholes.
std::vector<uint32_t> mergeInplace(const Problem &problem,
                                   std::vector<uint32_t> storage,
                                   std::vector<Lifetime> &lives) {
  for (uint32_t i = 0; i < problem.steps.size(); ++i) {
    const Step &step = problem.steps[i];
    for (auto [read, written] : step.inplace) {
      uint32_t from = storage[read];
      auto reads = [&](uint32_t b) { return storage[b] == from; };
      bool fits =
          storage[written] == written && problem.buffers[read].partOf < 0 &&
          problem.buffers[from].arena == problem.buffers[written].arena &&
          !problem.buffers[from].external &&
          !problem.buffers[written].external &&
          lives[written].first == i && // Not written in parts.
          lives[from].last == i &&
          problem.buffers[from].size >= problem.buffers[written].size;
      if (!fits ||
          std::count_if(step.reads.begin(), step.reads.end(), reads) != 1 ||
          std::any_of(step.writes.begin(), step.writes.end(), reads))
        continue;
      storage[written] = from;
      lives[from].last = lives[written].last;
      if (!lives[from].hasGap()) {
        lives[from].gapFirst = lives[written].gapFirst;
        lives[from].gapLast = lives[written].gapLast;
      }
    }
  }
  return storage;
}

/// What each step accesses, as pieces of the memory that `storage` names.
std::vector<Accesses> accessedPieces(const Problem &problem,
                                     const std::vector<uint32_t> &storage) {
  std::vector<std::vector<uint32_t>> pieces = findPieces(problem);
  auto find = [&](const std::vector<uint32_t> &buffers) {
    std::vector<uint32_t> found;
    for (uint32_t buffer : buffers) {
      bool isPart = problem.buffers[buffer].partOf >= 0;
      const auto &own = pieces[isPart ? buffer : storage[buffer]];
      found.insert(found.end(), own.begin(), own.end());
    }
    return found;
  };
  std::vector<Accesses> accesses;
  for (const Step &step : problem.steps)
    accesses.push_back({find(step.reads), find(step.writes)});
  return accesses;
}

/// Finds places for the buffers of one arena after the other. The waits that
/// one of them needs leave the others as safe as they are.
class Placer {
public:
  Placer(const Problem &problem, const ArenaOptions &options)
      : problem(problem), options(options), wholes(findWholes(problem)),
        lives(lifetimes(problem, wholes)),
        storage(mergeInplace(problem, wholes, lives)),
        schedule(scheduleByAccesses(accessedPieces(problem, storage),
                                    problem.buffers.size(), problem.controls)) {
    plan.offsets.assign(problem.buffers.size(), 0);
  }

  Plan run() {
    for (uint32_t arena = 0; arena < problem.numArenas; ++arena)
      place(arena);
    plan.waits = schedule.waits();
    return std::move(plan);
  }

private:
  bool needsPlace(uint32_t buffer, uint32_t arena) const {
    return problem.buffers[buffer].arena == arena &&
           !problem.buffers[buffer].external && wholes[buffer] == buffer &&
           lives[buffer].first != kUnused;
  }

  void place(uint32_t arena) {
    ArenaSizes &sizes = plan.arenas.emplace_back();
    std::vector<Lifetime> placed; // What needs a place, and
    std::vector<uint32_t> index(problem.buffers.size(), kUnused); // where it is
    for (uint32_t b = 0; b < problem.buffers.size(); ++b) {
      if (!needsPlace(b, arena))
        continue;
      sizes.unplannedSize += (problem.buffers[b].size + options.alignment - 1) /
                             options.alignment * options.alignment;
      if (storage[b] != b)
        continue;
      index[b] = static_cast<uint32_t>(placed.size());
      placed.push_back(lives[b]);
    }
    keepLoopsApart(schedule, problem.controls, options, placed);
    sizes.lowerBoundSize =
        liveLowerBound(placed, problem.steps.size(), options.alignment);
    ArenaPlan planned = planArena(placed, schedule, options, problem.controls);
    sizes.arenaSize = planned.size;
    schedule = std::move(planned.schedule);
    for (uint32_t b = 0; b < problem.buffers.size(); ++b)
      if (uint32_t at = index[storage[b]]; at != kUnused)
        plan.offsets[b] = planned.offsets[at];
  }

  const Problem &problem;
  const ArenaOptions &options;
  std::vector<uint32_t> wholes;
  std::vector<Lifetime> lives;
  std::vector<uint32_t> storage;
  Schedule schedule;
  Plan plan;
};

} // namespace

Plan planMemory(const Problem &problem, const ArenaOptions &options) {
  return Placer(problem, options).run();
}

} // namespace tinh::planning
