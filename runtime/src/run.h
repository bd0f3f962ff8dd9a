//===- run.h - One run of a function ----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run as it goes through an executor: queued, waiting for others, executing,
// completed. It is the future that its submitter holds and the job that the
// pool's workers execute.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_RUN_H
#define TINH_RUNTIME_RUN_H

#include "collective_steps.h"
#include "future.h"
#include "guarded.h"
#include "program.h"
#include "thread_pool.h"

#include <atomic>

namespace tinh::runtime {

class Executor;

/// The memory of one executing run: an arena and, for each program, addresses
/// of buffers in it.
struct Arena {
  MappedMemory memory; ///< Of a context without a GPU.
  std::vector<std::vector<void *>> tables;
  std::unique_ptr<DeviceRun> device;            ///< Of one with a GPU.
  std::unique_ptr<CollectiveSteps> collectives; ///< Of one with other ranks.
};

/// Where the tensors of a run lie.
struct Arguments {
  std::vector<void *> pointers; ///< Inputs, then outputs.
  /// Its variables are those of the context, not memory of the caller.
  bool on_state = false;
};

class Run final : public Future,
                  public ThreadPool::Job,
                  public std::enable_shared_from_this<Run> {
public:
  Run(std::shared_ptr<Executor> executor, uint32_t function,
      Arguments arguments)
      : executor(std::move(executor)), function(function),
        arguments(std::move(arguments)) {}

  void begin(uint32_t worker) override;
  ThreadPool::Halt go_on(uint32_t worker,
                         const ThreadPool::Visit *visit) override;
  tinh_status_t wait() override;
  void cancel() override;
  const void *context() const override { return executor.get(); }
  void require_this_process() const override;

private:
  friend class Executor;
  enum class State { queued, executing, completed };

  const std::shared_ptr<Executor> executor;
  const uint32_t function;
  const Arguments arguments;
  uint64_t number = 0;   ///< In the order of starting.
  int64_t submitted = 0; ///< For traces.

  // Guarded by the executor's mutex.
  State state = State::queued;
  uint32_t num_pending = 0;       ///< Futures that it still waits for.
  std::shared_ptr<Run> keep_self; ///< Until it has completed.

  // Written before it is published.
  Arena *arena = nullptr;
  uint32_t base = 0;      ///< Progress at which it begins.
  bool exclusive = false; ///< Starts after all runs before it.
  /// False if the caller waits for it in place.
  bool completes_itself = true;
  std::atomic<uint32_t> num_unfinished{0};

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
  void end_collectives() {
    if (!arena->collectives)
      return;
    if (status != TINH_OK)
      return arena->collectives->give_up(why);
    if (const char *failure = arena->collectives->failure()) {
      status = TINH_COLLECTIVE_FAILED;
      why = failure;
    }
  }

  // How it has ended, if it goes by steps, uses a GPU or other ranks. Written
  // by worker 0, then by who waits for the GPU, and then by who is done last.
  tinh_status_t status = TINH_OK;
  std::string why;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_RUN_H
