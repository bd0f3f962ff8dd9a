//===- executor.h - Queue and execution of runs -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executor of a context. Submitted runs wait in a queue until what they
// wait for is done. Whoever has the role of worker 0 takes the next run,
// publishes it to the pool and computes its own share: the executor's own
// thread, made when the first run is submitted, or a thread that wants one
// result and finds nothing else to do. Workers go from one run into the next
// without waiting for each other, so up to two runs execute at a time, each in
// an arena of its own; progress counters that go on from run to run order what
// must be ordered.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_EXECUTOR_H
#define TINH_RUNTIME_EXECUTOR_H

#include "check_numerics.h"
#include "forks.h"
#include "profile.h"
#include "run.h"
#include "state.h"
#include "walk.h"

#include <cstring>
#include <deque>
#include <map>
#include <optional>

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

class Executor : public std::enable_shared_from_this<Executor> {
public:
  Executor(std::shared_ptr<const Module> module,
           const tinh_context_options_t &options);
  ~Executor();

  const Module &module() const { return *loaded; }
  tinh_context_info_t info() const;
  /// Of the last run, in milliseconds.
  double cuda_time() const;
  /// Whether it uses the GPU by a stream of the program's.
  bool is_on_stream() const { return options.cuda_stream != nullptr; }
  static tinh_context_options_t default_options();
  /// Throws INVALID_ARGUMENT if the CPU would have to read or write an argument
  /// that lies in GPU memory.
  void check_memory(uint32_t function, const Arguments &arguments) const;
  /// For where variables lie; what they hold is for runs, and for with_state.
  State &state() { return *variables; }
  /// Calls `use` when no run is queued or executes, and lets none start until
  /// it has returned.
  void with_state(const std::function<void(State &)> &use);

  /// Throws INVALID_ARGUMENT in a child of the process that made it.
  void require_this_process() const { home.require(); }

  /// Queues a run. Blocks while the context is full, or throws BUSY.
  std::shared_ptr<Run>
  submit(uint32_t function, Arguments arguments,
         const std::vector<std::shared_ptr<Future>> &wait_for);

  /// Runs `function` to its end, on this thread if nothing else is going on.
  void run_now(uint32_t function, Arguments arguments);

  void wait_all();

  /// What the runs so far say of `function`. Throws INVALID_ARGUMENT unless
  /// steps are measured.
  std::shared_ptr<const Profile> profile(uint32_t function);
  /// Forgets the runs so far.
  void reset_profile();

  /// Cancels what is queued, waits for what executes, ends all threads, writes
  /// the trace. What is submitted from now on is refused. In a child of the
  /// process that made it: frees memory, and nothing else.
  void shut_down();

private:
  friend class Run;
  using Lock = std::unique_lock<std::mutex>;

  void make_memory();
  void abandon();
  void require_open() const;
  bool has_room() const;
  void wait_for_room(Lock &lock);
  void dependency_done(const std::shared_ptr<Run> &run, tinh_status_t status,
                       const char *message);
  void remove(Run &run);
  void cancel(Run &run);

  bool keeps_order(const Run &run) const;
  std::shared_ptr<Run> next_run();
  void start(Run &run);
  void execute_parts(Run &run);
  void run_on_pool(Run &run);
  void leader_loop();
  void wait_for_work(Lock &lock);
  void signal_work();
  void complete(Run &run, tinh_status_t status, std::string message);
  void release_place(Run &run);

  void begin_part(Run &run, uint32_t worker);
  ThreadPool::Halt go_on(Run &run, uint32_t worker,
                         const ThreadPool::Visit *visit);
  ThreadPool::Halt walk_instructions(Run &run, uint32_t worker,
                                     const ThreadPool::Visit *visit);
  bool may_end(const Run &run, const ThreadPool::Visit *visit) const;
  uint32_t end_of(const Run &run, uint32_t worker) const;
  void tell(uint32_t worker, uint32_t progress);
  bool follow(const Run &run, uint32_t worker, const Instruction &control);
  bool decide(const Run &run, uint32_t worker, const Instruction &control);
  void execute(const Run &run, uint32_t worker, const ThreadPool::Visit *visit,
               const Walk &walk, const Instruction &instruction);

  // With a GPU; in executor_device.cpp.
  void make_device_arena(Arena &arena);
  void execute_with_device(Run &run);
  void begin_on_device(Run &run);
  void give_to_device(Run &run, const Walk &walk,
                      const Instruction &instruction);
  void finish_on_device(Run &run);
  void complete_on_device(Run &run);
  void part_done(Run &run);
  void completer_loop();
  bool uses_device(const Run &run) const {
    return gpu && programs[run.function].uses_device();
  }

  /// Whether workers do one step after the other together, of one run at a
  /// time.
  bool goes_by_steps() const {
    return options.parallel_for || numerics || is_on_stream();
  }
  void run_by_steps(Run &run);
  void walk_by_steps(const Run &run);
  void execute_device_step(const Run &run, uint32_t step);
  void for_each_worker(void (*task)(void *argument, uint32_t worker),
                       void *argument);
  void execute_step(const Run &run, uint32_t step);
  NumericsCheck::Step checked_step(const Run &run, uint32_t step) const;

  void require_measured() const;

  const HomeProcess home;
  std::shared_ptr<Executor> kept; ///< Itself, where it cannot be destroyed.
  std::shared_ptr<const Module> loaded; ///< Null once shut down.
  tinh_context_options_t options;
  DeviceModulePtr gpu; ///< If it is used.
  std::string why_not_cuda, cuda_libraries;
  std::atomic<double> last_cuda_time{-1}; ///< Negative: none is known.
  std::optional<Trace> trace; ///< For a file, for profiles, or both.
  std::optional<NumericsCheck> numerics;
  std::optional<State> variables; ///< None once shut down.
  std::shared_ptr<Ranks> ranks;   ///< If there are others.
  MappedMemory scratch_memory;
  uint64_t scratch_stride = 0;
  uint64_t arena_size = 0, device_arena_size = 0;
  std::chrono::microseconds spin{0};
  std::vector<Program> programs;
  std::vector<Walk> walks; ///< The workers'.
  std::vector<Arena> arenas;

  std::mutex mutex;
  std::condition_variable room; ///< A run has completed.
  std::condition_variable work; ///< The leader may have something to do.
  std::deque<std::shared_ptr<Run>> queue;
  std::vector<Arena *> free_arenas; ///< The last used one last.
  uint32_t num_in_flight = 0;
  /// Calls that use the state, or wait to: nothing is submitted meanwhile.
  uint32_t num_state_users = 0;
  bool state_in_use = false;
  bool has_leader = false; ///< Somebody is worker 0 now.
  bool releasing = false;  ///< Nothing is submitted any more.
  bool stopping = false;   ///< The leader is to end.
  bool leader_sleeps = false;
  uint64_t num_started = 0;

  // Used by with_state.
  std::map<uint32_t, std::shared_ptr<const Profile>> profiles; ///< By function.
  uint64_t profiled_runs = 0;  ///< Runs that had started when they were made.
  uint64_t first_profiled = 0; ///< The first run that counts.

  std::atomic<uint32_t> events{0}; ///< Counts reasons to look at the queue.

  // Of worker 0, whoever that is.
  uint32_t next_base = 0;
  bool last_ordered = false;   ///< keeps_order of the last run.
  bool leads_in_place = false; ///< By a thread that waits for its run.

  std::unique_ptr<ThreadPool> pool;
  std::thread leader;

  // Runs that worker 0 is done with and the GPU is not.
  std::mutex completing_mutex;
  std::condition_variable completing_changed;
  std::deque<Run *> completing;
  bool no_more_completing = false;
  std::thread completer;
};

// Here, so that walks have it inline.
inline void Executor::execute(const Run &run, uint32_t worker,
                              const ThreadPool::Visit *visit, const Walk &walk,
                              const Instruction &instruction) {
  int64_t begin = trace ? trace_clock() : 0;
  void *const *buffers = walk.buffers(instruction);
  if (instruction.kernel) {
    KernelCall call(instruction.kernel, buffers, scratch_memory.data(),
                    scratch_stride);
    pool->divide(worker, visit, call, instruction.begin, instruction.end,
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

#endif // TINH_RUNTIME_EXECUTOR_H
