//===- SideBySideTest.cpp - Loops that workers do at once -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/SideBySide.h"

#include <gtest/gtest.h>

using namespace tinh::planning;

namespace {

/// Two or more recurrences: each has a step that writes what its loop reads,
/// the loop of four steps, and a step that reads what it leaves.
struct Recurrences {
  Problem problem;

  uint32_t buffer(uint64_t size) {
    problem.buffers.push_back({size});
    return uint32_t(problem.buffers.size() - 1);
  }

  uint32_t step(std::vector<uint32_t> reads, std::vector<uint32_t> writes) {
    Step &step = problem.steps.emplace_back();
    step.reads = std::move(reads);
    step.writes = std::move(writes);
    return uint32_t(problem.steps.size() - 1);
  }

  /// Returns its first step.
  uint32_t loop(uint32_t reads, uint32_t leaves, uint64_t size) {
    Control control;
    control.kind = Control::Kind::Loop;
    control.alone = true;
    uint32_t between = buffer(size);
    control.first = step({}, {});
    step({reads}, {between});
    step({between}, {leaves});
    control.last = step({}, {});
    problem.controls.push_back(control);
    return control.first;
  }
};

} // namespace

TEST(SideBySide, LoopsGoDownToTheNextOneThatNeedsNothingOfThem) {
  Recurrences r;
  uint32_t x = r.buffer(64), y = r.buffer(64), forward = r.buffer(64),
           backward = r.buffer(64), sum = r.buffer(64);
  r.step({}, {x});         // 0
  r.loop(x, forward, 64);  // 1 … 4
  r.step({}, {y});         // 5
  r.loop(y, backward, 64); // 6 … 9
  r.step({forward, backward}, {sum});
  r.loop(sum, r.buffer(64), 64); // 11 … 14
  std::vector<uint32_t> order = gatherLoops(r.problem);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 5, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11,
                                          12, 13, 14}));
  EXPECT_EQ(r.problem.controls[0].first, 2u);
  EXPECT_EQ(r.problem.controls[0].last, 5u);
  EXPECT_EQ(r.problem.controls[1].first, 6u);
  EXPECT_EQ(r.problem.steps[1].writes, std::vector<uint32_t>{y});
}

TEST(SideBySide, ALoopStaysWhereTheNextOneNeedsIt) {
  Recurrences r;
  uint32_t x = r.buffer(64), y = r.buffer(64), state = r.buffer(64);
  r.step({}, {x});
  r.loop(x, state, 64);
  r.step({}, {y});
  uint32_t second = r.loop(y, r.buffer(64), 64);
  r.problem.steps[second].reads = {state}; // How many iterations, say.
  std::vector<uint32_t> order = gatherLoops(r.problem);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

/// A step on the way writes what the loop reads, or a part of it.
TEST(SideBySide, ALoopStaysWhereItsInputsAreOverwritten) {
  Recurrences r;
  uint32_t x = r.buffer(128), part = r.buffer(64);
  r.problem.buffers[part].partOf = x;
  r.step({}, {x});
  r.loop(x, r.buffer(64), 64);
  r.step({}, {part});
  r.loop(x, r.buffer(64), 64);
  std::vector<uint32_t> order = gatherLoops(r.problem);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(SideBySide, NeighboursDoNotWaitForEachOthersMemory) {
  for (uint64_t size : {uint64_t(64), uint64_t(1) << 20}) {
    Recurrences r;
    uint32_t x = r.buffer(64), y = r.buffer(64), forward = r.buffer(64),
             backward = r.buffer(64);
    r.step({}, {x});
    r.step({}, {y});
    uint32_t first = r.loop(x, forward, size);
    uint32_t second = r.loop(y, backward, size);
    uint32_t last = r.step({forward, backward}, {r.buffer(64)});
    Plan plan = planMemory(r.problem);
    EXPECT_EQ(plan.waits[first], 0);
    // What takes too much memory to keep apart is not.
    EXPECT_EQ(plan.waits[second], size == 64 ? 1 : int32_t(second) - 1);
    EXPECT_EQ(plan.waits[last], int32_t(last) - 1);
    for (uint32_t s = first + 1; s < last; ++s)
      EXPECT_TRUE(s == second || plan.waits[s] < 0) << s;
  }
}
