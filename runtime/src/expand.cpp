//===- expand.cpp - The instructions of one worker --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker without a share of a step has nothing to do there: what the step
// waits for moves to the worker's next instruction, for later steps rely on it,
// and its signal moves to the instruction before, unless a jump comes between
// them. A wait is left out where earlier waits, on each way that leads there,
// have seen to it.
//
// A loop that one worker runs alone is a single step for the others, and its
// positions are that step's: nobody is told of those in it.
//
//===----------------------------------------------------------------------===//
#include "program.h"

#include <algorithm>

namespace tinh::runtime {

namespace {

struct Share {
  uint64_t begin, end;
  bool is_whole; ///< Nobody else has anything to do.
};

/// Worker `worker`'s share of `count` equal pieces.
Share share(uint64_t count, uint32_t worker, uint32_t num_workers) {
  auto bound = [&](uint64_t w) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(count) * w /
                                 num_workers);
  };
  uint64_t begin = bound(worker), end = bound(uint64_t(worker) + 1);
  return {begin, end, end - begin == count};
}

Share share_of_step(const tinh_step_t &step, uint32_t worker,
                    uint32_t num_workers) {
  if (step.opcode == TINH_OP_DISPATCH)
    return share(step.num_chunks, worker, num_workers);
  uint64_t pieces = step.size / kMinCopyShare + (step.size % kMinCopyShare > 0);
  Share bytes = share(pieces, worker, num_workers);
  bytes.begin = std::min(bytes.begin * kMinCopyShare, step.size);
  bytes.end = std::min(bytes.end * kMinCopyShare, step.size);
  return bytes;
}

} // namespace

class Program::Expander {
public:
  Expander(const Program &program, const Module &module, uint32_t worker,
           const std::vector<bool> &awaited)
      : program(program), module(module), function(program.function()),
        worker(worker),
        num_workers(static_cast<uint32_t>(program.workers.size())),
        awaited(awaited), known(size_t(function.num_steps) + 1, kUnknown) {}

  std::vector<Instruction> run() {
    for (uint32_t s = 0; s < function.num_steps;) {
      const tinh_step_t &step = function.steps[s];
      enter(s);
      bool alone = step.opcode == TINH_OP_LOOP &&
                   program.all_loops[loop_at(s)].alone && s >= alone_until;
      if (alone && worker + 1 < num_workers) {
        skip(s);
        s = step.target;
        continue;
      }
      if (alone)
        enter_alone(s);
      require_wait(step);
      if (step.opcode >= TINH_OP_BRANCH)
        add_control(s);
      else
        add_share(s);
      first_entry += step.num_buffers;
      ++s;
    }
    for (Instruction &instruction : list)
      instruction.target = index_at(list, instruction.target_step);
    return std::move(list);
  }

private:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  /// Brings together the ways that lead to step `s`.
  void enter(uint32_t s) {
    if (!falls)
      waited = known[s] == kUnknown ? 0 : known[s];
    else if (known[s] != kUnknown)
      waited = std::min(waited, known[s]);
    if (!falls || known[s] != kUnknown)
      block = list.size();
    falls = true;
    if (s == alone_until && s > 0)
      tell(s, s);
  }

  void require_wait(const tinh_step_t &step) {
    needed = std::max(needed, static_cast<uint32_t>(step.wait_for + 1));
  }

  /// Tells, before step `s`, that this worker has come to `position`.
  void tell(uint32_t s, uint32_t position) {
    if (list.size() > block) {
      list.back().signal = position;
      return;
    }
    Instruction &nothing = list.emplace_back();
    nothing.opcode = TINH_OP_ZERO;
    nothing.step = s;
    nothing.signal = position;
  }

  /// Leaves the loop at step `s` to the last worker.
  void skip(uint32_t s) {
    for (uint32_t end = function.steps[s].target; s < end; ++s) {
      require_wait(function.steps[s]);
      first_entry += function.steps[s].num_buffers;
    }
    tell(s, s);
  }

  /// Waits for all that comes before the loop at step `s`, once.
  void enter_alone(uint32_t s) {
    needed = std::max(needed, s);
    alone_until = function.steps[s].target;
  }

  /// The instruction `step`, which waits for what is needed and is not known.
  Instruction &add(uint32_t s) {
    const tinh_step_t &step = function.steps[s];
    Instruction &instruction = list.emplace_back();
    instruction.opcode = step.opcode;
    instruction.step = s;
    instruction.moves = program.first_moving[s] != kNone;
    instruction.first_buffer =
        instruction.moves ? program.first_moving[s] : first_entry;
    instruction.loop = kNoLoop;
    instruction.alone = s < alone_until;
    if (num_workers > 1) {
      instruction.wait = needed > waited ? needed : 0;
      instruction.signal = awaited[s] && !instruction.alone ? s + 1 : 0;
    }
    waited = std::max(waited, instruction.alone ? alone_until : needed);
    return instruction;
  }

  void add_share(uint32_t s) {
    const tinh_step_t &step = function.steps[s];
    Share mine = share_of_step(step, worker, num_workers);
    bool signals = awaited[s] && num_workers > 1 && s >= alone_until;
    if (mine.begin < mine.end) {
      Instruction &instruction = add(s);
      if (step.opcode == TINH_OP_DISPATCH)
        instruction.kernel = module.artifact().kernels[step.kernel].function;
      instruction.begin = static_cast<int64_t>(mine.begin);
      instruction.end = static_cast<int64_t>(mine.end);
    } else if (signals) {
      tell(s, s + 1);
    }
    if (mine.is_whole && waited >= s)
      waited = std::max(waited, s + 1);
  }

  void add_control(uint32_t s) {
    const tinh_step_t &step = function.steps[s];
    Instruction &instruction = add(s);
    instruction.target_step = step.target;
    if (step.opcode == TINH_OP_LOOP)
      instruction.loop = loop_at(s);
    else if (step.opcode == TINH_OP_NEXT || leaves(s))
      instruction.loop = program.loop_of[s];
    if (step.opcode != TINH_OP_NEXT)
      known[step.target] = std::min(known[step.target], waited);
    falls = step.opcode != TINH_OP_JUMP;
    if (step.opcode == TINH_OP_LOOP) { // Each iteration waits for everything.
      waited = std::max(s + 1, s < alone_until ? alone_until : 0);
      block = list.size();
    }
  }

  uint32_t loop_at(uint32_t s) const {
    auto found =
        std::find_if(program.all_loops.begin(), program.all_loops.end(),
                     [&](const Loop &loop) { return loop.step == s; });
    return static_cast<uint32_t>(found - program.all_loops.begin());
  }

  /// Whether a jump leads out of the loop that it lies in.
  bool leaves(uint32_t s) const {
    uint32_t loop = program.loop_of[s];
    return loop != kNoLoop &&
           function.steps[s].target >=
               function.steps[program.all_loops[loop].step].target;
  }

  const Program &program;
  const Module &module;
  const tinh_function_desc_t &function;
  uint32_t worker, num_workers;
  const std::vector<bool> &awaited;
  std::vector<Instruction> list;
  uint32_t first_entry = 0;
  /// The position of the others that the steps so far need, and that they are
  /// known to have reached.
  uint32_t needed = 0, waited = 0;
  /// What is known where a jump leads to, at each step.
  std::vector<uint32_t> known;
  bool falls = true; ///< The step before leads to the next one.
  /// The end of the last loop that this worker runs alone.
  uint32_t alone_until = 0;
  size_t block = 0; ///< Signals do not move before this instruction.
};

Program::Program(const Module &module, const tinh_function_desc_t &function,
                 uint32_t num_workers, bool all_walk)
    : description(&function), workers(num_workers),
      loop_of(function.num_steps, kNoLoop),
      first_moving(function.num_steps, kNone) {
  find_arguments();
  find_loops(all_walk);
  std::vector<bool> awaited(function.num_steps, false);
  for (uint32_t s = 0; s < function.num_steps; ++s)
    if (int32_t wait = function.steps[s].wait_for; wait >= 0)
      awaited[static_cast<size_t>(wait)] = true;
  for (uint32_t worker = 0; worker < num_workers; ++worker)
    workers[worker] = Expander(*this, module, worker, awaited).run();
}

} // namespace tinh::runtime
