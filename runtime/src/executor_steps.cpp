//===- executor_steps.cpp - Runs that go step by step -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All workers do their parts of one step and then wait for each other: on a
// pool of the program's own, which need not have all workers running at once,
// and where what a step has written is looked at before the next one. Worker 0
// alone takes the branches.
//
//===----------------------------------------------------------------------===//
#include "executor.h"

namespace tinh::runtime {

void Executor::run_by_steps(Run &run) {
  walks[0].begin(programs[run.function], run.arena->tables[run.function].data(),
                 run.base);
  run.attempt([&] {
    walk_by_steps(run);
    if (!uses_device(run))
      return;
    run.arena->device->finish();
    run.arena->device->complete();
    if (trace)
      run.arena->device->trace(*trace, run.number);
  });
  run.end_collectives();
  if (run.status != TINH_OK && uses_device(run))
    run.arena->device->abandon();
  if (run.completes_itself)
    complete(run, run.status, run.why);
}

void Executor::walk_by_steps(const Run &run) {
  const Program &program = programs[run.function];
  const tinh_function_desc_t &function = program.function();
  const std::vector<Instruction> &list = program.instructions(0);
  for (uint32_t step = 0; step < function.num_steps;) {
    if (program.schedule().on_device(step)) {
      execute_device_step(run, step++);
      continue;
    }
    if (program.uses_device())
      run.arena->device->wait(function.num_steps);
    if (function.steps[step].opcode < TINH_OP_BRANCH) {
      execute_step(run, step++);
      continue;
    }
    const Instruction &control = list[Program::index_at(list, step)];
    bool goes = decide(run, 0, control);
    step = goes ? control.target_step : step + 1;
  }
}

void Executor::execute_step(const Run &run, uint32_t step) {
  struct Task {
    Executor &executor;
    const Run &run;
    uint32_t step;
  } task{*this, run, step};
  auto part = [](void *argument, uint32_t worker) {
    const Task &task = *static_cast<const Task *>(argument);
    Executor &self = task.executor;
    const auto &list = self.programs[task.run.function].instructions(worker);
    uint32_t at = Program::index_at(list, task.step);
    if (at < list.size() && list[at].step == task.step)
      self.execute(task.run, worker, nullptr, self.walks[0], list[at]);
  };
  bool is_kernel =
      programs[run.function].function().steps[step].opcode == TINH_OP_DISPATCH;
  if (!numerics || !is_kernel)
    return for_each_worker(part, &task);
  NumericsCheck::Step checked = checked_step(run, step);
  numerics->before(checked);
  for_each_worker(part, &task);
  numerics->after(checked);
}

/// A call on each worker, which the caller waits for.
class StepJob final : public ThreadPool::Job {
public:
  StepJob(ThreadPool &pool, uint32_t done, void (*task)(void *, uint32_t),
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

void Executor::for_each_worker(void (*task)(void *, uint32_t), void *argument) {
  if (options.parallel_for)
    return options.parallel_for(options.parallel_for_pool, options.threads,
                                task, argument);
  StepJob job(*pool, ++next_base, task, argument);
  pool->run(job);
  pool->wait_for_others(0, next_base);
}

/// The last worker has a part of whatever the CPU has to do.
NumericsCheck::Step Executor::checked_step(const Run &run,
                                           uint32_t step) const {
  const Program &program = programs[run.function];
  bool on_device = program.schedule().on_device(step);
  const auto &list = program.instructions(on_device ? 0 : options.threads - 1);
  const Instruction &instruction = list[Program::index_at(list, step)];
  const Walk &walk = walks[0];
  return {program.function(), step, walk.buffers(instruction),
          walk.iterations(program.loop_around(step)),
          on_device ? gpu.get() : nullptr};
}

} // namespace tinh::runtime
