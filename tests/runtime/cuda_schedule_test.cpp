//===- cuda_schedule_test.cpp - Which steps go to a GPU together ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda/schedule/schedule.h"

#include <bitset>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tinh::runtime::cuda;
using testing::ElementsAre;
using tinh::runtime::StepKind;

namespace {

constexpr uint64_t kSize = 64;
enum Space { kHost = TINH_SPACE_ARENA, kGpu = TINH_SPACE_DEVICE };

/// Functions of steps that copy from one place to another one.
class ScheduleTest : public testing::Test {
protected:
  /// Places are numbers of the host's memory or the GPU's.
  uint32_t copy(int32_t wait_for, Space from, uint32_t a, Space to,
                uint32_t b) {
    tinh_step_t &step = add(TINH_OP_COPY, wait_for);
    step.size = kSize;
    step.num_buffers = 2;
    step.buffers = references
                       .emplace_back(std::vector<tinh_buffer_ref_t>{
                           {from, 0, a * kSize}, {to, 0, b * kSize}})
                       .data();
    return static_cast<uint32_t>(steps.size() - 1);
  }
  uint32_t cpu(int32_t wait_for, uint32_t a, uint32_t b) {
    return copy(wait_for, kHost, a, kHost, b);
  }
  uint32_t gpu(int32_t wait_for, uint32_t a, uint32_t b) {
    return copy(wait_for, kGpu, a, kGpu, b);
  }
  tinh_step_t &add(uint32_t opcode, int32_t wait_for) {
    tinh_step_t &step = steps.emplace_back();
    step.opcode = opcode;
    step.wait_for = wait_for;
    step.num_chunks = 1;
    return step;
  }
  /// A kernel that writes places `a` and `a` + 2.
  void rows(int32_t wait_for, uint32_t a) {
    static const int64_t dims[] = {2, 16}, strides[] = {32, 1};
    static const tinh_operand_desc_t operand = {TINH_DTYPE_F32, 1, 2, dims,
                                                strides};
    static tinh_kernel_desc_t kernel = {};
    kernel.device = TINH_DEVICE_CUDA;
    kernel.num_operands = 1;
    kernel.operands = &operand;
    artifact.kernels = &kernel;
    artifact.num_kernels = 1;
    tinh_step_t &step = add(TINH_OP_DISPATCH, wait_for);
    step.num_buffers = 1;
    step.buffers =
        references
            .emplace_back(std::vector<tinh_buffer_ref_t>{{kGpu, 0, a * kSize}})
            .data();
  }
  uint32_t loop(uint64_t length) {
    add(TINH_OP_LOOP, -1).num_chunks = length;
    return static_cast<uint32_t>(steps.size() - 1);
  }
  void end(uint32_t loop) {
    add(TINH_OP_NEXT, -1).target = loop + 1;
    steps[loop].target = static_cast<uint32_t>(steps.size());
  }
  void move_on(uint32_t buffer, uint32_t depth, int64_t bytes) {
    tinh_step_t &step = steps.back();
    std::vector<tinh_stride_t> &all =
        strides.emplace_back(step.strides, step.strides + step.num_strides);
    all.push_back({buffer, depth, bytes});
    step.strides = all.data();
    ++step.num_strides;
  }
  Schedule schedule(bool one_by_one = false) {
    function.steps = steps.data();
    function.num_steps = static_cast<uint32_t>(steps.size());
    return {artifact, function, one_by_one};
  }
  static std::vector<uint32_t> steps_of(const Segment &segment) {
    std::vector<uint32_t> all;
    for (const Node &node : segment.nodes)
      all.push_back(node.step);
    return all;
  }
  static std::vector<std::vector<uint32_t>> edges(const Segment &segment) {
    std::vector<std::vector<uint32_t>> all;
    for (const Node &node : segment.nodes)
      all.push_back(node.follows);
    return all;
  }

  tinh_function_desc_t function = {};
  std::vector<tinh_step_t> steps;

private:
  std::deque<std::vector<tinh_buffer_ref_t>> references;
  std::deque<std::vector<tinh_stride_t>> strides;
  tinh_artifact_t artifact = {};
};

TEST_F(ScheduleTest, OneSegmentWithoutTheCpu) {
  gpu(-1, 0, 1);
  gpu(-1, 2, 3);
  gpu(1, 1, 4);
  gpu(1, 3, 5);
  gpu(3, 4, 1);
  Schedule made = schedule();
  ASSERT_EQ(made.segments().size(), 1u);
  const Segment &segment = made.segments()[0];
  EXPECT_THAT(steps_of(segment), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(segment.launch, 0u);
  EXPECT_EQ(segment.due, kAtEnd);
  EXPECT_FALSE(segment.is_awaited);
  // By what they read and write, and not by all that the plan has them wait
  // for; step 4 follows step 0 by way of step 2.
  EXPECT_THAT(edges(segment),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0),
                          ElementsAre(1), ElementsAre(2)));
}

TEST_F(ScheduleTest, WritesFollowReads) {
  gpu(-1, 0, 1);
  gpu(-1, 0, 2);
  gpu(1, 3, 0);
  gpu(2, 0, 3);
  EXPECT_THAT(edges(schedule().segments()[0]),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0, 1),
                          ElementsAre(2)));
}

TEST_F(ScheduleTest, WhatThePlanDoesNotOrderHasNoOrder) {
  // Rows of one tensor between each other, and all of them.
  gpu(-1, 0, 1);
  steps.back().size = 3 * kSize;
  gpu(-1, 0, 2);
  gpu(1, 2, 9);
  EXPECT_THAT(edges(schedule().segments()[0]),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0, 1)));
}

TEST_F(ScheduleTest, WritersOfRowsFollowWhatLiesBetweenTheRowsOfOthers) {
  gpu(-1, 1, 9);
  rows(0, 0); // Of places 0 and 2, and then 1 and 3, in any order.
  rows(0, 1);
  gpu(2, 0, 10);
  steps.back().size = 4 * kSize;
  gpu(3, 12, 0);
  steps.back().size = 4 * kSize;
  std::vector<std::vector<uint32_t>> all = edges(schedule().segments()[0]);
  EXPECT_THAT(all[2], ElementsAre(0));
  EXPECT_THAT(all[3], ElementsAre(1, 2));
  EXPECT_THAT(all[4], ElementsAre(3));
}

TEST_F(ScheduleTest, IndependentWorkRunsAtTheSameTime) {
  // Two chains, one on each device, step against step.
  cpu(-1, 0, 1);
  gpu(-1, 0, 1);
  cpu(1, 1, 2);
  gpu(2, 1, 2);
  cpu(3, 2, 3);
  copy(4, kGpu, 2, kHost, 7);
  cpu(5, 3, 4);
  cpu(6, 7, 8); // The first one that needs the GPU.
  Schedule made = schedule();
  ASSERT_EQ(made.segments().size(), 1u);
  EXPECT_THAT(steps_of(made.segments()[0]), ElementsAre(1, 3, 5));
  EXPECT_EQ(made.segments()[0].launch, 0u);
  EXPECT_EQ(made.segments()[0].due, 7u);
  for (uint32_t s = 0; s < steps.size(); ++s)
    EXPECT_EQ(made.gates()[s] != 0, s == 7) << s;
}

TEST_F(ScheduleTest, LetsACopyOfWhatTheCpuGivesPassTheGpusWork) {
  cpu(-1, 0, 1); // Gives what step 2 copies.
  gpu(-1, 0, 1); // The GPU's own work, in steps 1 and 3.
  copy(0, kHost, 1, kGpu, 5);
  gpu(1, 1, 2);
  gpu(3, 2, 5); // Needs both.
  steps.back().size = 4 * kSize;
  Schedule made = schedule();
  const std::vector<Segment> &segments = made.segments();
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_THAT(steps_of(segments[0]), ElementsAre(1, 3));
  EXPECT_EQ(segments[0].launch, 0u);
  EXPECT_EQ(segments[0].wait, 0u);
  EXPECT_THAT(steps_of(segments[1]), ElementsAre(2, 4));
  EXPECT_EQ(segments[1].launch, 1u);
  EXPECT_EQ(segments[1].wait, 1u);
}

TEST_F(ScheduleTest, SegmentsThatDoNotNeedEachOtherAreOnTwoStreams) {
  copy(-1, kGpu, 0, kHost, 0);
  gpu(-1, 1, 2);
  cpu(1, 0, 1); // Needs step 0 alone.
  copy(2, kHost, 1, kGpu, 4);
  gpu(3, 2, 3);
  gpu(4, 3, 4); // Needs all.
  Schedule made = schedule();
  const std::vector<Segment> &segments = made.segments();
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_THAT(steps_of(segments[0]), ElementsAre(0));
  EXPECT_EQ(segments[0].due, 2u);
  EXPECT_THAT(steps_of(segments[1]), ElementsAre(1, 4));
  EXPECT_EQ(segments[1].launch, 0u);
  EXPECT_EQ(segments[1].due, kAtEnd);
  EXPECT_NE(segments[1].stream, segments[0].stream);
  EXPECT_EQ(segments[1].after, kNoSegment);
  EXPECT_THAT(steps_of(segments[2]), ElementsAre(3, 5));
  EXPECT_EQ(segments[2].launch, 3u);
  EXPECT_EQ(segments[2].stream, segments[1].stream);
  EXPECT_EQ(segments[2].after, kNoSegment) << "the CPU has waited for it";
}

TEST_F(ScheduleTest, UnrollsLoopsOfTheGpu) {
  gpu(-1, 0, 1);
  uint32_t outer = loop(2);
  gpu(0, 1, 2);
  uint32_t inner = loop(2);
  gpu(2, 2, 3);
  move_on(1, 0, 2 * kSize);
  move_on(1, 1, kSize);
  end(inner);
  end(outer);
  copy(4, kGpu, 3, kHost, 0);
  steps.back().size = 4 * kSize;
  Schedule made = schedule();
  ASSERT_EQ(made.segments().size(), 1u);
  const Segment &segment = made.segments()[0];
  EXPECT_THAT(steps_of(segment), ElementsAre(0, 2, 4, 4, 2, 4, 4, 7));
  EXPECT_THAT(segment.nodes[5].iterations, ElementsAre(1, 0));
  EXPECT_THAT(segment.nodes[4].iterations, ElementsAre(1));
  // Rows of the result do not wait for each other, but a second iteration has
  // to wait before it writes what the first one reads.
  EXPECT_THAT(edges(segment),
              ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(1),
                          ElementsAre(1), ElementsAre(2, 3), ElementsAre(4),
                          ElementsAre(4), ElementsAre(5, 6)));
  EXPECT_EQ(made.kinds()[outer], StepKind::segment);
  EXPECT_FALSE(made.is_loose(4));
  EXPECT_THAT(made.kinds(), testing::Each(testing::Ne(StepKind::host)));
}

TEST_F(ScheduleTest, LoopsWithoutIterationsHaveNoNodes) {
  gpu(-1, 0, 1);
  uint32_t empty = loop(0);
  gpu(0, 1, 2);
  end(empty);
  gpu(2, 1, 3);
  EXPECT_THAT(edges(schedule().segments()[0]),
              ElementsAre(ElementsAre(), ElementsAre(0)));
}

TEST_F(ScheduleTest, IsLooseInOtherLoopsAndInBranches) {
  gpu(-1, 0, 1);
  uint32_t with_cpu = loop(3);
  gpu(0, 1, 2);
  cpu(2, 0, 1);
  end(with_cpu);
  steps[with_cpu].wait_for = 0;
  add(TINH_OP_BRANCH, -1).target = 7;
  gpu(5, 1, 2);
  gpu(6, 2, 3);
  uint32_t too_long = loop(kMaxUnrolled + 1);
  gpu(7, 3, 4);
  end(too_long);
  Schedule made = schedule();
  ASSERT_EQ(made.segments().size(), 2u);
  EXPECT_THAT(steps_of(made.segments()[0]), ElementsAre(0));
  EXPECT_THAT(steps_of(made.segments()[1]), ElementsAre(7));
  EXPECT_EQ(made.segments()[1].launch, 7u);
  EXPECT_EQ(made.segments()[1].stream, 0u);
  for (uint32_t s : {2, 6, 9})
    EXPECT_TRUE(made.is_loose(s)) << s;
  EXPECT_EQ(made.kinds()[3], StepKind::host);
  EXPECT_FALSE(made.gates()[3]) << "it has nothing to do with the GPU";
}

TEST_F(ScheduleTest, StepsInLoopsWaitForTheGpuIfTheyShareMemory) {
  uint32_t begin = loop(3);
  gpu(0, 0, 1);
  copy(1, kGpu, 1, kHost, 0);
  cpu(2, 0, 1);
  cpu(3, 4, 5);
  end(begin);
  cpu(4, 5, 6);
  cpu(5, 0, 7);
  Schedule made = schedule();
  for (uint32_t s = 0; s < steps.size(); ++s)
    EXPECT_EQ(made.gates()[s] != 0, s == 3 || s == 7) << s;
}

TEST_F(ScheduleTest, LoopsOfTheCpuWaitBeforeTheyBegin) {
  copy(-1, kGpu, 0, kHost, 0);
  gpu(-1, 1, 2);
  uint32_t begin = loop(3);
  cpu(2, 0, 1);
  end(begin);
  Schedule made = schedule();
  for (uint32_t s = 0; s < steps.size(); ++s)
    EXPECT_EQ(made.gates()[s] != 0, s == begin) << s;
}

TEST_F(ScheduleTest, IsAllLooseWhereStepsGoOneByOne) {
  uint32_t begin = loop(2);
  gpu(-1, 0, 1);
  end(begin);
  gpu(1, 1, 2);
  Schedule made = schedule(/*one_by_one=*/true);
  EXPECT_TRUE(made.segments().empty());
  EXPECT_TRUE(made.is_loose(1));
  EXPECT_TRUE(made.is_loose(3));
  EXPECT_EQ(made.kinds()[begin], StepKind::host);
}

/// Rows of bytes, as the pieces of concatenations have them.
struct Rows {
  std::bitset<256> bytes;
  Access access = {};
};

Rows random_rows(std::mt19937 &random) {
  uint64_t run = 1 + random() % 24, count = 1 + random() % 3;
  uint64_t pitch = run + (random() % 2 ? random() % 24 : 0);
  Rows rows;
  rows.access.begin = random() % 100;
  rows.access.end = rows.access.begin + (count - 1) * pitch + run;
  rows.access.writes = random() % 2;
  rows.access.has_gaps = count > 1 && pitch > run;
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
      std::vector<Access> accesses;
      for (uint32_t k = 1 + random() % 2; k-- > 0;) {
        step.push_back(random_rows(random));
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
