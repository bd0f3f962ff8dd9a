//===- DevicePlanTest.cpp - Which steps go to a GPU together ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/DevicePlan.h"

#include <bitset>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tinh::planning;
using testing::Each;
using testing::ElementsAre;

namespace {

constexpr uint64_t kSize = 64;
enum Memory { kHost, kGpu };

/// Functions of steps that copy from one place to another one.
class DevicePlanTest : public testing::Test {
protected:
  /// Places are numbers of the host's memory or the GPU's.
  uint32_t copy(int32_t waitFor, Memory from, uint32_t a, Memory to, uint32_t b,
                uint64_t size = 1) {
    DeviceStep &step = add(TINH_OP_COPY, waitFor);
    step.onDevice = from == kGpu || to == kGpu;
    step.accesses = {access(from, a, size, false), access(to, b, size, true)};
    return static_cast<uint32_t>(steps.size() - 1);
  }
  static MovingAccess access(Memory memory, uint32_t place, uint64_t size,
                             bool writes) {
    return {{memory, place * kSize, (place + size) * kSize, writes, false}, {}};
  }
  uint32_t cpu(int32_t waitFor, uint32_t a, uint32_t b) {
    return copy(waitFor, kHost, a, kHost, b);
  }
  uint32_t gpu(int32_t waitFor, uint32_t a, uint32_t b, uint64_t size = 1) {
    return copy(waitFor, kGpu, a, kGpu, b, size);
  }
  DeviceStep &add(tinh_opcode_t opcode, int32_t waitFor) {
    DeviceStep &step = steps.emplace_back();
    step.opcode = opcode;
    step.waitFor = waitFor;
    return step;
  }
  /// A kernel that writes places `a` and `a` + 2.
  void rows(int32_t waitFor, uint32_t a) {
    DeviceStep &step = add(TINH_OP_DISPATCH, waitFor);
    step.onDevice = true;
    step.accesses = {access(kGpu, a, 3, true)};
    step.accesses[0].hasGaps = true;
  }
  uint32_t loop(uint64_t length) {
    add(TINH_OP_LOOP, -1).iterations = length;
    return static_cast<uint32_t>(steps.size() - 1);
  }
  void end(uint32_t loop) {
    add(TINH_OP_NEXT, -1).target = loop + 1;
    steps[loop].target = static_cast<uint32_t>(steps.size());
  }
  void branch(uint32_t target) {
    DeviceStep &step = add(TINH_OP_BRANCH, -1);
    step.target = target;
    step.readsDecision = true;
  }
  void moveOn(uint32_t depth, int64_t bytes) {
    steps.back().accesses[1].strides.push_back({1, depth, bytes});
  }
  /// In place.
  uint32_t start(int32_t waitFor, uint32_t a) {
    gpu(waitFor, a, a);
    steps.back().opcode = TINH_OP_START;
    return static_cast<uint32_t>(steps.size() - 1);
  }
  void await(uint32_t start) {
    add(TINH_OP_AWAIT, -1) = steps[start];
    steps.back().opcode = TINH_OP_AWAIT;
    steps.back().target = start;
  }
  DevicePlan plan() const { return planDevice(steps); }

  /// Of a segment's nodes, in their order.
  static std::vector<uint32_t> stepsOf(const DevicePlan &plan,
                                       uint32_t segment) {
    std::vector<uint32_t> all;
    for (const tinh_device_node_t &node : nodes(plan, segment))
      all.push_back(node.step);
    return all;
  }
  static std::vector<uint32_t> iterationsOf(const DevicePlan &plan,
                                            uint32_t segment) {
    std::vector<uint32_t> all;
    for (const tinh_device_node_t &node : nodes(plan, segment))
      all.push_back(node.iteration);
    return all;
  }
  /// Of the first segment.
  static std::vector<std::vector<uint32_t>> edges(const DevicePlan &plan) {
    std::vector<std::vector<uint32_t>> all;
    for (const tinh_device_node_t &node : nodes(plan, 0)) {
      auto first = plan.edges.begin() + node.first_edge;
      all.emplace_back(first, first + node.num_edges);
    }
    return all;
  }
  static std::vector<tinh_device_node_t> nodes(const DevicePlan &plan,
                                               uint32_t segment) {
    const tinh_device_segment_t &of = plan.segments[segment];
    auto first = plan.nodes.begin() + of.first_node;
    return {first, first + of.num_nodes};
  }
  /// The steps before which the CPU waits.
  static std::vector<uint32_t> gates(const DevicePlan &plan) {
    std::vector<uint32_t> all;
    for (uint32_t s = 0; s < plan.gates.size(); ++s)
      if (plan.gates[s])
        all.push_back(s);
    return all;
  }

  std::vector<DeviceStep> steps;
};

TEST_F(DevicePlanTest, OneSegmentWithoutTheCpu) {
  gpu(-1, 0, 1);
  gpu(-1, 2, 3);
  gpu(1, 1, 4);
  gpu(1, 3, 5);
  gpu(3, 4, 1);
  DevicePlan made = plan();
  ASSERT_EQ(made.segments.size(), 1u);
  const tinh_device_segment_t &segment = made.segments[0];
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(segment.launch, 0u);
  EXPECT_EQ(segment.due, TINH_AT_END);
  EXPECT_FALSE(segment.is_awaited);
  // By what they read and write, and not by all that the plan has them wait
  // for; step 4 follows step 0 by way of step 2.
  EXPECT_THAT(edges(made),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0),
                          ElementsAre(1), ElementsAre(2)));
}

TEST_F(DevicePlanTest, CollectivesAreNodesInTheirOrder) {
  gpu(-1, 0, 1);
  uint32_t first = start(0, 1);
  gpu(1, 0, 2);
  gpu(1, 0, 3);
  uint32_t second = start(2, 2);
  await(first);
  gpu(5, 1, 4);
  await(second);
  gpu(7, 2, 5);
  DevicePlan made = plan();
  ASSERT_EQ(made.segments.size(), 1u);
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  std::vector<std::vector<uint32_t>> all = edges(made);
  EXPECT_THAT(all[first], ElementsAre(0));
  EXPECT_THAT(all[second], ElementsAre(first, 2));
  EXPECT_THAT(all[5], ElementsAre(first)); // Its end.
  EXPECT_THAT(all[6], ElementsAre(5));
  EXPECT_THAT(all[8], ElementsAre(7));
}

TEST_F(DevicePlanTest, WritesFollowReads) {
  gpu(-1, 0, 1);
  gpu(-1, 0, 2);
  gpu(1, 3, 0);
  gpu(2, 0, 3);
  EXPECT_THAT(edges(plan()), ElementsAre(ElementsAre(), ElementsAre(),
                                         ElementsAre(0, 1), ElementsAre(2)));
}

TEST_F(DevicePlanTest, WhatThePlanDoesNotOrderHasNoOrder) {
  // Rows of one tensor between each other, and all of them.
  gpu(-1, 0, 1, 3);
  gpu(-1, 0, 2);
  gpu(1, 2, 9);
  EXPECT_THAT(edges(plan()),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0, 1)));
}

TEST_F(DevicePlanTest, WritersOfRowsFollowWhatLiesBetweenTheRowsOfOthers) {
  gpu(-1, 1, 9);
  rows(0, 0); // Of places 0 and 2, and then 1 and 3, in any order.
  rows(0, 1);
  gpu(2, 0, 10, 4);
  gpu(3, 12, 0, 4);
  std::vector<std::vector<uint32_t>> all = edges(plan());
  EXPECT_THAT(all[2], ElementsAre(0));
  EXPECT_THAT(all[3], ElementsAre(1, 2));
  EXPECT_THAT(all[4], ElementsAre(3));
}

TEST_F(DevicePlanTest, IndependentWorkRunsAtTheSameTime) {
  // Two chains, one on each device, step against step.
  cpu(-1, 0, 1);
  gpu(-1, 0, 1);
  cpu(1, 1, 2);
  gpu(2, 1, 2);
  cpu(3, 2, 3);
  copy(4, kGpu, 2, kHost, 7);
  cpu(5, 3, 4);
  cpu(6, 7, 8); // The first one that needs the GPU.
  DevicePlan made = plan();
  ASSERT_EQ(made.segments.size(), 1u);
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(1, 3, 5));
  EXPECT_EQ(made.segments[0].launch, 0u);
  EXPECT_EQ(made.segments[0].due, 7u);
  EXPECT_THAT(gates(made), ElementsAre(7));
}

TEST_F(DevicePlanTest, LetsACopyOfWhatTheCpuGivesPassTheGpusWork) {
  cpu(-1, 0, 1); // Gives what step 2 copies.
  gpu(-1, 0, 1); // The GPU's own work, in steps 1 and 3.
  copy(0, kHost, 1, kGpu, 5);
  gpu(1, 1, 2);
  gpu(3, 2, 5, 4); // Needs both.
  DevicePlan made = plan();
  const std::vector<tinh_device_segment_t> &segments = made.segments;
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(1, 3));
  EXPECT_EQ(segments[0].launch, 0u);
  EXPECT_EQ(segments[0].wait, 0u);
  EXPECT_THAT(stepsOf(made, 1), ElementsAre(2, 4));
  EXPECT_EQ(segments[1].launch, 1u);
  EXPECT_EQ(segments[1].wait, 1u);
}

TEST_F(DevicePlanTest, SegmentsThatDoNotNeedEachOtherAreOnTwoStreams) {
  copy(-1, kGpu, 0, kHost, 0);
  gpu(-1, 1, 2);
  cpu(1, 0, 1); // Needs step 0 alone.
  copy(2, kHost, 1, kGpu, 4);
  gpu(3, 2, 3);
  gpu(4, 3, 4); // Needs all.
  DevicePlan made = plan();
  const std::vector<tinh_device_segment_t> &segments = made.segments;
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(0));
  EXPECT_EQ(segments[0].due, 2u);
  EXPECT_THAT(stepsOf(made, 1), ElementsAre(1, 4));
  EXPECT_EQ(segments[1].launch, 0u);
  EXPECT_EQ(segments[1].due, TINH_AT_END);
  EXPECT_NE(segments[1].stream, segments[0].stream);
  EXPECT_EQ(segments[1].after, TINH_NO_SEGMENT);
  EXPECT_THAT(stepsOf(made, 2), ElementsAre(3, 5));
  EXPECT_EQ(segments[2].launch, 3u);
  EXPECT_EQ(segments[2].stream, segments[1].stream);
  EXPECT_EQ(segments[2].after, TINH_NO_SEGMENT) << "the CPU has waited for it";
}

TEST_F(DevicePlanTest, UnrollsLoopsOfTheGpu) {
  gpu(-1, 0, 1);
  uint32_t outer = loop(2);
  gpu(0, 1, 2);
  uint32_t inner = loop(2);
  gpu(2, 2, 3);
  moveOn(0, 2 * kSize);
  moveOn(1, kSize);
  end(inner);
  end(outer);
  copy(4, kGpu, 3, kHost, 0, 4);
  DevicePlan made = plan();
  ASSERT_EQ(made.segments.size(), 1u);
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(0, 2, 4, 4, 2, 4, 4, 7));
  EXPECT_THAT(iterationsOf(made, 0), ElementsAre(0, 0, 0, 1, 1, 2, 3, 0));
  // Rows of the result do not wait for each other, but a second iteration has
  // to wait before it writes what the first one reads.
  EXPECT_THAT(edges(made),
              ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(1),
                          ElementsAre(1), ElementsAre(2, 3), ElementsAre(4),
                          ElementsAre(4), ElementsAre(5, 6)));
  EXPECT_THAT(made.launches, Each(TINH_LAUNCH_SEGMENT));
}

TEST_F(DevicePlanTest, LoopsWithoutIterationsHaveNoNodes) {
  gpu(-1, 0, 1);
  uint32_t empty = loop(0);
  gpu(0, 1, 2);
  end(empty);
  gpu(2, 1, 3);
  EXPECT_THAT(edges(plan()), ElementsAre(ElementsAre(), ElementsAre(0)));
}

TEST_F(DevicePlanTest, IsLooseInOtherLoopsAndInBranches) {
  gpu(-1, 0, 1);
  uint32_t withCpu = loop(3);
  gpu(0, 1, 2);
  cpu(2, 0, 1);
  end(withCpu);
  steps[withCpu].waitFor = 0;
  branch(7);
  gpu(5, 1, 2);
  gpu(6, 2, 3);
  uint32_t tooLong = loop(kMaxUnrolled + 1);
  gpu(7, 3, 4);
  end(tooLong);
  DevicePlan made = plan();
  ASSERT_EQ(made.segments.size(), 2u);
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(0));
  EXPECT_THAT(stepsOf(made, 1), ElementsAre(7));
  EXPECT_EQ(made.segments[1].launch, 7u);
  EXPECT_EQ(made.segments[1].stream, 0u);
  for (size_t s : {2, 6, 9})
    EXPECT_EQ(made.launches[s], TINH_LAUNCH_LOOSE) << s;
  EXPECT_EQ(made.launches[3], TINH_LAUNCH_NONE);
  EXPECT_FALSE(made.gates[3]) << "it has nothing to do with the GPU";
}

TEST_F(DevicePlanTest, StepsInLoopsWaitForTheGpuIfTheyShareMemory) {
  uint32_t begin = loop(3);
  gpu(0, 0, 1);
  copy(1, kGpu, 1, kHost, 0);
  cpu(2, 0, 1);
  cpu(3, 4, 5);
  end(begin);
  cpu(4, 5, 6);
  cpu(5, 0, 7);
  EXPECT_THAT(gates(plan()), ElementsAre(3, 7));
}

TEST_F(DevicePlanTest, LoopsOfTheCpuWaitBeforeTheyBegin) {
  copy(-1, kGpu, 0, kHost, 0);
  gpu(-1, 1, 2);
  uint32_t begin = loop(3);
  cpu(2, 0, 1);
  end(begin);
  EXPECT_THAT(gates(plan()), ElementsAre(begin));
}

TEST_F(DevicePlanTest, LaunchesBehindABranchThatEndsBehindALoop) {
  branch(6);
  uint32_t begin = loop(3);
  cpu(-1, 0, 1);
  end(begin);
  gpu(-1, 0, 1); // In the branch, by itself.
  gpu(-1, 1, 2);
  gpu(-1, 4, 5);
  gpu(-1, 6, 7);
  DevicePlan made = plan();
  ASSERT_EQ(made.segments.size(), 1u);
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(6, 7));
  EXPECT_EQ(made.segments[0].launch, 6u);
}

TEST_F(DevicePlanTest, WhatHasNoBytesIsNoNode) {
  gpu(-1, 0, 1);
  gpu(-1, 1, 2);
  steps.back().isEmpty = true;
  steps.back().accesses.clear();
  DevicePlan made = plan();
  EXPECT_THAT(stepsOf(made, 0), ElementsAre(0));
  EXPECT_THAT(made.launches, Each(TINH_LAUNCH_SEGMENT));
}

/// Rows of bytes, as the pieces of concatenations have them.
struct Rows {
  std::bitset<256> bytes;
  ByteAccess access = {};
};

Rows randomRows(std::mt19937 &random) {
  uint64_t run = 1 + random() % 24, count = 1 + random() % 3;
  uint64_t pitch = run + (random() % 2 ? random() % 24 : 0);
  Rows rows;
  rows.access.begin = random() % 100;
  rows.access.end = rows.access.begin + (count - 1) * pitch + run;
  rows.access.writes = random() % 2;
  rows.access.hasGaps = count > 1 && pitch > run;
  for (uint64_t row = 0; row < count; ++row)
    for (uint64_t byte = 0; byte < run; ++byte)
      rows.bytes.set(rows.access.begin + row * pitch + byte);
  return rows;
}

TEST(AccessOrder, LeadsFromEachAccessToAllThatItConflictsWith) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    AccessOrder order;
    std::vector<std::vector<Rows>> steps;
    std::vector<std::set<uint32_t>> before; // Each step, in any way.
    uint32_t ordered = 0;
    for (uint32_t i = 0; i < 40; ++i) {
      std::vector<Rows> step;
      std::vector<ByteAccess> accesses;
      for (uint32_t k = 1 + random() % 2; k-- > 0;) {
        step.push_back(randomRows(random));
        accesses.push_back(step.back().access);
      }
      std::set<uint32_t> conflicts;
      for (uint32_t j = 0; j < i; ++j)
        for (const Rows &a : steps[j])
          for (const Rows &b : step)
            if ((a.access.writes || b.access.writes) &&
                (a.bytes & b.bytes).any())
              conflicts.insert(j);
      // Like a memory plan: for all that it has to wait for, and for more.
      if (!conflicts.empty())
        ordered = std::max(ordered, *conflicts.rbegin() + 1);
      if (random() % 8 == 0)
        ordered = i;
      std::set<uint32_t> &all = before.emplace_back();
      for (uint32_t other : order.add(i, ordered, accesses)) {
        EXPECT_LT(other, ordered);
        all.insert(other);
        all.insert(before[other].begin(), before[other].end());
      }
      steps.push_back(std::move(step));
      for (uint32_t j : conflicts)
        ASSERT_TRUE(all.contains(j))
            << "seed " << seed << ": " << i << ", " << j;
    }
  }
}

} // namespace
