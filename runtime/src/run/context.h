//===- context.h - What runs a module's functions ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tinh_context_t. It owns what its runs share and the three that a run goes
// through:
//
//  1. Resources (resources.h): memory, programs, the GPU, ranks. Made first,
//     freed last.
//  2. Execution (execution.h): workers and the GPU's side, what executes runs.
//  3. Queue (queue.h): which run is next, and when it is done.
//
// run.h tells the life of a run through all of them. A run keeps its context
// alive: after `shut_down`, what is left is the queue, which refuses all.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CONTEXT_H
#define TINH_RUNTIME_CONTEXT_H

#include "inspection/profile.h"
#include "run/queue.h"

namespace tinh::runtime {

/// Any thread may call any function, but for `shut_down`.
class Context : public std::enable_shared_from_this<Context> {
public:
  Context(std::shared_ptr<const Module> module,
          const tinh_context_options_t &options);

  static tinh_context_options_t default_options();
  const Module &module() const { return *resources->module; }
  tinh_context_info_t info() const;
  /// Of the last run, in milliseconds.
  double cuda_time() const;
  /// Whether it uses the GPU by a stream of the program's.
  bool is_on_stream() const { return resources->on_stream(); }
  /// Throws INVALID_ARGUMENT if the CPU would have to read or write an argument
  /// that lies in GPU memory.
  void check_memory(uint32_t function, const Arguments &arguments) const;
  /// For where variables lie; what they hold is for runs, and for with_state.
  State &state() { return *resources->variables; }
  /// Calls `use` when no run is queued or executes, and lets none start until
  /// it has returned.
  void with_state(const std::function<void(State &)> &use);

  /// Throws INVALID_ARGUMENT in a child of the process that made it.
  void require_this_process() const { runs.require_this_process(); }

  /// Queues a run. Blocks while the context is full, or throws BUSY.
  std::shared_ptr<Run>
  submit(uint32_t function, Arguments arguments,
         const std::vector<std::shared_ptr<Future>> &wait_for);
  /// Runs `function` to its end, on this thread if nothing else is going on.
  void run_now(uint32_t function, Arguments arguments) {
    runs.run_now(shared_from_this(), function, std::move(arguments));
  }
  void wait_all() { runs.wait_all(); }

  /// What the runs so far say of `function`. Throws INVALID_ARGUMENT unless
  /// steps are measured.
  std::shared_ptr<const Profile> profile(uint32_t function);
  /// Forgets the runs so far.
  void reset_profile();

  /// Cancels what is queued, waits for what executes, ends all threads, writes
  /// the trace. What is submitted from now on is refused. In a child of the
  /// process that made it: frees memory, and nothing else.
  void shut_down();

  // For its runs.
  Queue &queue() { return runs; }
  Workers &workers() { return execution->all_workers(); }

private:
  void abandon();
  void require_measured() const;

  std::shared_ptr<Context> kept; ///< Itself, where it cannot be destroyed.
  std::unique_ptr<Resources> resources; ///< Null once shut down,
  std::unique_ptr<Execution> execution; ///< and so this.
  Queue runs;
  Profiles profiles; ///< Used by with_state.
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_CONTEXT_H
