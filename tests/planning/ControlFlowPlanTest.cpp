//===- ControlFlowPlanTest.cpp - Plans with branches and loops --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random problems are planned and then executed, on random ways through their
// branches and loops, in memory that remembers who wrote it last.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/MemoryPlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

using namespace tinh::planning;

namespace {

constexpr uint64_t kUnit = 64; ///< What buffers are multiples of.

/// A problem and where its control steps lead to.
struct Program {
  enum class Kind { Work, If, Jump, Loop, Leave, Next, EndIf };
  Problem problem;
  std::vector<Kind> kinds;
  std::vector<uint32_t> targets;

  uint32_t size() const { return uint32_t(problem.steps.size()); }

  uint32_t buffer(uint64_t units) {
    problem.buffers.push_back({units * kUnit});
    return uint32_t(problem.buffers.size() - 1);
  }

  uint32_t step(Kind kind, std::vector<uint32_t> reads,
                std::vector<uint32_t> writes = {}) {
    Step &step = problem.steps.emplace_back();
    step.reads = std::move(reads);
    step.writes = std::move(writes);
    kinds.push_back(kind);
    targets.push_back(0);
    return size() - 1;
  }

  void close(Control::Kind kind, uint32_t first, uint32_t otherwise,
             bool alone = false) {
    Control control;
    control.alone = alone;
    control.kind = kind;
    control.first = first;
    control.otherwise = otherwise;
    control.last = size() - 1;
    problem.controls.push_back(control);
  }
};

class RandomProgram : public Program {
public:
  explicit RandomProgram(uint32_t seed) : random(seed) {
    readable.push_back(buffer(1));
    step(Kind::Work, {}, {readable[0]});
    block(3 + below(5), 0);
    step(Kind::Work, {pick()});
  }

private:
  size_t below(size_t bound) { return random() % bound; }
  uint32_t pick() { return readable[below(readable.size())]; }

  /// A step that writes `target` and reads others.
  void work(uint32_t target) {
    std::vector<uint32_t> reads;
    for (size_t i = below(3) + 1; i > 0; --i)
      if (uint32_t read = pick(); read != target)
        reads.push_back(read);
    Step &added = problem.steps[step(Kind::Work, reads, {target})];
    for (uint32_t read : reads)
      if (below(2) && std::count(reads.begin(), reads.end(), read) == 1)
        added.inplace.push_back({read, target});
    if (below(3) == 0 && readable.size() > 1) // Something dies.
      readable.erase(readable.begin() + ptrdiff_t(below(readable.size())));
  }

  void branch(int depth) {
    uint32_t result = buffer(1 + below(6));
    uint32_t first = step(Kind::If, {pick()});
    std::vector<uint32_t> before = readable;
    block(below(4), depth + 1);
    work(result);
    uint32_t jump = step(Kind::Jump, {});
    targets[first] = size();
    readable = before;
    block(below(4), depth + 1);
    work(result);
    step(Kind::EndIf, {});
    targets[jump] = size() - 1;
    close(Control::Kind::Branch, first, jump);
    readable = before;
    readable.push_back(result);
  }

  void loop(int depth) {
    uint32_t carried = buffer(1 + below(6));
    work(carried);
    readable.push_back(carried);
    uint32_t first = step(Kind::Loop, {});
    std::vector<uint32_t> before = readable;
    block(below(4), depth + 1);
    uint32_t leave = below(2) ? step(Kind::Leave, {pick()}) : 0;
    block(below(4), depth + 1);
    work(carried);
    uint32_t last = step(Kind::Next, {});
    targets[last] = first + 1;
    targets[first] = last + 1;
    if (leave)
      targets[leave] = last + 1;
    close(Control::Kind::Loop, first, 0, /*alone=*/below(2));
    readable = before;
    if (std::find(readable.begin(), readable.end(), carried) == readable.end())
      readable.push_back(carried);
  }

  void block(size_t length, int depth) {
    for (size_t i = 0; i < length; ++i) {
      size_t kind = depth < 3 ? below(6) : 5;
      if (kind == 0) {
        branch(depth);
      } else if (kind == 1) {
        loop(depth);
      } else {
        uint32_t made = buffer(1 + below(8));
        work(made);
        readable.push_back(made);
      }
    }
  }

  std::mt19937 random;
  std::vector<uint32_t> readable;
};

/// Executes a program on one way through it.
class Execution {
public:
  Execution(const Program &program, const Plan &plan, uint32_t seed)
      : program(program), plan(plan), random(seed),
        units(program.size(), program.problem.controls),
        memory(plan.arenas[0].arenaSize / kUnit, 0) {}

  void run() {
    for (uint32_t s = 0; s < program.size() && !testing::Test::HasFailure();) {
      access(s);
      bool goes = false;
      switch (program.kinds[s]) {
      case Program::Kind::If:
        goes = random() % 2;
        break;
      case Program::Kind::Jump:
        goes = true;
        break;
      case Program::Kind::Loop:
        left.push_back(random() % 4);
        outside.push_back({});
        goes = left.back() == 0;
        iterate(s, goes);
        break;
      case Program::Kind::Leave:
        goes = random() % 4 == 0;
        if (goes)
          iterate(s, true);
        break;
      case Program::Kind::Next:
        goes = --left.back() > 0;
        iterate(s, !goes);
        break;
      default:
        break;
      }
      s = goes ? program.targets[s] : s + 1;
    }
  }

private:
  /// An iteration waits for all before it; what comes after the loop does not.
  /// One worker does not wait for itself.
  void iterate(uint32_t s, bool ends) {
    std::vector<uint32_t> &before = outside.back();
    if (Schedule::Unit unit = units.unit(s); unit.first == unit.last) {
      before.insert(before.end(), recent.begin(), recent.end());
      recent.clear();
    }
    if (!ends)
      return;
    recent.insert(recent.end(), before.begin(), before.end());
    outside.pop_back();
    left.pop_back();
  }

  /// Where a buffer lies in the memory.
  std::pair<uint64_t, uint64_t> cells(uint32_t buffer) const {
    uint64_t begin = plan.offsets[buffer] / kUnit;
    return {begin, begin + program.problem.buffers[buffer].size / kUnit};
  }

  bool meet(uint32_t a, uint32_t b) const {
    auto [begin, end] = cells(a);
    auto [otherBegin, otherEnd] = cells(b);
    return begin < otherEnd && otherBegin < end;
  }

  bool conflict(const Step &a, const Step &b) const {
    for (uint32_t written : a.writes)
      for (const auto *others : {&b.reads, &b.writes})
        for (uint32_t other : *others)
          if (meet(written, other))
            return true;
    return false;
  }

  void access(uint32_t s) {
    const Step &step = program.problem.steps[s];
    Schedule::Unit unit = units.unit(s);
    int32_t finished = *std::max_element(plan.waits.begin(),
                                         plan.waits.begin() + unit.first + 1);
    for (uint32_t other : recent) {
      const Step &before = program.problem.steps[other];
      Schedule::Unit earlier = units.unit(other);
      if (int32_t(earlier.last) > finished && earlier != unit)
        EXPECT_FALSE(conflict(step, before) || conflict(before, step))
            << "steps " << other << " and " << s;
    }
    for (uint32_t read : step.reads)
      for (auto [at, end] = cells(read); at < end; ++at)
        EXPECT_EQ(memory[at], written.at(read))
            << "step " << s << " reads buffer " << read;
    for (uint32_t target : step.writes) {
      written[target] = ++serial;
      for (auto [at, end] = cells(target); at < end; ++at)
        memory[at] = serial;
    }
    recent.push_back(s);
  }

  const Program &program;
  const Plan &plan;
  std::mt19937 random;
  Schedule units;                       ///< For these alone.
  std::vector<uint64_t> memory;         ///< By kUnit: which write was last.
  std::map<uint32_t, uint64_t> written; ///< By buffer: its last write.
  uint64_t serial = 0;
  std::vector<uint32_t> left;   ///< Iterations of the loops around.
  std::vector<uint32_t> recent; ///< Steps that a wait alone says are finished.
  /// More such steps, once the loops around are over.
  std::vector<std::vector<uint32_t>> outside;
};

using Kind = Program::Kind;

} // namespace

TEST(ControlFlowPlan, RandomProgramsFindWhatTheyHaveWritten) {
  ArenaOptions options;
  options.effort = 200'000;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    RandomProgram program(seed);
    Plan plan = planMemory(program.problem, options);
    EXPECT_GE(plan.arenas[0].arenaSize, plan.arenas[0].lowerBoundSize);
    for (uint32_t way = 0; way < 10; ++way)
      Execution(program, plan, way).run();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(ControlFlowPlan, WhatALoopReadsLivesThroughIt) {
  Program p;
  uint32_t outer = p.buffer(1), early = p.buffer(1), late = p.buffer(1);
  p.step(Kind::Work, {}, {outer});
  uint32_t loop = p.step(Kind::Loop, {});
  p.step(Kind::Work, {outer}, {early});
  p.step(Kind::Work, {early}, {late}); // Must not lie where `outer` does.
  p.step(Kind::Work, {late});
  p.step(Kind::Next, {});
  p.close(Control::Kind::Loop, loop, 0);
  Plan plan = planMemory(p.problem);
  EXPECT_EQ(plan.arenas[0].lowerBoundSize, 3 * kUnit);
  EXPECT_EQ(plan.arenas[0].arenaSize, 3 * kUnit);
}

TEST(ControlFlowPlan, WhatALoopLeavesLivesFromItsBeginningOn) {
  Program p;
  uint32_t rows = p.buffer(4), other = p.buffer(4);
  uint32_t loop = p.step(Kind::Loop, {});
  p.step(Kind::Work, {}, {other});
  p.step(Kind::Work, {other});
  p.step(Kind::Work, {}, {rows}); // One of its rows.
  p.step(Kind::Next, {});
  p.close(Control::Kind::Loop, loop, 0);
  p.step(Kind::Work, {rows});
  EXPECT_EQ(planMemory(p.problem).arenas[0].arenaSize, 8 * kUnit);
}

TEST(ControlFlowPlan, SidesShareMemoryAndDoNotWait) {
  Program p;
  uint32_t a = p.buffer(4), b = p.buffer(4);
  uint32_t branch = p.step(Kind::If, {});
  p.step(Kind::Work, {}, {a});
  p.step(Kind::Work, {a});
  uint32_t jump = p.step(Kind::Jump, {});
  p.step(Kind::Work, {}, {b});
  p.step(Kind::Work, {b});
  p.step(Kind::EndIf, {});
  p.close(Control::Kind::Branch, branch, jump);
  Plan plan = planMemory(p.problem);
  EXPECT_EQ(plan.offsets[a], plan.offsets[b]);
  EXPECT_EQ(plan.waits, (std::vector<int32_t>{-1, -1, 1, -1, -1, 4, -1}));
}

TEST(ControlFlowPlan, AResultIsNotThereBeforeTheSecondSideWritesIt) {
  Program p;
  uint32_t result = p.buffer(4), first = p.buffer(4), second = p.buffer(4);
  uint32_t branch = p.step(Kind::If, {});
  p.step(Kind::Work, {}, {first});
  p.step(Kind::Work, {first});
  p.step(Kind::Work, {}, {result});
  uint32_t jump = p.step(Kind::Jump, {});
  p.step(Kind::Work, {}, {second});
  p.step(Kind::Work, {second});
  p.step(Kind::Work, {}, {result});
  p.step(Kind::EndIf, {});
  p.close(Control::Kind::Branch, branch, jump);
  p.step(Kind::Work, {result});
  Plan plan = planMemory(p.problem);
  EXPECT_EQ(plan.arenas[0].lowerBoundSize, 4 * kUnit);
  EXPECT_EQ(plan.arenas[0].arenaSize, 4 * kUnit);
}

TEST(ControlFlowPlan, AResultIsThereInTheLoopThatFillsIt) {
  Program p;
  uint32_t result = p.buffer(4), row = p.buffer(4);
  uint32_t branch = p.step(Kind::If, {});
  p.step(Kind::Work, {}, {result});
  uint32_t jump = p.step(Kind::Jump, {});
  uint32_t loop = p.step(Kind::Loop, {});
  p.step(Kind::Work, {}, {row});
  p.step(Kind::Work, {row});
  p.step(Kind::Work, {}, {result}); // One of its rows.
  p.step(Kind::Next, {});
  p.close(Control::Kind::Loop, loop, 0);
  p.step(Kind::EndIf, {});
  p.close(Control::Kind::Branch, branch, jump);
  p.step(Kind::Work, {result});
  EXPECT_EQ(planMemory(p.problem).arenas[0].arenaSize, 8 * kUnit);
}

TEST(ControlFlowPlan, BothSidesAreFinishedForWhatComesAfter) {
  Program p;
  uint32_t result = p.buffer(1);
  uint32_t branch = p.step(Kind::If, {});
  p.step(Kind::Work, {}, {result});
  uint32_t jump = p.step(Kind::Jump, {});
  p.step(Kind::EndIf, {});
  p.close(Control::Kind::Branch, branch, jump);
  p.step(Kind::Work, {result});
  EXPECT_EQ(planMemory(p.problem).waits.back(), 1);
}
