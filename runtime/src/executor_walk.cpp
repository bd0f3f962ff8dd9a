//===- executor_walk.cpp - How a run is executed ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Taking runs from the queue and walking their instructions. Nothing here
// allocates, locks or looks up a name between two instructions.
//
//===----------------------------------------------------------------------===//
#include "executor.h"

#include <cstring>
#include <pthread.h>

namespace tinh::runtime {

/// The progress that a whole run makes: one for each step and one for its end,
/// so that even a run without steps is seen to end.
static uint32_t progress_of(const tinh_function_desc_t &function) {
  return function.num_steps + 1;
}

/// The first queued run that may start. One that mutates state neither
/// overtakes nor is overtaken.
std::shared_ptr<Run> Executor::next_run() {
  if (free_arenas.empty())
    return nullptr;
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    const Program &program = programs[(*it)->function];
    bool mutates = program.function().mutates_state != 0;
    if (mutates && it != queue.begin())
      return nullptr;
    if ((*it)->num_pending == 0) {
      std::shared_ptr<Run> run = std::move(*it);
      queue.erase(it);
      return run;
    }
    if (mutates)
      return nullptr;
  }
  return nullptr;
}

/// Gives `run` its place in the sequence of runs. Under the mutex.
void Executor::start(Run &run) {
  const tinh_function_desc_t &function = programs[run.function].function();
  bool mutates = function.mutates_state != 0;
  run.state = Run::State::executing;
  run.number = num_started++;
  run.arena = free_arenas.back();
  free_arenas.pop_back();
  run.base = next_base;
  next_base += progress_of(function);
  run.exclusive = mutates || last_mutated;
  last_mutated = mutates;
  run.num_unfinished.store(pool->num_workers(), std::memory_order_relaxed);
}

/// Worker 0's part: arguments, the call to the others, and its own share.
void Executor::execute_parts(Run &run) {
  std::vector<void *> &table = run.arena->tables[run.function];
  for (const ArgumentSlot &slot : programs[run.function].arguments())
    table[slot.entry] =
        static_cast<char *>(run.arguments[slot.argument]) + slot.offset;
  if (pool->num_workers() > 1)
    pool->publish(&run);
  run_worker(run, 0);
}

void Run::run(uint32_t worker) { executor->run_worker(*this, worker); }

void Executor::run_worker(Run &run, uint32_t worker) {
  if (options.parallel_for)
    walk_by_external_pool(run);
  else
    walk(run, worker);
  // A caller that waits in place may destroy the run as soon as it sees this.
  bool completes_itself = run.completes_itself;
  pool->advance(worker,
                run.base + progress_of(programs[run.function].function()));
  if (completes_itself &&
      run.num_unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1)
    complete(run, TINH_OK, "");
}

void Executor::walk(const Run &run, uint32_t worker) {
  if (run.exclusive)
    pool->wait_for_others(worker, run.base);
  for (const Instruction &instruction :
       programs[run.function].instructions(worker)) {
    if (instruction.wait)
      pool->wait_for_others(worker, run.base + instruction.wait);
    execute(run, worker, instruction);
    if (instruction.signal)
      pool->advance(worker, run.base + instruction.signal);
  }
}

inline void Executor::execute(const Run &run, uint32_t worker,
                              const Instruction &instruction) {
  int64_t begin = trace ? trace_clock() : 0;
  void *const *buffers =
      run.arena->tables[run.function].data() + instruction.first_buffer;
  if (instruction.kernel) {
    char *scratch = scratch_memory.data() + scratch_stride * worker;
    instruction.kernel(buffers, scratch, instruction.begin, instruction.end);
  } else if (instruction.begin < instruction.end) {
    std::memcpy(static_cast<char *>(buffers[1]) + instruction.begin,
                static_cast<const char *>(buffers[0]) + instruction.begin,
                static_cast<size_t>(instruction.end - instruction.begin));
  }
  if (trace && instruction.begin < instruction.end)
    trace->add_step(worker, programs[run.function].function(), instruction.step,
                    run.number, begin, trace_clock());
}

/// One call of the program's pool for each step: such a pool need not have all
/// workers running at once, so they may not wait for each other.
void Executor::walk_by_external_pool(const Run &run) {
  struct Task {
    Executor *executor;
    const Run *run;
    std::vector<uint32_t> next; ///< Each worker's instruction.
    uint32_t step;
  };
  const Program &program = programs[run.function];
  Task task{this, &run, std::vector<uint32_t>(options.threads), 0};
  auto part = [](void *argument, uint32_t worker) {
    Task &task = *static_cast<Task *>(argument);
    const auto &list =
        task.executor->programs[task.run->function].instructions(worker);
    uint32_t &next = task.next[worker];
    if (next < list.size() && list[next].step == task.step)
      task.executor->execute(*task.run, worker, list[next++]);
  };
  for (; task.step < program.function().num_steps; ++task.step)
    options.parallel_for(options.parallel_for_pool, options.threads, part,
                         &task);
}

void Executor::leader_loop() {
  pthread_setname_np(pthread_self(), "tinh-leader");
  if (options.pin_threads)
    pin_this_thread(0);
  Lock lock(mutex);
  while (!stopping) {
    std::shared_ptr<Run> run = has_leader ? nullptr : next_run();
    if (!run) {
      wait_for_work(lock);
      continue;
    }
    has_leader = true;
    start(*run);
    lock.unlock();
    execute_parts(*run);
    run.reset();
    lock.lock();
    has_leader = false;
  }
}

void Executor::signal_work() {
  events.fetch_add(1, std::memory_order_release);
  if (leader_sleeps)
    work.notify_one();
}

void Executor::wait_for_work(Lock &lock) {
  uint32_t seen = events.load(std::memory_order_acquire);
  auto news = [&] { return events.load(std::memory_order_acquire) != seen; };
  lock.unlock();
  spin_until(pool->spin(), news);
  lock.lock();
  leader_sleeps = true;
  work.wait(lock, news);
  leader_sleeps = false;
}

} // namespace tinh::runtime
