//===- cuda_schedule_test.cpp - Which steps go to a GPU together ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tinh::runtime::cuda;
using testing::ElementsAre;

namespace {

/// Functions of steps that copy, on the host or to the GPU.
class ScheduleTest : public testing::Test {
protected:
  void cpu(int32_t wait_for) { add(TINH_OP_COPY, wait_for, on_host); }
  void gpu(int32_t wait_for) { add(TINH_OP_COPY, wait_for, to_gpu); }
  void control(tinh_opcode_t opcode, uint32_t target) {
    add(opcode, -1, on_host);
    steps.back().target = target;
    steps.back().num_buffers = opcode == TINH_OP_BRANCH;
  }
  Schedule schedule(bool one_by_one = false) {
    function.steps = steps.data();
    function.num_steps = static_cast<uint32_t>(steps.size());
    return {artifact, function, one_by_one};
  }

  tinh_function_desc_t function = {};

private:
  void add(uint32_t opcode, int32_t wait_for, const tinh_buffer_ref_t *refs) {
    tinh_step_t &step = steps.emplace_back();
    step.opcode = opcode;
    step.wait_for = wait_for;
    step.buffers = refs;
    step.num_buffers = 2;
    step.num_chunks = 1;
    step.size = 64;
  }

  const tinh_buffer_ref_t on_host[2] = {{TINH_SPACE_ARENA, 0, 0},
                                        {TINH_SPACE_ARENA, 0, 64}};
  const tinh_buffer_ref_t to_gpu[2] = {{TINH_SPACE_ARENA, 0, 0},
                                       {TINH_SPACE_DEVICE, 0, 64}};
  std::vector<tinh_step_t> steps;
  tinh_artifact_t artifact = {};
};

TEST_F(ScheduleTest, OneSegmentWithoutTheCpu) {
  gpu(-1);
  gpu(-1);
  gpu(1);
  gpu(0);
  gpu(3);
  Schedule made = schedule();
  ASSERT_EQ(made.segments().size(), 1u);
  EXPECT_THAT(made.segments()[0].steps, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(made.segments()[0].launch, 0u);
  EXPECT_FALSE(made.is_awaited(0));
  // Step 3 waits for what step 2 does; step 4 for both, and so for all.
  EXPECT_THAT(dependencies(function, made.segments()[0]),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0, 1),
                          ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST_F(ScheduleTest, GoesBeforeWorkOfTheCpuThatItDoesNotWaitFor) {
  cpu(-1);
  cpu(0);
  gpu(-1);
  gpu(2);
  gpu(-1);
  Schedule made = schedule();
  const std::vector<Segment> &segments = made.segments();
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_THAT(segments[0].steps, ElementsAre(2));
  EXPECT_EQ(segments[0].launch, 1u) << "step 1 has waited for step 0";
  EXPECT_EQ(segments[0].wait, 1u);
  EXPECT_THAT(segments[1].steps, ElementsAre(3, 4)) << "for all up to step 2";
  EXPECT_EQ(segments[1].launch, 2u);
}

TEST_F(ScheduleTest, LetsACopyOfWhatTheCpuGivesPassTheGpusWork) {
  cpu(-1); // Gives what step 2 copies.
  gpu(-1); // The GPU's own work, in steps 1 and 3.
  gpu(0);
  gpu(1);
  gpu(3); // Needs both.
  Schedule made = schedule();
  const std::vector<Segment> &segments = made.segments();
  ASSERT_EQ(segments.size(), 4u);
  EXPECT_THAT(segments[0].steps, ElementsAre(1));
  EXPECT_EQ(segments[0].launch, 0u);
  EXPECT_THAT(segments[1].steps, ElementsAre(2));
  EXPECT_EQ(segments[1].launch, 1u);
  EXPECT_NE(segments[1].stream, segments[0].stream);
  EXPECT_EQ(segments[1].after, kNoSegment);
  EXPECT_EQ(segments[2].stream, segments[0].stream);
  EXPECT_EQ(segments[2].after, kNoSegment);
  EXPECT_EQ(segments[3].stream, segments[2].stream);
  EXPECT_EQ(segments[3].after, 1u);
}

TEST_F(ScheduleTest, IsLooseInLoopsAndBranches) {
  gpu(-1);
  control(TINH_OP_LOOP, 5);
  gpu(0);
  cpu(2);
  control(TINH_OP_NEXT, 2);
  control(TINH_OP_BRANCH, 7);
  gpu(5);
  gpu(6);
  Schedule made = schedule();
  ASSERT_EQ(made.segments().size(), 2u);
  EXPECT_THAT(made.segments()[0].steps, ElementsAre(0));
  EXPECT_THAT(made.segments()[1].steps, ElementsAre(7));
  EXPECT_EQ(made.segments()[1].launch, 7u);
  EXPECT_EQ(made.segments()[1].stream, 0u);
  EXPECT_TRUE(made.is_loose(2));
  EXPECT_TRUE(made.is_loose(6));
  EXPECT_FALSE(made.on_device(3));
}

TEST_F(ScheduleTest, IsAllLooseWhereStepsGoOneByOne) {
  gpu(-1);
  gpu(0);
  Schedule made = schedule(/*one_by_one=*/true);
  EXPECT_TRUE(made.segments().empty());
  EXPECT_TRUE(made.is_loose(1));
}

} // namespace
