//===- program_test.cpp - Schedules expanded for workers --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workers' instructions are played through in orders that real threads rarely
// take, with the order that tinh_step_t promises checked at every instruction.
//
//===----------------------------------------------------------------------===//
#include "program/program.h"

#include "toy.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace tinh::runtime;

namespace {

/// A function of steps that have the same two buffers, if any.
struct Schedule {
  std::vector<tinh_step_t> steps;
  tinh_buffer_ref_t buffers[2] = {};

  void dispatch(int32_t wait_for, uint64_t chunks) {
    constexpr uint32_t kNothing = 3; // Of the toy's kernels.
    steps.push_back({TINH_OP_DISPATCH, kNothing, wait_for, 0, buffers, chunks,
                     0, "dispatch", 0, 0, nullptr, 0, nullptr});
  }

  void copy(int32_t wait_for, uint64_t bytes) {
    steps.push_back({TINH_OP_COPY, 0, wait_for, 2, buffers, 0, bytes, "copy", 0,
                     0, nullptr, 0, nullptr});
  }

  void zero(int32_t wait_for, uint64_t bytes) {
    steps.push_back({TINH_OP_ZERO, 0, wait_for, 1, buffers, 0, bytes, "zero", 0,
                     0, nullptr, 0, nullptr});
  }

  /// One that is alone.
  uint32_t loop(int32_t wait_for, uint64_t length) {
    steps.push_back({TINH_OP_LOOP, 0, wait_for, 0, nullptr, length, 0, "loop",
                     0, 0, nullptr, 1, nullptr});
    return static_cast<uint32_t>(steps.size() - 1);
  }

  void end(uint32_t loop) {
    steps.push_back({TINH_OP_NEXT, 0, -1, 0, nullptr, 0, 0, "next", loop + 1, 0,
                     nullptr, 0});
    steps[loop].target = static_cast<uint32_t>(steps.size());
  }

  tinh_function_desc_t function() const {
    tinh_function_desc_t desc = {};
    desc.name = "f";
    desc.num_steps = static_cast<uint32_t>(steps.size());
    desc.steps = steps.data();
    return desc;
  }

  int64_t size_of(size_t step) const {
    const tinh_step_t &desc = steps[step];
    return static_cast<int64_t>(
        desc.opcode == TINH_OP_DISPATCH ? desc.num_chunks : desc.size);
  }
};

/// Plays workers' instructions one at a time, by who comes first in `order`.
class Player {
public:
  Player(const Schedule &schedule, const Program &program,
         std::vector<uint32_t> order)
      : schedule(schedule), program(program), order(std::move(order)),
        next(this->order.size()), progress(this->order.size()),
        done(schedule.steps.size()) {
    for (uint32_t worker : this->order)
      end_if_finished(worker);
  }

  void play() {
    while (play_one()) {
    }
    for (size_t worker = 0; worker < order.size(); ++worker)
      EXPECT_EQ(next[worker], list(worker).size()) << "deadlock";
    for (size_t step = 0; step < done.size(); ++step)
      EXPECT_EQ(done[step], schedule.size_of(step)) << "step " << step;
  }

private:
  const std::vector<Instruction> &list(uint32_t worker) const {
    return program.instructions(worker);
  }

  bool may_go_on(uint32_t worker) const {
    if (next[worker] == list(worker).size())
      return false;
    for (uint32_t other : order)
      if (other != worker && progress[other] < list(worker)[next[worker]].wait)
        return false;
    return true;
  }

  bool play_one() {
    auto worker = std::find_if(order.begin(), order.end(),
                               [&](uint32_t w) { return may_go_on(w); });
    if (worker == order.end())
      return false;
    const Instruction &instruction = list(*worker)[next[*worker]++];
    if (instruction.begin < instruction.end)
      check_order(instruction.step);
    done[instruction.step] += instruction.end - instruction.begin;
    if (instruction.signal)
      progress[*worker] = instruction.signal;
    end_if_finished(*worker);
    return true;
  }

  void end_if_finished(uint32_t worker) {
    if (next[worker] == list(worker).size())
      progress[worker] = UINT32_MAX;
  }

  /// All that steps up to this one wait for must be finished.
  void check_order(uint32_t step) const {
    int32_t needed = -1;
    for (uint32_t s = 0; s <= step; ++s)
      needed = std::max(needed, schedule.steps[s].wait_for);
    for (int32_t s = 0; s <= needed; ++s)
      EXPECT_EQ(done[s], schedule.size_of(s))
          << "step " << step << " starts before step " << s << " is finished";
  }

  const Schedule &schedule;
  const Program &program;
  std::vector<uint32_t> order;
  std::vector<size_t> next;
  std::vector<uint32_t> progress;
  std::vector<int64_t> done;
};

class ProgramTest : public testing::Test {
protected:
  /// Plays `schedule` in every order of up to four workers.
  void play(const Schedule &schedule) {
    tinh_function_desc_t function = schedule.function();
    for (uint32_t workers = 1; workers <= 4; ++workers) {
      Program program(module, function, workers);
      std::vector<uint32_t> order(workers);
      std::iota(order.begin(), order.end(), 0u);
      do
        Player(schedule, program, order).play();
      while (std::next_permutation(order.begin(), order.end()));
    }
  }

  Toy toy;
  Module module{toy.path()};
};

} // namespace

TEST_F(ProgramTest, AStepWithoutAShareKeepsItsWait) {
  Schedule schedule;
  schedule.dispatch(-1, 64);
  schedule.dispatch(0, 1); // Worker 0 of two has no share of it,
  schedule.dispatch(-1, 64);
  play(schedule);
  Program program(module, schedule.function(), 2);
  ASSERT_EQ(program.instructions(0).size(), 2u);
  EXPECT_EQ(program.instructions(0)[1].wait, 1u); // but waits all the same.
}

TEST_F(ProgramTest, WaitsAreNotRepeated) {
  Schedule schedule;
  schedule.dispatch(-1, 64);
  schedule.dispatch(0, 64);
  schedule.dispatch(0, 64);
  play(schedule);
  Program program(module, schedule.function(), 2);
  EXPECT_EQ(program.instructions(1)[1].wait, 1u);
  EXPECT_EQ(program.instructions(1)[2].wait, 0u);
}

// Two steps of one piece that do not wait for each other are two workers', and
// what waits for the first one stays with its worker.
TEST_F(ProgramTest, UndividedStepsAreDoneAtOnce) {
  Schedule schedule;
  schedule.dispatch(-1, 1);
  schedule.dispatch(-1, 1);
  schedule.dispatch(1, 1);
  play(schedule);
  Program program(module, schedule.function(), 2);
  auto owner = [&](uint32_t step) {
    const std::vector<Instruction> &list = program.instructions(1);
    return std::any_of(list.begin(), list.end(), [&](const Instruction &i) {
      return i.step == step && i.begin < i.end;
    });
  };
  EXPECT_TRUE(owner(0));
  EXPECT_FALSE(owner(1));
  EXPECT_TRUE(owner(2));
}

TEST_F(ProgramTest, LoopsThatAreAloneAreDoneAtOnce) {
  Schedule schedule;
  uint32_t first = schedule.loop(-1, 10);
  schedule.dispatch(-1, 1);
  schedule.end(first);
  uint32_t second = schedule.loop(-1, 10);
  schedule.dispatch(-1, 1);
  schedule.end(second);
  schedule.dispatch(static_cast<int32_t>(second), 64);
  tinh_function_desc_t function = schedule.function();
  Program program(module, function, 2);
  auto runs = [&](uint32_t worker, uint32_t loop) {
    const std::vector<Instruction> &list = program.instructions(worker);
    return std::any_of(list.begin(), list.end(), [&](const Instruction &i) {
      return i.step == loop && i.opcode == TINH_OP_LOOP;
    });
  };
  EXPECT_TRUE(runs(1, first) && !runs(0, first));
  EXPECT_TRUE(runs(0, second) && !runs(1, second));
}

// Worker 0 waits for the GPU where the loop begins. The last worker, which runs
// the loop, waits for worker 0 there, though it knows that the steps before are
// done.
TEST_F(ProgramTest, WhoRunsALoopAloneWaitsForTheGpu) {
  Schedule schedule;
  schedule.buffers[1].space = TINH_SPACE_DEVICE;
  schedule.copy(-1, 64); // By the GPU, from what the loop writes.
  schedule.dispatch(-1, 64);
  schedule.dispatch(1, 1); // Worker 1 of two waits for step 1 and does all.
  uint32_t loop = schedule.loop(0, 2);
  schedule.zero(-1, 64);
  schedule.end(loop);
  const uint8_t launches[6] = {TINH_LAUNCH_SEGMENT}, gates[6] = {0, 0, 0, 1};
  const tinh_device_segment_t segment = {0, 1, 0, 0, loop, 0, TINH_NO_SEGMENT,
                                         1};
  const tinh_device_node_t node = {};
  const tinh_device_plan_t plan = {launches, gates,    1,     1,
                                   0,        &segment, &node, nullptr};
  tinh_function_desc_t function = schedule.function();
  function.device_plan = &plan;
  Program program(module, function, 2);
  ASSERT_TRUE(program.loops()[0].alone);
  auto first = [&](uint32_t worker) {
    const std::vector<Instruction> &list = program.instructions(worker);
    return list.at(Program::index_at(list, loop));
  };
  EXPECT_EQ(first(0).opcode, kDeviceWait);
  EXPECT_GE(first(0).signal, loop);
  EXPECT_EQ(first(1).opcode, TINH_OP_LOOP);
  EXPECT_EQ(first(1).wait, loop);
}

TEST_F(ProgramTest, RandomSchedulesKeepTheirOrder) {
  std::mt19937 random(1);
  auto below = [&](size_t bound) { return static_cast<int>(random() % bound); };
  for (int trial = 0; trial < 300; ++trial) {
    Schedule schedule;
    int length = 1 + below(12);
    for (int s = 0; s < length; ++s) {
      int32_t wait_for = below(2) ? below(size_t(s) + 1) - 1 : -1;
      if (below(5) == 0)
        schedule.copy(wait_for, below(2) ? 100 : 300'000);
      else
        schedule.dispatch(wait_for, below(2) ? 1 + below(3) : 64);
    }
    play(schedule);
    ASSERT_FALSE(HasFailure()) << "trial " << trial;
  }
}
