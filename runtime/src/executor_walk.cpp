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

#include <pthread.h>

namespace tinh::runtime {

/// What a run leaves in its caller's memory, the caller orders; what other
/// ranks compute with it, they order.
bool Executor::keeps_order(const Run &run) const {
  const Program &program = programs[run.function];
  return program.computes_with_ranks() ||
         (run.arguments.on_state && program.function().mutates_state != 0);
}

/// The first queued run that may start. One that mutates state or computes with
/// other ranks neither overtakes nor is overtaken.
std::shared_ptr<Run> Executor::next_run() {
  if (free_arenas.empty())
    return nullptr;
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    bool ordered = keeps_order(**it);
    if (ordered && it != queue.begin())
      return nullptr;
    if ((*it)->num_pending == 0) {
      std::shared_ptr<Run> run = std::move(*it);
      queue.erase(it);
      return run;
    }
    if (ordered)
      return nullptr;
  }
  return nullptr;
}

/// Gives `run` its place in the sequence of runs. Under the mutex.
void Executor::start(Run &run) {
  bool ordered = keeps_order(run);
  run.state = Run::State::executing;
  run.number = num_started++;
  run.arena = free_arenas.back();
  free_arenas.pop_back();
  run.base = next_base;
  if (run.arena->collectives)
    run.arena->collectives->begin(programs[run.function].function(),
                                  run.number);
  run.exclusive = ordered || last_ordered;
  last_ordered = ordered;
  leads_in_place = !run.completes_itself;
  run.num_unfinished.store(
      programs[run.function].num_parts(pool->num_workers()),
      std::memory_order_relaxed);
}

/// Worker 0's part: arguments, the call to the others, and its own share.
void Executor::execute_parts(Run &run) {
  programs[run.function].place(run.arguments.pointers,
                               run.arena->tables[run.function]);
  if (gpu)
    return execute_with_device(run);
  if (goes_by_steps())
    return run_by_steps(run);
  run_on_pool(run);
}

void Executor::run_on_pool(Run &run) {
  pool->run(run);
  next_base = end_of(run, 0);
}

void Run::begin(uint32_t worker) { executor->begin_part(*this, worker); }

ThreadPool::Halt Run::go_on(uint32_t worker, const ThreadPool::Visit *visit) {
  return executor->go_on(*this, worker, visit);
}

void Executor::begin_part(Run &run, uint32_t worker) {
  const Program &program = programs[run.function];
  Walk &walk = walks[worker];
  walk.begin(program, run.arena->tables[run.function].data(), run.base);
  walk.at = program.instructions(worker).data();
  if (run.exclusive)
    walk.awaited = run.base;
}

/// The progress that a worker has made when its part is done, one position more
/// than there are steps, so that even a run without steps is seen to end.
uint32_t Executor::end_of(const Run &run, uint32_t worker) const {
  return walks[worker].progress(programs[run.function].function().num_steps +
                                1);
}

ThreadPool::Halt Executor::go_on(Run &run, uint32_t worker,
                                 const ThreadPool::Visit *visit) {
  ThreadPool::Halt halt = walk_instructions(run, worker, visit);
  if (halt.reason != ThreadPool::Halt::done)
    return halt;
  // A caller that waits in place may destroy the run as soon as it sees this.
  bool completes_itself = run.completes_itself;
  pool->advance(worker, end_of(run, worker));
  if (completes_itself)
    part_done(run);
  return halt;
}

/// The last one completes the run.
void Executor::part_done(Run &run) {
  if (run.num_unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  run.end_collectives();
  complete(run, run.status, run.why);
}

/// Whether whoever walks a part may end it, and call back: a thread that waits
/// for a run of its own does not do so for others.
bool Executor::may_end(const Run &run, const ThreadPool::Visit *visit) const {
  return !visit || visit->visitor != 0 || !leads_in_place ||
         !run.completes_itself;
}

/// What the GPU gets, only worker 0's own thread gives it.
ThreadPool::Halt Executor::walk_instructions(Run &run, uint32_t worker,
                                             const ThreadPool::Visit *visit) {
  using Halt = ThreadPool::Halt;
  const std::vector<Instruction> &list =
      programs[run.function].instructions(worker);
  Walk &walk = walks[worker];
  const Instruction *at = walk.at, *end = list.data() + list.size();
  auto must_wait = [&](uint32_t progress) {
    walk.at = at;
    return !pool->others_reached(worker, progress);
  };
  for (;;) {
    if (walk.awaited) {
      if (must_wait(*walk.awaited))
        return {Halt::waits, *walk.awaited};
      walk.awaited.reset();
    }
    if (at == end) {
      walk.at = at;
      return {may_end(run, visit) ? Halt::done : Halt::left};
    }
    if (at->wait && must_wait(walk.progress(at->wait)))
      return {Halt::waits, walk.progress(at->wait)};
    if (visit && (at->is_for_device() || visit->is_over())) {
      walk.at = at;
      return {Halt::left};
    }
    if (at->is_for_device()) {
      give_to_device(run, walk, *at++);
    } else if (at->is_control()) {
      at = follow(run, worker, *at) ? list.data() + at->target : at + 1;
    } else {
      execute(run, worker, visit, walk, *at);
      if (at->signal)
        tell(worker, walk.progress(at->signal));
      ++at;
    }
  }
}

/// Decides and tells the others how far this worker has come by that; where an
/// iteration begins, it awaits them. True: go on at the target.
bool Executor::follow(const Run &run, uint32_t worker,
                      const Instruction &control) {
  Walk &walk = walks[worker];
  bool goes = decide(run, worker, control);
  if (pool->num_workers() == 1 || control.alone)
    return goes;
  bool iterates = control.opcode == (goes ? TINH_OP_NEXT : TINH_OP_LOOP);
  uint32_t position = goes       ? control.told_target
                      : iterates ? control.step + 1
                                 : control.signal;
  if (position)
    tell(worker, walk.progress(position));
  if (iterates)
    walk.awaited = walk.progress(position);
  return goes;
}

/// Where ways meet it may have told more on one of them than it knows here.
void Executor::tell(uint32_t worker, uint32_t progress) {
  if (static_cast<int32_t>(progress - pool->progress(worker)) > 0)
    pool->advance(worker, progress);
}

/// Walk::decide, with the iteration that ends by it in the trace.
bool Executor::decide(const Run &run, uint32_t worker,
                      const Instruction &control) {
  Walk &walk = walks[worker];
  // After a failure of the GPU no condition means anything: go on to the end.
  if (control.alone && worker == 0 && run.status != TINH_OK)
    return control.opcode != TINH_OP_NEXT;
  if (!trace || control.loop == kNoLoop)
    return walk.decide(control);
  const Program &program = programs[run.function];
  const Loop &loop = program.loops()[control.loop];
  int64_t iteration = walk.iteration(loop.depth), now = trace_clock();
  bool goes = walk.decide(control);
  bool ends = control.opcode == TINH_OP_NEXT ||
              (control.opcode != TINH_OP_LOOP && goes);
  if (ends)
    trace->add_step(worker, program.function(), loop.step, run.number,
                    walk.began(loop.depth), now, iteration);
  walk.began(loop.depth) = now;
  return goes;
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
