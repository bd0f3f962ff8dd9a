//===- control_flow_program_test.cpp - Branches, loops and order ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random functions with nested branches and loops, whose workers are played
// through in random orders, with the order that tinh_step_t promises checked at
// every instruction.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"
#include "program/program.h"

#include "toy.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tinh::runtime;

namespace {

/// A random function; a deque of steps is nothing but what tinh_step_t needs.
class RandomFunction {
public:
  explicit RandomFunction(uint32_t seed) : random(seed) {
    block(1 + below(6), 0);
  }

  size_t below(size_t bound) { return random() % bound; }

  tinh_function_desc_t describe() const {
    tinh_function_desc_t function = {};
    function.name = "f";
    function.num_steps = static_cast<uint32_t>(steps.size());
    function.steps = steps.data();
    function.arena_size = 300'000;
    return function;
  }

  std::vector<tinh_step_t> steps;
  std::mt19937 random;

private:
  uint32_t size() const { return static_cast<uint32_t>(steps.size()); }

  uint32_t add(tinh_opcode_t opcode) {
    tinh_step_t step = {};
    step.opcode = opcode;
    step.wait_for =
        below(2) ? static_cast<int32_t>(below(steps.size() + 1)) - 1 : -1;
    step.label = "";
    steps.push_back(step);
    return size() - 1;
  }

  void add_work() {
    if (below(5) == 0) {
      tinh_step_t &zero = steps[add(TINH_OP_ZERO)];
      zero.size = below(2) ? 100 : 300'000;
      zero.num_buffers = 1;
      zero.buffers = &nowhere;
      return;
    }
    tinh_step_t &dispatch = steps[add(TINH_OP_DISPATCH)];
    dispatch.kernel = 3;
    dispatch.num_chunks = below(3) ? 1 : below(2) ? 1 + below(3) : 64;
  }

  uint32_t add_branch() {
    uint32_t at = add(TINH_OP_BRANCH);
    steps[at].num_buffers = 1;
    steps[at].buffers = &nowhere;
    return at;
  }

  void block(size_t length, int depth) {
    for (size_t i = 0; i < length; ++i) {
      size_t kind = depth < 3 ? below(8) : 7;
      if (kind == 0) {
        uint32_t branch = add_branch();
        block(below(3), depth + 1);
        uint32_t jump = add(TINH_OP_JUMP);
        steps[branch].target = size();
        block(below(3), depth + 1);
        steps[jump].target = size();
      } else if (kind == 1) {
        uint32_t loop = add(TINH_OP_LOOP);
        steps[loop].num_chunks = 4;
        block(below(3), depth + 1);
        uint32_t leave = below(2) ? add_branch() : UINT32_MAX;
        block(below(3), depth + 1);
        steps[add(TINH_OP_NEXT)].target = loop + 1;
        steps[loop].target = size();
        if (leave != UINT32_MAX)
          steps[leave].target = size();
        if (std::all_of(steps.begin() + loop, steps.end(), is_one_piece) &&
            below(3))
          leave_alone(loop);
      } else {
        add_work();
      }
    }
  }

  void leave_alone(uint32_t loop) {
    steps[loop].alone = 1;
    for (uint32_t s = loop + 1; s < steps.size(); ++s)
      steps[s].wait_for = -1;
  }

  static constexpr tinh_buffer_ref_t nowhere = {TINH_SPACE_ARENA, 0, 0};
};

/// What one run executes, in order: decisions drawn at random.
struct Execution {
  struct Entry {
    uint32_t step;
    size_t needed; ///< Begins an iteration: waits for all entries before that,
    size_t since;  ///< and, in a loop that is alone, for its own from here on.
    int64_t size, done = 0;
  };

  explicit Execution(RandomFunction &function) {
    std::vector<int> left;       // Iterations of the loops around, and
    std::vector<size_t> outside; // the barriers outside of them.
    size_t barrier = 0, since = SIZE_MAX;
    uint32_t alone = 0, alone_until = 0; // The last such loop, and its end.
    const auto &steps = function.steps;
    for (uint32_t s = 0; s < steps.size();) {
      const tinh_step_t &step = steps[s];
      if (s < alone || s >= alone_until)
        since = SIZE_MAX;
      if (step.opcode == TINH_OP_LOOP && step.alone && since == SIZE_MAX) {
        alone = s;
        alone_until = step.target;
        since = entries.size();
      }
      if (step.opcode < TINH_OP_BRANCH) {
        entries_of[s].push_back(entries.size());
        entries.push_back({s, barrier, since,
                           static_cast<int64_t>(step.opcode == TINH_OP_DISPATCH
                                                    ? step.num_chunks
                                                    : step.size)});
        ++s;
        continue;
      }
      bool goes = step.opcode == TINH_OP_JUMP ||
                  (step.opcode == TINH_OP_BRANCH && function.below(3) == 0);
      if (step.opcode == TINH_OP_LOOP) {
        left.push_back(static_cast<int>(function.below(4)));
        outside.push_back(barrier);
        goes = left.back() == 0;
      } else if (step.opcode == TINH_OP_NEXT) {
        goes = --left.back() > 0;
      }
      bool iterates = step.opcode == (goes ? TINH_OP_NEXT : TINH_OP_LOOP);
      bool ends = (step.opcode == TINH_OP_LOOP && goes) ||
                  (step.opcode == TINH_OP_NEXT && !goes) ||
                  (step.opcode == TINH_OP_BRANCH && goes && leaves(steps, s));
      if (ends) {
        left.pop_back();
        barrier = outside.back();
        outside.pop_back();
      }
      if (iterates && since == SIZE_MAX)
        barrier = entries.size();
      decisions_of[s].push_back(goes);
      s = goes ? step.target : s + 1;
    }
  }

  static bool leaves(const std::vector<tinh_step_t> &steps, uint32_t s) {
    return steps[steps[s].target - 1].opcode == TINH_OP_NEXT;
  }

  std::vector<Entry> entries;
  /// By step: its entries and, of a control step, each time whether to go.
  std::map<uint32_t, std::vector<size_t>> entries_of;
  std::map<uint32_t, std::vector<bool>> decisions_of;
};

class Player {
public:
  Player(RandomFunction &function, const Program &program, uint32_t workers)
      : function(function), program(program), run(function), workers(workers) {}

  void play() {
    for (;;) {
      std::vector<uint32_t> able;
      for (uint32_t worker = 0; worker < workers.size(); ++worker)
        if (may_go_on(worker))
          able.push_back(worker);
      if (able.empty())
        break;
      // Mostly one worker alone, so that they come far apart.
      if (std::find(able.begin(), able.end(), favourite) == able.end() ||
          function.below(10) == 0)
        favourite = able[function.below(able.size())];
      step(favourite);
    }
    for (Worker &worker : workers) {
      EXPECT_EQ(worker.at, list(worker).size()) << "deadlock";
      EXPECT_EQ(worker.base, workers[0].base) << "the workers disagree";
    }
    for (const Execution::Entry &entry : run.entries)
      EXPECT_EQ(entry.done, entry.size) << "step " << entry.step;
  }

private:
  struct Worker {
    size_t at = 0;
    std::map<uint32_t, size_t> times; ///< That it has come to each step.
    uint32_t base = UINT32_MAX - 5;   // Soon wraps around.
    uint32_t progress = base;
    uint32_t barrier = 0; ///< A position to wait for, if not 0.
  };

  const std::vector<Instruction> &list(const Worker &worker) const {
    return program.instructions(static_cast<uint32_t>(&worker - &workers[0]));
  }

  bool may_go_on(uint32_t index) const {
    const Worker &worker = workers[index];
    bool at_end = worker.at == list(worker).size();
    uint32_t wait = worker.barrier || at_end ? worker.barrier
                                             : list(worker)[worker.at].wait;
    if (at_end && !worker.barrier)
      return false;
    for (const Worker &other : workers)
      if (&other != &worker && wait &&
          static_cast<int32_t>(other.progress - (worker.base + wait)) < 0)
        return false;
    return true;
  }

  void tell(Worker &worker, uint32_t position) {
    EXPECT_GE(static_cast<int32_t>(worker.base + position - worker.progress), 0)
        << "progress goes back";
    worker.progress = worker.base + position;
  }

  void step(uint32_t index) {
    Worker &worker = workers[index];
    if (worker.barrier) {
      worker.barrier = 0;
      return end_if_finished(worker);
    }
    const Instruction &instruction = list(worker)[worker.at];
    if (instruction.is_control()) {
      follow(worker, instruction);
    } else {
      if (instruction.begin < instruction.end)
        work(worker, instruction);
      if (instruction.signal)
        tell(worker, instruction.signal);
      ++worker.at;
    }
    end_if_finished(worker);
  }

  void follow(Worker &worker, const Instruction &control) {
    size_t time = worker.times[control.step]++;
    bool goes = run.decisions_of.at(control.step)[time];
    worker.at = goes ? control.target : worker.at + 1;
    if (control.alone)
      return;
    if (goes && control.opcode == TINH_OP_NEXT)
      worker.base += control.step + 1 - control.target_step;
    bool iterates = control.opcode == (goes ? TINH_OP_NEXT : TINH_OP_LOOP);
    uint32_t position = goes       ? control.target_step
                        : iterates ? control.step + 1
                                   : control.signal;
    if (position)
      tell(worker, position);
    if (iterates)
      worker.barrier = position;
  }

  void work(Worker &worker, const Instruction &instruction) {
    size_t time = worker.times[instruction.step]++;
    size_t at = run.entries_of.at(instruction.step)[time];
    int32_t needed = -1;
    for (uint32_t s = 0; s <= instruction.step; ++s)
      needed = std::max(needed, function.steps[s].wait_for);
    for (size_t i = 0; i < at; ++i) {
      const Execution::Entry &before = run.entries[i];
      if (i < run.entries[at].needed || i >= run.entries[at].since ||
          static_cast<int32_t>(before.step) <= needed)
        EXPECT_EQ(before.done, before.size)
            << "step " << instruction.step << " starts before step "
            << before.step << " is finished";
    }
    run.entries[at].done += instruction.end - instruction.begin;
  }

  void end_if_finished(Worker &worker) {
    if (worker.at == list(worker).size() && !worker.barrier)
      tell(worker, static_cast<uint32_t>(function.steps.size()) + 1);
  }

  RandomFunction &function;
  const Program &program;
  Execution run;
  std::vector<Worker> workers;
  uint32_t favourite = 0;
};

} // namespace

TEST(ControlFlowProgram, RandomFunctionsKeepTheirOrder) {
  Toy toy;
  Module module{toy.path()};
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    RandomFunction random(seed);
    tinh_function_desc_t function = random.describe();
    tinh_artifact_t artifact = module.artifact();
    artifact.functions = &function;
    artifact.num_functions = 1;
    ASSERT_TRUE(valid_artifact(artifact)) << "seed " << seed;
    for (uint32_t workers = 2; workers <= 4; ++workers) {
      Program program(module, function, workers);
      for (int order = 0; order < 5; ++order)
        Player(random, program, workers).play();
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}
