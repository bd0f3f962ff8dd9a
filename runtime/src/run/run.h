//===- run.h - One run of a function ----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run as it goes through a context. It is the future that its submitter holds
// and the job that the pool's workers execute. Its life, from submit to
// callback:
//
//  1. tinh_context_submit (api.cpp) checks the tensors, and Context::submit
//     makes the run.
//  2. Queue::submit waits for room and queues it, until the futures that it
//     waits for are done.
//  3. The leader, whose role is worker 0's, takes it from the queue and gives
//  it
//     a number and an arena: Queue::start.
//  4. Execution::execute puts its addresses into the arena's table, and has it
//     walked: by the workers, each at its own pace (workers.h), or step by step
//     (lockstep.h). Worker 0 gives a GPU its steps (device_steps.h).
//  5. Each worker says by `part_done` that it has walked its part, and so does
//     the thread that waits for the GPU. The last of them ends it:
//     Queue::complete.
//  6. The future is done, and waiters wake; the arena and the place in the
//     queue are free again; and Future::call_continuations calls back what
//     tinh_future_then (api.cpp) has added by Future::then.
//
// A run that its caller waits for in place (Queue::run_now) begins with step 3,
// and ends on the caller's thread.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_RUN_H
#define TINH_RUNTIME_RUN_H

#include "run/future.h"
#include "support/guarded.h"
#include "threads/thread_pool.h"

#include <atomic>

namespace tinh::runtime {

class Context;
struct Arena;

/// Where the tensors of a run lie.
struct Arguments {
  std::vector<void *> pointers; ///< Inputs, then outputs.
  /// Its variables are those of the context, not memory of the caller.
  bool on_state = false;
};

class Run final : public Future, public ThreadPool::Job {
public:
  Run(std::shared_ptr<Context> of, uint32_t function, Arguments arguments)
      : function(function), arguments(std::move(arguments)),
        owner(std::move(of)) {}

  void begin(uint32_t worker) override;
  ThreadPool::Halt go_on(uint32_t worker,
                         const ThreadPool::Visit *visit) override;
  tinh_status_t wait() override;
  void cancel() override;
  const void *context() const override { return owner.get(); }
  void require_this_process() const override;

  /// Does a part of it unless one before has failed.
  template <typename Part> void attempt(Part &&part) {
    if (status != TINH_OK)
      return;
    status = guarded(part);
    if (status != TINH_OK)
      why = tinh_last_error();
  }
  /// Once all steps are done: fails if a collective has. If the run has failed
  /// itself, its collectives are not all done, and so the other ranks' fail.
  void end_collectives();
  /// Says that one of `num_unfinished` is done; the last one ends the run.
  void part_done();
  /// Completes it with its status.
  void finish();

  const uint32_t function;
  const Arguments arguments;

  // Of the queue, under its mutex.
  enum class State { queued, executing, completed };
  State state = State::queued;
  uint32_t num_pending = 0;       ///< Futures that it still waits for.
  std::shared_ptr<Run> keep_self; ///< Until it has completed.
  int64_t submitted = 0;          ///< For traces.

  // Written when it starts, before others see it.
  uint64_t number = 0; ///< In the order of starting.
  Arena *arena = nullptr;
  uint32_t base = 0;      ///< Progress at which it begins.
  bool exclusive = false; ///< Starts after all runs before it.
  /// False if the caller waits for it in place.
  bool completes_itself = true;
  std::atomic<uint32_t> num_unfinished{0};

  // How it has ended, if it goes in lockstep, uses a GPU or other ranks.
  // Written by worker 0, then by who waits for the GPU, and then by who is done
  // last.
  tinh_status_t status = TINH_OK;
  std::string why;

private:
  const std::shared_ptr<Context> owner;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_RUN_H
