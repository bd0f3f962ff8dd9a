//===- check_collectives_test.cpp - Collectives that make no sense --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As check_artifact_test.cpp, of an artifact of several ranks.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"

#include "artifact/module.h"
#include "artifact/steps.h"
#include "tinh/collectives.h"
#include "toy.h"

#include <gtest/gtest.h>

using namespace tinh::runtime;

namespace {

class CheckCollectives : public testing::Test {
protected:
  enum { sum, pair };

  /// Whether function `f` is accepted after `change` has altered a copy of its
  /// steps.
  template <typename Change> bool accepts(uint32_t f, Change change) {
    tinh_artifact_t artifact = module.artifact();
    function = artifact.functions[f];
    steps.assign(function.steps, function.steps + function.num_steps);
    change();
    function.steps = steps.data();
    function.num_steps = static_cast<uint32_t>(steps.size());
    artifact.functions = &function;
    artifact.num_functions = 1;
    return valid_artifact(artifact);
  }

  /// The collective that step `start` starts and step `await` waits for.
  tinh_collective_desc_t &collective(size_t start, size_t await) {
    copied = *steps[start].collective;
    steps[start].collective = steps[await].collective = &copied;
    return copied;
  }

  Toy toy{{}, false, RANKS_ARTIFACT};
  Module module{toy.path()};
  tinh_function_desc_t function;
  std::vector<tinh_step_t> steps;
  tinh_collective_desc_t copied;
};

} // namespace

TEST_F(CheckCollectives, AreStartedAndAwaitedOnce) {
  EXPECT_TRUE(accepts(sum, [] {}));
  EXPECT_TRUE(accepts(pair, [] {}));
  EXPECT_FALSE(accepts(sum, [&] { steps.erase(steps.begin() + 3); }));
  EXPECT_FALSE(
      accepts(sum, [&] { steps.insert(steps.begin() + 3, steps[3]); }));
  EXPECT_FALSE(accepts(sum, [&] { steps[3].target = 0; }));
  EXPECT_FALSE(accepts(sum, [&] { steps[3].target = 3; }));
  EXPECT_FALSE(accepts(sum, [&] { steps[3].target = UINT32_MAX; }));
  EXPECT_FALSE(accepts(sum, [&] { steps[3].buffers = steps[0].buffers; }));
  EXPECT_FALSE(accepts(sum, [&] { steps[3].num_buffers = 1; }));
  EXPECT_FALSE(accepts(sum, [&] { steps[1].num_buffers = 1; }));
  EXPECT_FALSE(accepts(sum, [&] { steps[1].collective = nullptr; }));
  EXPECT_FALSE(accepts(sum, [&] { steps[3].collective = nullptr; }));
}

TEST_F(CheckCollectives, AreForRanksThatThereMayBe) {
  EXPECT_TRUE(accepts(sum, [&] { --collective(1, 3).count; }));
  EXPECT_TRUE(accepts(
      sum, [&] { collective(1, 3).communication_dtype = TINH_DTYPE_BF16; }));
  EXPECT_FALSE(accepts(
      sum, [&] { collective(1, 3).communication_dtype = TINH_DTYPE_F16; }));
  EXPECT_FALSE(accepts(sum, [&] { collective(1, 3).kind = 4; }));
  EXPECT_FALSE(accepts(sum, [&] { collective(1, 3).reduction = 3; }));
  EXPECT_FALSE(accepts(sum, [&] { collective(1, 3).dtype = 99; }));
  EXPECT_FALSE(accepts(sum, [&] { collective(1, 3).count *= 4; }));
  EXPECT_FALSE(accepts(sum, [&] { collective(1, 3).count = UINT64_MAX / 2; }));
  EXPECT_FALSE(accepts(pair, [&] { collective(0, 1).num_ranks = 0; }));
  EXPECT_FALSE(accepts(pair, [&] { collective(0, 1).num_ranks = 3; }));
  EXPECT_FALSE(accepts(pair, [&] { collective(2, 3).num_ranks = UINT32_MAX; }));
}

TEST_F(CheckCollectives, AreOnGpusAllOrNone) {
  enum { start, await };
  std::vector<uint8_t> launches(2, TINH_LAUNCH_SEGMENT), gates(2, 0);
  std::vector<tinh_device_node_t> nodes = {{start, 0, 0, 0}, {await, 0, 0, 0}};
  tinh_device_segment_t each = {};
  each.num_nodes = 1;
  each.due = TINH_AT_END;
  each.after = TINH_NO_SEGMENT;
  std::vector<tinh_device_segment_t> segments = {each, each};
  segments[1].first_node = 1;
  std::vector<tinh_buffer_ref_t> buffers(2, {TINH_SPACE_DEVICE, 0, 0});
  tinh_device_plan_t plan = {};
  const uint32_t first = 0;
  auto on_gpu = [&] {
    steps = {steps[1], steps[3]};
    steps[await].target = start;
    for (tinh_step_t &step : steps) {
      step.buffers = buffers.data();
      step.wait_for = -1;
    }
    function.device_arena_size = function.arena_size;
    plan = {launches.data(),
            gates.data(),
            static_cast<uint32_t>(segments.size()),
            static_cast<uint32_t>(nodes.size()),
            1,
            segments.data(),
            nodes.data(),
            &first};
    function.device_plan = &plan;
  };
  EXPECT_TRUE(accepts(sum, on_gpu));
  EXPECT_TRUE(collective_needs(module.artifact(), function).on_gpu);
  buffers[1].space = TINH_SPACE_ARENA;
  EXPECT_FALSE(accepts(sum, on_gpu));
  buffers[1].space = TINH_SPACE_DEVICE;
  launches[await] = TINH_LAUNCH_LOOSE;
  EXPECT_FALSE(accepts(sum, on_gpu));
  launches[await] = TINH_LAUNCH_SEGMENT;
  std::swap(nodes[0], nodes[1]);
  EXPECT_FALSE(accepts(sum, on_gpu)); // Awaited before it is started.
  std::swap(nodes[0], nodes[1]);
  segments.pop_back();
  segments[0].num_nodes = 2;
  EXPECT_FALSE(accepts(sum, on_gpu)); // In one graph, and not after it.
  nodes[1].num_edges = 1;
  EXPECT_TRUE(accepts(sum, on_gpu));
}

TEST_F(CheckCollectives, RunInEachRun) {
  auto jump_past = [&](uint32_t target) {
    tinh_step_t jump = {};
    jump.opcode = TINH_OP_JUMP;
    jump.wait_for = -1;
    jump.target = target;
    steps.insert(steps.begin() + 1, jump);
    steps[4].target = 2; // The START is one step further on.
  };
  EXPECT_TRUE(accepts(sum, [&] { jump_past(2); }));
  EXPECT_FALSE(accepts(sum, [&] { jump_past(3); }));
  EXPECT_FALSE(accepts(sum, [&] { jump_past(5); }));
}
