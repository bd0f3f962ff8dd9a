//===- MemoryPlanTest.cpp - Plans are safe and small ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/MemoryPlan.h"
#include "compiler/Planning/Schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace tinh::planning;

namespace {

/// What a worker may rely on: when step `later` starts, every step up to the
/// largest wait of the steps so far has been finished by all workers.
int32_t finishedBefore(const Plan &plan, size_t later) {
  return *std::max_element(plan.waits.begin(), plan.waits.begin() + later + 1);
}

bool touches(const Step &step, uint32_t buffer) {
  auto has = [&](const std::vector<uint32_t> &list) {
    return std::find(list.begin(), list.end(), buffer) != list.end();
  };
  return has(step.reads) || has(step.writes);
}

bool mayShare(const Problem &problem, size_t step, uint32_t read,
              uint32_t written) {
  for (auto [from, to] : problem.steps[step].inplace)
    if (from == read && to == written)
      return true;
  return false;
}

/// Whether `part` is `buffer` or, through any number of levels, a part of it.
bool isWithin(const Problem &problem, int64_t part, uint32_t buffer) {
  while (part >= 0 && part != int64_t(buffer))
    part = problem.buffers[part].partOf;
  return part >= 0;
}

/// Checks that what a step reads is written before it starts.
void expectOrder(const Problem &problem, const Plan &plan) {
  for (size_t i = 0; i < problem.steps.size(); ++i) {
    EXPECT_LT(plan.waits[i], int32_t(i));
    for (uint32_t read : problem.steps[i].reads)
      for (size_t j = 0; j < i; ++j)
        for (uint32_t written : problem.steps[j].writes)
          if (isWithin(problem, written, read) ||
              isWithin(problem, read, written))
            EXPECT_LE(int32_t(j), finishedBefore(plan, i))
                << "step " << i << " reads what step " << j << " writes";
  }
}

/// Checks that no step can see a buffer that another one overwrites.
void expectSafe(const Problem &problem, const Plan &plan) {
  expectOrder(problem, plan);
  std::vector<int64_t> first(problem.buffers.size(), -1), last = first;
  for (size_t i = 0; i < problem.steps.size(); ++i)
    for (uint32_t b = 0; b < problem.buffers.size(); ++b)
      if (touches(problem.steps[i], b))
        for (int64_t at = b; at >= 0; at = problem.buffers[at].partOf) {
          first[at] = first[at] < 0 ? int64_t(i) : first[at];
          last[at] = i;
        }
  for (uint32_t a = 0; a < problem.buffers.size(); ++a)
    for (uint32_t b = 0; b < problem.buffers.size(); ++b) {
      const Buffer &x = problem.buffers[a], &y = problem.buffers[b];
      if (a == b || x.arena != y.arena || x.external || y.external ||
          x.partOf >= 0 || y.partOf >= 0 || first[a] < 0 || first[b] < 0 ||
          x.size == 0 || y.size == 0)
        continue;
      bool overlap = plan.offsets[a] < plan.offsets[b] + y.size &&
                     plan.offsets[b] < plan.offsets[a] + x.size;
      if (!overlap || first[a] > first[b])
        continue;
      bool ordered =
          last[a] <= finishedBefore(plan, first[b]) && last[a] < first[b];
      bool inplace = last[a] == first[b] &&
                     plan.offsets[a] == plan.offsets[b] &&
                     mayShare(problem, first[b], a, b);
      EXPECT_TRUE(ordered || inplace)
          << "buffers " << a << " and " << b << " overlap";
    }
  for (uint32_t b = 0; b < problem.buffers.size(); ++b)
    if (!problem.buffers[b].external && first[b] >= 0) {
      EXPECT_EQ(plan.offsets[b] % 64, 0u);
      EXPECT_LE(plan.offsets[b] + problem.buffers[b].size,
                plan.arenas[problem.buffers[b].arena].arenaSize);
    }
}

/// A step that reads `reads` and writes `writes`.
Step step(std::vector<uint32_t> reads, std::vector<uint32_t> writes) {
  Step result;
  result.reads = std::move(reads);
  result.writes = std::move(writes);
  return result;
}

TEST(MemoryPlan, ChainNeedsTwoBuffers) {
  Problem problem;
  problem.buffers.assign(5, Buffer{1024, false});
  for (uint32_t i = 0; i < 4; ++i)
    problem.steps.push_back(step({i}, {i + 1}));
  Plan plan = planMemory(problem);
  expectSafe(problem, plan);
  EXPECT_EQ(plan.arenas[0].arenaSize, 2048u);
  EXPECT_EQ(plan.arenas[0].lowerBoundSize, 2048u);
  EXPECT_EQ(plan.arenas[0].unplannedSize, 5 * 1024u);
  for (int32_t i = 1; i < 4; ++i)
    EXPECT_EQ(plan.waits[i], i - 1);
}

TEST(MemoryPlan, InplaceUpdatesShareMemory) {
  Problem problem;
  problem.buffers.assign(3, Buffer{4096, false});
  problem.steps = {step({}, {0}), step({0}, {1}), step({1}, {2})};
  problem.steps[1].inplace = {{0, 1}};
  problem.steps[2].inplace = {{1, 2}};
  Plan plan = planMemory(problem);
  expectSafe(problem, plan);
  EXPECT_EQ(plan.arenas[0].arenaSize, 4096u);
}

TEST(MemoryPlan, ExternalBuffersTakeNoArena) {
  Problem problem;
  problem.buffers = {{1 << 20, true}, {64, false}, {1 << 20, true}};
  problem.steps = {step({0}, {1}), step({1}, {2})};
  Plan plan = planMemory(problem);
  EXPECT_EQ(plan.arenas[0].arenaSize, 64u);
  EXPECT_EQ(plan.waits[1], 0);
}

TEST(MemoryPlan, ProblemsWithoutStepsOrSizes) {
  EXPECT_EQ(planMemory(Problem{}).arenas[0].arenaSize, 0u);
  Problem problem;
  problem.buffers.assign(2, Buffer{0, false});
  problem.steps = {step({}, {0}), step({0}, {1})};
  Plan plan = planMemory(problem);
  EXPECT_EQ(plan.arenas[0].arenaSize, 0u);
  EXPECT_EQ(plan.waits[1], 0);
}

/// A buffer of 1024 bytes that is a part of `whole`.
Buffer part(int64_t whole) { return {1024, false, whole}; }

TEST(MemoryPlan, PartsAreWrittenAtTheSameTime) {
  Problem problem;
  problem.buffers = {{2048, false}, part(0), part(0), {64, false}, {64, false}};
  problem.steps = {step({}, {1}), step({}, {2}), step({1}, {3}),
                   step({0}, {4})};
  Plan plan = planMemory(problem);
  expectSafe(problem, plan);
  EXPECT_EQ(plan.waits[1], -1);
  EXPECT_EQ(plan.waits[2], 0); // Only for the part that it reads.
  EXPECT_EQ(plan.offsets[1], plan.offsets[0]);
  EXPECT_EQ(plan.offsets[2], plan.offsets[0]);
  EXPECT_EQ(plan.arenas[0].unplannedSize, 2048u + 2 * 64);
  EXPECT_EQ(plan.arenas[0].lowerBoundSize, 2048u + 64);
  EXPECT_EQ(plan.arenas[0].arenaSize, plan.arenas[0].lowerBoundSize);
}

TEST(MemoryPlan, AWholeLivesFromItsFirstPartOn) {
  Problem problem; // 0 is a part of 1, and that of 2; 4 is another tensor.
  problem.buffers = {part(1), part(2), {4096, false}, part(2), {512, false}};
  problem.steps = {step({}, {0}), step({}, {4}), step({4}, {3}), step({2}, {})};
  Plan plan = planMemory(problem);
  expectSafe(problem, plan);
  EXPECT_EQ(plan.arenas[0].lowerBoundSize, 4096u + 512);
  EXPECT_GE(plan.offsets[4], plan.offsets[2] + 4096);
}

TEST(MemoryPlan, PartsAreNotUpdatedInPlace) {
  Problem problem;
  problem.buffers = {{2048, false}, part(0), part(0), {1024, false}};
  problem.steps = {step({}, {1}), step({}, {2}), step({1}, {3}),
                   step({2, 3}, {})};
  problem.steps[2].inplace = {{1, 3}};
  Plan plan = planMemory(problem);
  expectSafe(problem, plan);
  EXPECT_EQ(plan.arenas[0].arenaSize, 2048u + 1024);
  // Nor is a part where an input was.
  problem.buffers = {{1024, false}, {2048, false}, part(1), part(1)};
  problem.steps = {step({}, {0}), step({0}, {2}), step({}, {3}), step({1}, {})};
  problem.steps[1].inplace = {{0, 2}};
  plan = planMemory(problem);
  expectSafe(problem, plan);
  EXPECT_EQ(plan.arenas[0].arenaSize, 2048u + 1024);
}

/// Makes parts of a new buffer out of up to three that are none yet.
void addWhole(Problem &problem, std::mt19937 &random) {
  std::vector<uint32_t> parts;
  for (uint32_t k = 1 + random() % 3; k-- > 0;)
    parts.push_back(random() % problem.buffers.size());
  Buffer whole;
  for (uint32_t part : parts) {
    Buffer &buffer = problem.buffers[part];
    if (buffer.external || buffer.partOf >= 0)
      continue;
    whole.size += buffer.size;
    buffer.partOf = problem.buffers.size();
  }
  if (whole.size == 0)
    return;
  problem.buffers.push_back(whole);
  problem.buffers.push_back({64, false});
  uint32_t count = problem.buffers.size();
  problem.steps.push_back(step({count - 2}, {count - 1}));
}

/// A random schedule: each step writes a new buffer from up to three earlier.
Problem randomProblem(std::mt19937 &random) {
  auto upTo = [&](uint32_t n) { return random() % n; };
  Problem problem;
  uint32_t count = 2 + upTo(40);
  for (uint32_t i = 0; i < count; ++i)
    problem.buffers.push_back({64 * (1 + upTo(64)), upTo(12) == 0});
  for (uint32_t i = 1; i < count; ++i) {
    std::vector<uint32_t> reads;
    for (uint32_t k = upTo(3) + 1; k-- > 0;)
      reads.push_back(upTo(2) ? i - 1 : upTo(i));
    Step next = step(reads, {i});
    if (problem.buffers[reads[0]].size == problem.buffers[i].size)
      next.inplace.push_back({reads[0], i});
    problem.steps.push_back(next);
  }
  for (uint32_t wholes = upTo(2) ? upTo(6) : 0; wholes-- > 0;)
    addWhole(problem, random);
  return problem;
}

TEST(MemoryPlan, RandomPlansAreSafeAndCloseToTheLowerBound) {
  std::mt19937 random(42);
  double worst = 0, sum = 0;
  const int kPlans = 300;
  for (int i = 0; i < kPlans; ++i) {
    SCOPED_TRACE(i);
    Problem problem = randomProblem(random);
    Plan plan = planMemory(problem);
    expectSafe(problem, plan);
    EXPECT_LE(plan.arenas[0].lowerBoundSize, plan.arenas[0].arenaSize);
    EXPECT_LE(plan.arenas[0].arenaSize, plan.arenas[0].unplannedSize);
    double ratio =
        plan.arenas[0].lowerBoundSize
            ? double(plan.arenas[0].arenaSize) / plan.arenas[0].lowerBoundSize
            : 1;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LE(sum / kPlans, 1.05);
  EXPECT_LE(worst, 1.35);
}

TEST(MemoryPlan, ArenasAreOfDifferentMemory) {
  // A chain on one device, a copy to the other one, and a chain there.
  Problem problem;
  problem.numArenas = 2;
  problem.buffers.assign(6, Buffer{1024, false});
  for (uint32_t b = 3; b < 6; ++b)
    problem.buffers[b].arena = 1;
  for (uint32_t i = 1; i < 6; ++i)
    problem.steps.push_back(step({i - 1}, {i}));
  Plan plan = planMemory(problem);
  expectSafe(problem, plan);
  ASSERT_EQ(plan.arenas.size(), 2u);
  for (const ArenaSizes &sizes : plan.arenas) {
    EXPECT_EQ(sizes.arenaSize, 2048u);
    EXPECT_EQ(sizes.lowerBoundSize, 2048u);
    EXPECT_EQ(sizes.unplannedSize, 3 * 1024u);
  }
}

TEST(MemoryPlan, NothingIsInPlaceInAnotherArena) {
  Problem problem;
  problem.numArenas = 2;
  problem.buffers.assign(3, Buffer{4096, false});
  problem.buffers[1].arena = 1;
  problem.steps = {step({}, {0}), step({0}, {1}), step({1}, {2})};
  problem.steps[1].inplace = {{0, 1}};
  Plan plan = planMemory(problem);
  expectSafe(problem, plan);
  EXPECT_EQ(plan.arenas[0].arenaSize, 4096u);
  EXPECT_EQ(plan.arenas[1].arenaSize, 4096u);
}

TEST(MemoryPlan, RandomPlansOfTwoArenasAreSafe) {
  std::mt19937 random(43);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    Problem problem = randomProblem(random);
    problem.numArenas = 2;
    for (Buffer &buffer : problem.buffers)
      buffer.arena = random() % 2;
    // A part lies where the whole does; wholes come behind their parts.
    for (size_t b = problem.buffers.size(); b-- > 0;)
      if (int64_t whole = problem.buffers[b].partOf; whole >= 0)
        problem.buffers[b].arena = problem.buffers[whole].arena;
    Plan plan = planMemory(problem);
    expectSafe(problem, plan);
    ASSERT_EQ(plan.arenas.size(), 2u);
    for (const ArenaSizes &sizes : plan.arenas) {
      EXPECT_LE(sizes.lowerBoundSize, sizes.arenaSize);
      EXPECT_LE(sizes.arenaSize, sizes.unplannedSize);
    }
  }
}

TEST(MemoryPlan, TheSameProblemHasTheSamePlan) {
  std::mt19937 random(7);
  Problem problem = randomProblem(random);
  Plan a = planMemory(problem), b = planMemory(problem);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.waits, b.waits);
}

TEST(Schedule, OnlyNeededWaits) {
  // Two independent chains: 0 → 2 and 1 → 3.
  std::vector<Accesses> steps = {{{}, {0}}, {{}, {1}}, {{0}, {2}}, {{1}, {3}}};
  Schedule schedule = scheduleByAccesses(steps, 4);
  EXPECT_FALSE(schedule.happensBefore(0, 1));
  EXPECT_TRUE(schedule.happensBefore(0, 2));
  EXPECT_TRUE(schedule.happensBefore(1, 3));
  EXPECT_FALSE(schedule.happensBefore(2, 3));
}

} // namespace
