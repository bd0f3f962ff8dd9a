//===- queue.h - Runs that wait, and who takes them -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The queue of a context, and its leader, who executes what is in it. The life
// of a run here:
//
//  1. `submit` waits for room, or refuses it: at most max_in_flight runs have a
//     place, and none is given while state is read or changed. The first run
//     submitted starts the leader's thread.
//  2. The run waits in the queue until the futures that it waits for are done:
//     each of them calls `dependency_done`. One that fails fails the run, and
//     `cancel` takes it away, as long as it is queued.
//  3. The leader takes the first run that may start, `next_run`, when there is
//     a free arena, or that whose turn it is (`arena_for`). Runs that mutate
//     state or compute with other ranks neither overtake others nor are
//     overtaken.
//  4. `start` gives it a number and an arena, and Execution::execute executes
//     it, outside of the mutex (execution.h). The leader goes on with 3.
//  5. Whoever is done last calls `complete`: the future is done, the arena and
//     the place are free, and the leader looks at the queue again.
//  6. The run's continuations are called, by the same thread, outside of the
//     mutex.
//
// A run that a thread wants to wait for starts with 4 on this very thread,
// `run_now`, if nothing is queued, nobody leads and there is an arena for it;
// else it is submitted.
//
// `close` ends it: runs that are queued are cancelled, those that execute
// waited for, and the leader's thread ends.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_QUEUE_H
#define TINH_RUNTIME_QUEUE_H

#include "run/execution.h"
#include "threads/forks.h"

#include <list>

namespace tinh::runtime {

class Queue {
public:
  /// After `close`, neither of both is used any more.
  Queue(Resources &resources, Execution &execution);

  /// Throws INVALID_ARGUMENT in a child of the process that made it.
  void require_this_process() const { home.require(); }
  bool is_in_this_process() const { return home.is_here(); }

  /// Queues a run. Blocks while there is no room, or throws BUSY.
  void submit(const std::shared_ptr<Run> &run,
              const std::vector<std::shared_ptr<Future>> &wait_for);
  /// Runs `function` of a context to its end.
  void run_now(const std::shared_ptr<Context> &context, uint32_t function,
               Arguments arguments);
  /// Throws ALREADY_STARTED unless it is queued.
  void cancel(Run &run);
  /// Ends a run. It may be destroyed then, unless somebody holds its future.
  void complete(Run &run, tinh_status_t status, std::string message);

  void wait_all();
  /// Calls `use` when no run is queued or executes, and lets none start until
  /// it has returned.
  void while_idle(const std::function<void()> &use);
  /// How many have started so far; for `use`.
  uint64_t num_runs() const { return num_started; }

  void close();

private:
  using Lock = std::unique_lock<std::mutex>;

  void require_open() const;
  bool has_room() const;
  void wait_for_room(Lock &lock);
  void dependency_done(const std::shared_ptr<Run> &run, tinh_status_t status,
                       const char *message);
  void remove(Run &run);

  bool keeps_order(const Run &run) const;
  std::shared_ptr<Run> next_run();
  void start(Run &run);
  void release_place(Run &run);
  bool may_run_here(uint32_t function) const;
  Arena *arena_for(uint32_t function) const;
  void execute_here(Run &run, Lock &lock);

  void lead();
  void wait_for_work(Lock &lock);
  void signal_work();

  const HomeProcess home;
  Resources &resources;
  Execution &execution;

  std::mutex mutex;
  std::condition_variable room; ///< A run has completed.
  std::condition_variable work; ///< The leader may have something to do.
  std::list<std::shared_ptr<Run>> queue;
  std::vector<Arena *> free_arenas; ///< The last used one last.
  uint32_t num_in_flight = 0;
  /// Calls that use the state, or wait to: nothing is submitted meanwhile.
  uint32_t num_state_users = 0;
  bool state_in_use = false;
  bool has_leader = false; ///< Somebody is worker 0 now.
  bool closing = false;    ///< Nothing is submitted any more.
  bool stopping = false;   ///< The leader is to end.
  bool leader_sleeps = false;
  bool last_ordered = false; ///< keeps_order of the last run.
  uint64_t num_started = 0;
  uint64_t num_turns = 0; ///< Of these have collectives of GPUs.

  std::atomic<uint32_t> events{0}; ///< Counts reasons to look at the queue.
  std::thread leader;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_QUEUE_H
