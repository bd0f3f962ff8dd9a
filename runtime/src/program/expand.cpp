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
// What is one piece is the worker's whom assign.h gives it to. A loop that one
// worker runs alone is a single step for the others, and its positions are that
// step's: nobody is told of those in it.
//
// Worker 0 gives the GPU its steps, and waits for them before the step of the
// CPU that needs them first, whoever has a share of that. That it has come
// there it tells when the GPU is done, and the others wait for this.
//
//===----------------------------------------------------------------------===//
#include "artifact/step_buffers.h"
#include "program/assign.h"
#include "program/program.h"

#include <algorithm>
#include <cmath>

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
  if (is_collective(step))
    return share(1, worker, num_workers);
  uint64_t pieces =
      step.size / TINH_COPY_SHARE + (step.size % TINH_COPY_SHARE > 0);
  Share bytes = share(pieces, worker, num_workers);
  bytes.begin = std::min(bytes.begin * TINH_COPY_SHARE, step.size);
  bytes.end = std::min(bytes.end * TINH_COPY_SHARE, step.size);
  return bytes;
}

/// A call costs some hundred cycles, and what the thread has in its caches.
constexpr double kCyclesOfGrain = 10000;

int64_t grain_of(const tinh_kernel_desc_t &kernel, const tinh_step_t &step) {
  double chunks = static_cast<double>(step.num_chunks);
  if (kernel.estimated_cycles <= kCyclesOfGrain)
    return 0;
  return static_cast<int64_t>(
      std::ceil(kCyclesOfGrain / (kernel.estimated_cycles / chunks)));
}

} // namespace

class Program::Expander {
public:
  Expander(const Program &program, const Module &module,
           const std::vector<uint32_t> &owners, uint32_t worker,
           const std::vector<bool> &awaited, bool divides)
      : program(program), module(module), function(program.function()),
        schedule(program.for_device), owners(owners), worker(worker),
        num_workers(static_cast<uint32_t>(program.workers.size())),
        awaited(awaited), divides(divides),
        known(size_t(function.num_steps) + 1, kUnknown) {}

  std::vector<Instruction> run() {
    for (uint32_t s = 0; s < function.num_steps;) {
      const tinh_step_t &step = function.steps[s];
      enter(s);
      launch_before(s);
      wait_for_device(s);
      if (const Loop *loop = alone_loop(s)) {
        if (worker != (loop->for_device ? 0 : owners[s])) {
          skip(s);
          s = step.target;
          continue;
        }
        enter_alone(s, loop->for_device);
      }
      require_wait(step);
      if (schedule.on_device(s))
        add_for_device(s);
      else if (step.opcode >= TINH_OP_BRANCH)
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
    if (s == alone_until && s > 0) {
      tell(s, s);
      if (waited >= alone_since)
        waited = std::max(waited, s);
    }
  }

  /// The loop that begins at step `s` if one worker runs it alone, and it is
  /// not within another such loop.
  const Loop *alone_loop(uint32_t s) const {
    if (function.steps[s].opcode != TINH_OP_LOOP || s < alone_until ||
        schedule.on_device(s))
      return nullptr;
    const Loop &loop = program.all_loops[loop_at(s)];
    return loop.alone ? &loop : nullptr;
  }

  Instruction &add_device_instruction(uint32_t opcode, uint32_t s,
                                      uint32_t what) {
    Instruction &instruction = list.emplace_back();
    instruction.opcode = opcode;
    instruction.step = s;
    instruction.loop = kNoLoop;
    instruction.begin = what;
    return instruction;
  }

  /// Launches the segments that go before step `s`.
  void launch_before(uint32_t s) {
    auto segments = schedule.segments();
    for (; worker == 0 && next_segment < segments.size() &&
           segments[next_segment].launch == s;
         ++next_segment) {
      uint32_t wait = segments[next_segment].wait;
      Instruction &launch =
          add_device_instruction(kDeviceLaunch, s, next_segment);
      launch.wait = num_workers > 1 && wait > waited ? wait : 0;
      waited = std::max(waited, wait);
    }
  }

  /// Has worker 0 wait for what step `s` needs of the GPU, and the others for
  /// worker 0: also where a loop begins that one worker runs alone, whoever
  /// that is.
  void wait_for_device(uint32_t s) {
    if (!schedule.waits(s))
      return;
    bool shared = num_workers > 1 && s >= alone_until;
    if (worker == 0)
      add_device_instruction(kDeviceWait, s, s).signal = shared ? s : 0;
    else if (shared) {
      needed = std::max(needed, s);
      waited = std::min(waited, s - 1);
    }
  }

  /// How far of the way to `position` this worker may say that it has come
  /// before it waits for the GPU there.
  uint32_t tellable(uint32_t position) const {
    return worker == 0 && schedule.waits(position) ? position - 1 : position;
  }

  /// What lies in a segment has been launched before. The GPU has got the step
  /// then: that it is done with it, is what wait_for_device is for.
  void add_for_device(uint32_t s) {
    if (worker == 0 && schedule.is_loose(s)) {
      add(s).opcode = kDeviceStep;
    } else if (awaited[s] && num_workers > 1 && s >= alone_until) {
      tell(s, s + 1);
    }
    if (worker == 0 && waited >= s) // The others have nothing to do there.
      waited = std::max(waited, s + 1);
  }

  void require_wait(const tinh_step_t &step) {
    needed = std::max(needed, static_cast<uint32_t>(step.wait_for + 1));
  }

  /// Tells, before step `s`, that this worker has come to `position`.
  void tell(uint32_t s, uint32_t position) {
    position = tellable(position);
    if (num_workers == 1 || position == 0)
      return;
    if (list.size() > block) {
      list.back().signal = std::max(list.back().signal, position);
      return;
    }
    Instruction &nothing = list.emplace_back();
    nothing.opcode = TINH_OP_ZERO;
    nothing.step = s;
    nothing.signal = position;
  }

  /// Leaves the loop at step `s` to another worker.
  void skip(uint32_t s) {
    for (uint32_t end = function.steps[s].target; s < end; ++s) {
      require_wait(function.steps[s]);
      first_entry += function.steps[s].num_buffers;
    }
    tell(s, s);
  }

  /// One that has to do with the GPU waits for all that comes before the loop
  /// at step `s`, once.
  void enter_alone(uint32_t s, bool for_device) {
    if (for_device)
      needed = std::max(needed, s);
    alone_since = s;
    alone_until = function.steps[s].target;
    alone_for_device = for_device;
  }

  /// Whether step `s` is in a loop that this worker runs without the GPU.
  bool is_alone(uint32_t s) const {
    return s < alone_until && !alone_for_device;
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
    instruction.alone = s < alone_until || program.left_to_leader;
    if (num_workers > 1) {
      instruction.wait = needed > waited ? needed : 0;
      bool tells = awaited[s] && !instruction.alone && tellable(s + 1) > s;
      instruction.signal = tells ? s + 1 : 0;
    }
    waited = std::max(waited,
                      instruction.alone && !is_alone(s) ? alone_until : needed);
    return instruction;
  }

  void add_share(uint32_t s) {
    const tinh_step_t &step = function.steps[s];
    bool in_device_loop = s < alone_until && alone_for_device;
    Share mine = {0, 0, false};
    if (!in_device_loop && !is_one_piece(step))
      mine = share_of_step(step, worker, num_workers);
    else if (in_device_loop || worker == owners[s])
      mine = share_of_step(step, 0, 1);
    bool signals = awaited[s] && num_workers > 1 && s >= alone_until;
    if (mine.begin < mine.end) {
      Instruction &instruction = add(s);
      if (step.opcode == TINH_OP_DISPATCH) {
        const auto &kernel = module.artifact().kernels[step.kernel];
        instruction.kernel = kernel.function;
        instruction.grain = divides ? grain_of(kernel, step) : 0;
      }
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
    instruction.told_target = tellable(step.target);
    if (step.opcode == TINH_OP_LOOP)
      instruction.loop = loop_at(s);
    else if (step.opcode == TINH_OP_NEXT || leaves(s))
      instruction.loop = program.loop_of[s];
    if (step.opcode != TINH_OP_NEXT)
      known[step.target] = std::min(known[step.target], waited);
    falls = step.opcode != TINH_OP_JUMP;
    if (step.opcode == TINH_OP_LOOP) { // Each iteration waits for everything.
      if (!is_alone(s))
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
  const DeviceSchedule &schedule;
  const std::vector<uint32_t> &owners; ///< Of steps that are one piece.
  uint32_t worker, num_workers;
  const std::vector<bool> &awaited;
  const bool divides; ///< Whether threads that wait may do some of a share.
  std::vector<Instruction> list;
  uint32_t first_entry = 0;
  /// The position of the others that the steps so far need, and that they are
  /// known to have reached.
  uint32_t needed = 0, waited = 0;
  uint32_t next_segment = 0; ///< To launch.
  /// What is known where a jump leads to, at each step.
  std::vector<uint32_t> known;
  bool falls = true; ///< The step before leads to the next one.
  /// The last loop that this worker runs alone, and its end.
  uint32_t alone_since = 0, alone_until = 0;
  bool alone_for_device = false;
  size_t block = 0; ///< Signals do not move before this instruction.
};

Program::Program(const Module &module, const tinh_function_desc_t &function,
                 uint32_t num_workers, bool all_walk)
    : description(&function), for_device(module.artifact(), function, all_walk),
      left_to_leader(uses_device() && !all_walk &&
                     (num_workers == 1 || for_device.cpu_is_small())),
      has_collectives(std::any_of(
          function.steps, function.steps + function.num_steps, is_collective)),
      has_gpu_collectives(collective_needs(module.artifact(), function).on_gpu),
      workers(left_to_leader ? 1 : num_workers),
      loop_of(function.num_steps, kNoLoop),
      first_moving(function.num_steps, kNone) {
  find_arguments();
  find_loops(all_walk);
  std::vector<bool> awaited(function.num_steps, false);
  for (uint32_t s = 0; s < function.num_steps; ++s)
    if (int32_t wait = function.steps[s].wait_for; wait >= 0)
      awaited[static_cast<size_t>(wait)] = true;
  for (const tinh_device_segment_t &segment : for_device.segments())
    if (segment.wait > 0)
      awaited[segment.wait - 1] = true;
  for (uint32_t s = 1; s < function.num_steps; ++s)
    if (for_device.waits(s))
      awaited[s - 1] = true;
  // Step by step, nothing else is done at the same time; beside a GPU worker 0
  // has enough to do.
  auto count = static_cast<uint32_t>(workers.size());
  std::vector<uint32_t> owners =
      all_walk || uses_device()
          ? std::vector<uint32_t>(function.num_steps, count - 1)
          : assign_steps(module, function, count);
  for (uint32_t worker = 0; worker < count; ++worker)
    workers[worker] =
        Expander(*this, module, owners, worker, awaited, !all_walk).run();
}

} // namespace tinh::runtime
