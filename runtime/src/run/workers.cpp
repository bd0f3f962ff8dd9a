//===- workers.cpp - How workers walk a run ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "run/workers.h"

namespace tinh::runtime {

static ThreadPool::Options pool_options(const Resources &resources) {
  const tinh_context_options_t &options = resources.options;
  return {options.parallel_for ? 1 : options.threads, options.pin_threads,
          resources.spin};
}

static std::vector<Walk> make_walks(const Resources &resources) {
  std::vector<Walk> walks;
  for (uint32_t worker = 0; worker < resources.options.threads; ++worker)
    walks.emplace_back(resources.programs);
  return walks;
}

Workers::Workers(Resources &resources, DeviceSteps *device)
    : programs(resources.programs), scratch(resources.scratch_memory.data()),
      scratch_stride(resources.scratch_stride),
      trace(resources.trace_or_null()), device(device),
      walks(make_walks(resources)), pool(pool_options(resources)) {}

void Workers::place(Run &run) {
  run.base = next_base;
  run.num_unfinished.store(programs[run.function].num_parts(pool.num_workers()),
                           std::memory_order_relaxed);
  leads_in_place = !run.completes_itself;
}

void Workers::run(Run &run) {
  pool.run(run);
  next_base = end_of(run, 0);
}

void Workers::run_alone(Run &run) {
  begin_part(run, 0);
  for (auto halt = walk_instructions(run, 0, nullptr);
       halt.reason == ThreadPool::Halt::waits;
       halt = walk_instructions(run, 0, nullptr))
    pool.wait_for_others(0, halt.progress);
}

/// A call on each worker, which the caller waits for.
class EachWorkerJob final : public ThreadPool::Job {
public:
  EachWorkerJob(ThreadPool &pool, uint32_t done, void (*task)(void *, uint32_t),
                void *argument)
      : pool(pool), done(done), task(task), argument(argument) {}
  void begin(uint32_t) override {}
  ThreadPool::Halt go_on(uint32_t worker, const ThreadPool::Visit *) override {
    task(argument, worker);
    pool.advance(worker, done);
    return {ThreadPool::Halt::done};
  }

private:
  ThreadPool &pool;
  const uint32_t done;
  void (*const task)(void *, uint32_t);
  void *const argument;
};

void Workers::call_each(void (*task)(void *, uint32_t), void *argument) {
  EachWorkerJob job(pool, ++next_base, task, argument);
  pool.run(job);
  wait_for_others();
}

void Workers::begin_part(Run &run, uint32_t worker) {
  const Program &program = programs[run.function];
  Walk &walk = walks[worker];
  walk.begin(program, run.arena->tables[run.function].data(), run.base);
  walk.at = program.instructions(worker).data();
  if (run.exclusive)
    walk.awaited = run.base;
}

/// The progress that a worker has made when its part is done, one position more
/// than there are steps, so that even a run without steps is seen to end.
uint32_t Workers::end_of(const Run &run, uint32_t worker) const {
  return walks[worker].progress(programs[run.function].function().num_steps +
                                1);
}

ThreadPool::Halt Workers::go_on(Run &run, uint32_t worker,
                                const ThreadPool::Visit *visit) {
  ThreadPool::Halt halt = walk_instructions(run, worker, visit);
  if (halt.reason != ThreadPool::Halt::done)
    return halt;
  // A caller that waits in place may destroy the run as soon as it sees this.
  bool completes_itself = run.completes_itself;
  pool.advance(worker, end_of(run, worker));
  if (completes_itself)
    run.part_done();
  return halt;
}

/// Whether whoever walks a part may end it, and call back: a thread that waits
/// for a run of its own does not do so for others.
bool Workers::may_end(const Run &run, const ThreadPool::Visit *visit) const {
  return !visit || visit->visitor != 0 || !leads_in_place ||
         !run.completes_itself;
}

/// What the GPU gets, only worker 0's own thread gives it.
ThreadPool::Halt Workers::walk_instructions(Run &run, uint32_t worker,
                                            const ThreadPool::Visit *visit) {
  using Halt = ThreadPool::Halt;
  const std::vector<Instruction> &list =
      programs[run.function].instructions(worker);
  Walk &walk = walks[worker];
  const Instruction *at = walk.at, *end = list.data() + list.size();
  auto must_wait = [&](uint32_t progress) {
    walk.at = at;
    return !pool.others_reached(worker, progress);
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
    if (at->is_control() && !at->is_for_device()) {
      at = follow(run, worker, *at) ? list.data() + at->target : at + 1;
      continue;
    }
    if (at->is_for_device())
      device->give(run, walk, *at);
    else
      execute(run, worker, visit, walk, *at);
    if (at->signal)
      signal(worker, walk.progress(at->signal));
    ++at;
  }
}

/// Decides and signals to the others how far this worker has come by that;
/// where an iteration begins, it awaits them. True: go on at the target.
bool Workers::follow(const Run &run, uint32_t worker,
                     const Instruction &control) {
  Walk &walk = walks[worker];
  bool goes = decide(run, worker, control);
  if (pool.num_workers() == 1 || control.alone)
    return goes;
  bool iterates = control.opcode == (goes ? TINH_OP_NEXT : TINH_OP_LOOP);
  uint32_t position = goes       ? control.told_target
                      : iterates ? control.step + 1
                                 : control.signal;
  if (position)
    signal(worker, walk.progress(position));
  if (iterates)
    walk.awaited = walk.progress(position);
  return goes;
}

/// Where ways meet it may have signalled more on one of them than it knows
/// here.
void Workers::signal(uint32_t worker, uint32_t progress) {
  if (static_cast<int32_t>(progress - pool.progress(worker)) > 0)
    pool.advance(worker, progress);
}

bool Workers::decide(const Run &run, uint32_t worker,
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

} // namespace tinh::runtime
