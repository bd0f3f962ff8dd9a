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

#include <algorithm>
#include <numeric>

namespace tinh::planning {
namespace {

constexpr uint32_t kUnused = UINT32_MAX;

/// For each buffer the first and last step that uses it.
std::vector<Lifetime> lifetimes(const Problem &problem) {
  std::vector<Lifetime> result;
  for (const Buffer &buffer : problem.buffers)
    result.push_back({buffer.size, kUnused, 0});
  for (uint32_t i = 0; i < problem.steps.size(); ++i) {
    for (const auto *uses : {&problem.steps[i].reads, &problem.steps[i].writes})
      for (uint32_t buffer : *uses) {
        result[buffer].first = std::min(result[buffer].first, i);
        result[buffer].last = i;
      }
  }
  return result;
}

/// Decides which buffers live on in the memory of another one: returns for each
/// the buffer whose memory it has, often itself.
std::vector<uint32_t> mergeInplace(const Problem &problem,
                                   std::vector<Lifetime> &lives) {
  std::vector<uint32_t> storage(problem.buffers.size());
  std::iota(storage.begin(), storage.end(), 0);
  for (uint32_t i = 0; i < problem.steps.size(); ++i) {
    const Step &step = problem.steps[i];
    for (auto [read, written] : step.inplace) {
      uint32_t from = storage[read];
      auto reads = [&](uint32_t b) { return storage[b] == from; };
      bool fits = storage[written] == written &&
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
    }
  }
  return storage;
}

} // namespace

Plan planMemory(const Problem &problem, const ArenaOptions &options) {
  std::vector<Lifetime> lives = lifetimes(problem);
  std::vector<uint32_t> storage = mergeInplace(problem, lives);

  std::vector<Accesses> accesses;
  for (const Step &step : problem.steps) {
    Accesses &merged = accesses.emplace_back(step);
    for (auto *uses : {&merged.reads, &merged.writes})
      for (uint32_t &buffer : *uses)
        buffer = storage[buffer];
  }
  Schedule schedule = scheduleByAccesses(accesses, problem.buffers.size());

  Plan plan;
  std::vector<Lifetime> placed; // What needs a place, and
  std::vector<uint32_t> index(problem.buffers.size(), kUnused); // where it is.
  for (uint32_t b = 0; b < problem.buffers.size(); ++b) {
    if (problem.buffers[b].external || lives[b].first == kUnused)
      continue;
    plan.unplannedSize += (problem.buffers[b].size + options.alignment - 1) /
                          options.alignment * options.alignment;
    if (storage[b] != b)
      continue;
    index[b] = static_cast<uint32_t>(placed.size());
    placed.push_back(lives[b]);
  }
  plan.lowerBoundSize =
      liveLowerBound(placed, problem.steps.size(), options.alignment);
  ArenaPlan arena = planArena(placed, schedule, options);
  plan.waits = arena.schedule.waits();
  plan.arenaSize = arena.size;
  plan.offsets.assign(problem.buffers.size(), 0);
  for (uint32_t b = 0; b < problem.buffers.size(); ++b)
    if (uint32_t at = index[storage[b]]; at != kUnused)
      plan.offsets[b] = arena.offsets[at];
  return plan;
}

} // namespace tinh::planning
