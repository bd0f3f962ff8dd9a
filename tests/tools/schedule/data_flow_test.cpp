//===- data_flow_test.cpp - Who reads what whom -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "data_flow.h"

#include <gmock/gmock.h>

using namespace tinh::tools;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Access in_arena(uint64_t offset, uint64_t size, bool written) {
  return {TINH_SPACE_ARENA, 0, offset, size, written};
}

/// A step that reads some bytes and writes others.
ScheduleStep step(std::vector<std::pair<uint64_t, uint64_t>> reads,
                  std::vector<std::pair<uint64_t, uint64_t>> writes) {
  ScheduleStep result;
  for (auto [offset, size] : reads)
    result.accesses.push_back(in_arena(offset, size, false));
  for (auto [offset, size] : writes)
    result.accesses.push_back(in_arena(offset, size, true));
  return result;
}

Schedule schedule_of(std::vector<ScheduleStep> steps) {
  Schedule schedule;
  schedule.steps = std::move(steps);
  return schedule;
}

} // namespace

TEST(DataFlowTest, AReadIsOfTheLastStepThatWroteTheBytes) {
  DataFlow flow = data_flow_of(schedule_of(
      {step({}, {{0, 64}}), step({}, {{64, 64}}), step({{0, 64}}, {{128, 64}}),
       step({}, {{0, 64}}), step({{0, 128}}, {})}));
  EXPECT_THAT(flow.reads[2], ElementsAre(0));
  EXPECT_THAT(flow.reads[4], ElementsAre(1, 3));
}

TEST(DataFlowTest, BuffersLastFromTheirWriterToTheirLastReader) {
  DataFlow flow = data_flow_of(
      schedule_of({step({}, {{0, 64}}), step({{0, 64}}, {{64, 128}}),
                   step({{64, 128}}, {})}));
  ASSERT_EQ(flow.buffers.size(), 2u);
  EXPECT_EQ(flow.buffers[0].first, 0u);
  EXPECT_EQ(flow.buffers[0].last, 1u);
  EXPECT_EQ(flow.buffers[1].offset, 64u);
  EXPECT_EQ(flow.buffers[1].size, 128u);
  EXPECT_THAT(flow.live, ElementsAre(64, 192, 128));
}

/// What writes over what it reads takes its place.
TEST(DataFlowTest, UpdatesInPlaceAreCountedOnce) {
  DataFlow flow = data_flow_of(schedule_of(
      {step({}, {{0, 64}}), step({{0, 64}}, {{0, 64}}), step({{0, 64}}, {})}));
  EXPECT_THAT(flow.reads[1], ElementsAre(0));
  EXPECT_THAT(flow.reads[2], ElementsAre(1));
  EXPECT_THAT(flow.live, ElementsAre(64, 64, 64));
}

TEST(DataFlowTest, WhatALoopReadsLastsForAllIterations) {
  ScheduleStep loop, next;
  loop.opcode = TINH_OP_LOOP;
  loop.chunks = 4;
  next.opcode = TINH_OP_NEXT;
  ScheduleStep slices = step({{0, 64}}, {{64, 16}});
  slices.strides = {{1, 0, 16}};
  DataFlow flow = data_flow_of(schedule_of(
      {step({}, {{0, 64}}), loop, slices, next, step({{64, 64}}, {})}));
  ASSERT_EQ(flow.buffers.size(), 2u);
  EXPECT_EQ(flow.buffers[0].last, 3u);
  EXPECT_EQ(flow.buffers[1].size, 64u) << "of all iterations";
  EXPECT_THAT(flow.depth, ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(flow.reads[4], ElementsAre(2));
}

/// A value that is carried from iteration to iteration, in one place.
TEST(DataFlowTest, WhatALoopWritesOverEndsThere) {
  ScheduleStep loop, next;
  loop.opcode = TINH_OP_LOOP;
  next.opcode = TINH_OP_NEXT;
  DataFlow flow = data_flow_of(
      schedule_of({step({}, {{0, 64}}), loop, step({{0, 64}}, {{64, 64}}),
                   step({{64, 64}}, {{0, 64}}), next, step({{0, 64}}, {})}));
  EXPECT_THAT(flow.live, ElementsAre(64, 64, 128, 128, 64, 64));
}

/// if (…) A = …, B reads A; else A = …; behind them A is read.
TEST(DataFlowTest, ArmsOfABranchDoNotSeeEachOther) {
  ScheduleStep branch, jump;
  branch.opcode = TINH_OP_BRANCH;
  branch.target = 5;
  jump.opcode = TINH_OP_JUMP;
  jump.target = 6;
  DataFlow flow = data_flow_of(
      schedule_of({step({}, {{0, 64}}), branch, step({{0, 64}}, {{64, 64}}),
                   step({{64, 64}}, {{0, 32}}), jump,
                   step({{0, 64}}, {{64, 64}}), step({{0, 128}}, {})}));
  EXPECT_THAT(flow.reads[5], ElementsAre(0)) << "not the other arm's step 3";
  EXPECT_THAT(flow.reads[6], testing::UnorderedElementsAre(0, 2, 3, 5));
  EXPECT_THAT(flow.live, ElementsAre(64, 64, 128, 128, 128, 128, 128))
      << "results of both arms, in one place, count once";
}

TEST(DataFlowTest, WhatABranchMayLeaveAloneIsThereBehindIt) {
  ScheduleStep branch;
  branch.opcode = TINH_OP_BRANCH;
  branch.target = 3;
  DataFlow flow = data_flow_of(schedule_of(
      {step({}, {{0, 64}}), branch, step({}, {{0, 64}}), step({{0, 64}}, {})}));
  EXPECT_THAT(flow.reads[3], ElementsAre(0, 2));
}

TEST(DataFlowTest, OtherMemoryIsNotInTheArena) {
  Schedule schedule = schedule_of({step({}, {})});
  schedule.steps[0].accesses = {{TINH_SPACE_OUTPUT, 0, 0, 64, true}};
  EXPECT_THAT(data_flow_of(schedule).buffers, IsEmpty());
}

TEST(DataFlowTest, SpansGoFromTheFirstToTheLastElement) {
  EXPECT_EQ(span_of(TINH_DTYPE_F32, {2, 3}, {8, 1}), 44u);
  EXPECT_EQ(span_of(TINH_DTYPE_F32, {}, {}), 4u);
  EXPECT_EQ(span_of(TINH_DTYPE_F32, {2, 0}, {8, 1}), 0u);
}
