//===- workers.h - How workers walk a run -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The workers of a context: the pool's threads, and for each the place where it
// is in the run (walk.h). They go from one run into the next without waiting
// for each other, so up to two runs execute at a time, each in an arena of its
// own; progress counters that go on from run to run order what must be ordered.
// A run's life here:
//
//  1. `run` publishes it to the pool. The calling thread is worker 0.
//  2. `begin_part`, once for each worker: its walk begins at the first of its
//     instructions.
//  3. `go_on` walks: waits until the others have come as far as an instruction
//     says, computes the worker's share, and signals how far it has come.
//     Branches and loops, each worker decides for itself, all of them alike.
//     What a GPU gets, only worker 0's own thread gives it. A thread that waits
//     may visit another worker's part meanwhile (thread_pool.h).
//  4. At the end of its part, the worker has come to `end_of` the run, and says
//     so by Run::part_done.
//  5. `run` returns when worker 0's part is done, and knows by it where the run
//     after it begins: `next_base`.
//
// Nothing here allocates, locks or looks up a name between two instructions.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_WORKERS_H
#define TINH_RUNTIME_WORKERS_H

#include "run/device_steps.h"

#include <cstring>

namespace tinh::runtime {

/// A kernel that gets its chunks in several ranges, from several threads.
class KernelCall final : public ThreadPool::Task {
public:
  /// `scratch` is that of thread 0; the others' lie `stride` bytes apart.
  KernelCall(tinh_kernel_fn kernel, void *const *buffers, char *scratch,
             uint64_t stride)
      : kernel(kernel), buffers(buffers), scratch(scratch), stride(stride) {}

  void run(uint32_t thread, int64_t begin, int64_t end) override {
    kernel(buffers, scratch + stride * thread, begin, end);
  }

private:
  const tinh_kernel_fn kernel;
  void *const *const buffers;
  char *const scratch;
  const uint64_t stride;
};

/// A share of a copy, or of zeros.
inline void copy_or_zero(const Instruction &instruction, void *const *buffers) {
  char *first = static_cast<char *>(buffers[0]) + instruction.begin;
  auto size = static_cast<size_t>(instruction.end - instruction.begin);
  if (instruction.opcode == TINH_OP_COPY)
    std::memcpy(static_cast<char *>(buffers[1]) + instruction.begin, first,
                size);
  else
    std::memset(first, 0, size);
}

class Workers {
public:
  /// `device`: who gets the instructions for a GPU; null if there are none.
  Workers(Resources &resources, DeviceSteps *device);

  // For whoever is worker 0.
  /// Gives `run` its place in the sequence of progress.
  void place(Run &run);
  /// Has all workers walk it; the part of worker 0 is done when it returns.
  void run(Run &run);
  /// Worker 0 walks its part, and no other has one.
  void run_alone(Run &run);
  /// Waits until all parts of the last run are done.
  void wait_for_others() { pool.wait_for_others(0, next_base); }
  /// Calls `task` on each worker, with its number, and waits.
  void call_each(void (*task)(void *argument, uint32_t worker), void *argument);

  // For the pool, by a run.
  void begin_part(Run &run, uint32_t worker);
  ThreadPool::Halt go_on(Run &run, uint32_t worker,
                         const ThreadPool::Visit *visit);

  Walk &walk(uint32_t worker) { return walks[worker]; }
  /// Executes a worker's share of a step.
  void execute(const Run &run, uint32_t worker, const ThreadPool::Visit *visit,
               const Walk &walk, const Instruction &instruction);
  /// Walk::decide, with the iteration that ends by it in the trace.
  bool decide(const Run &run, uint32_t worker, const Instruction &control);

private:
  ThreadPool::Halt walk_instructions(Run &run, uint32_t worker,
                                     const ThreadPool::Visit *visit);
  bool may_end(const Run &run, const ThreadPool::Visit *visit) const;
  uint32_t end_of(const Run &run, uint32_t worker) const;
  void signal(uint32_t worker, uint32_t progress);
  bool follow(const Run &run, uint32_t worker, const Instruction &control);

  const std::vector<Program> &programs;
  char *const scratch;
  const uint64_t scratch_stride;
  Trace *const trace; ///< Or null.
  DeviceSteps *const device;
  std::vector<Walk> walks; ///< By worker.

  // Of worker 0, whoever that is.
  uint32_t next_base = 0;
  bool leads_in_place = false; ///< By a thread that waits for its run.

  ThreadPool pool; ///< Last, for its threads use the rest.
};

// Here, so that walks have it inline.
inline void Workers::execute(const Run &run, uint32_t worker,
                             const ThreadPool::Visit *visit, const Walk &walk,
                             const Instruction &instruction) {
  int64_t begin = trace ? trace_clock() : 0;
  void *const *buffers = walk.buffers(instruction);
  if (instruction.kernel) {
    KernelCall call(instruction.kernel, buffers, scratch, scratch_stride);
    pool.divide(worker, visit, call, instruction.begin, instruction.end,
                instruction.grain);
  } else if (instruction.opcode > TINH_OP_ZERO) {
    run.arena->collectives->execute(instruction.step, buffers);
  } else if (instruction.begin < instruction.end) {
    copy_or_zero(instruction, buffers);
  }
  if (trace && instruction.begin < instruction.end)
    trace->add_step(worker, programs[run.function].function(), instruction.step,
                    run.number, begin, trace_clock());
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_WORKERS_H
