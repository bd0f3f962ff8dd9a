//===- lockstep.cpp - Runs that go step by step -----------------*- C++ -*-===//
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
#include "run/lockstep.h"

namespace tinh::runtime {

Lockstep::Lockstep(Resources &resources, Workers &workers)
    : resources(resources), workers(workers) {
  if (auto wanted = resources.options.check_numerics;
      wanted != TINH_CHECK_NOTHING)
    numerics.emplace(*resources.module, wanted);
}

void Lockstep::execute(Run &run) {
  const Program &program = resources.programs[run.function];
  bool uses_device = resources.gpu && program.uses_device();
  workers.walk(0).begin(program, run.arena->tables[run.function].data(),
                        run.base);
  run.attempt([&] {
    walk_steps(run);
    if (!uses_device)
      return;
    run.arena->device->finish();
    run.arena->device->complete();
    if (resources.trace)
      run.arena->device->trace(*resources.trace, run.number);
  });
  run.end_collectives();
  if (run.status != TINH_OK && uses_device)
    run.arena->device->abandon();
  if (run.completes_itself)
    run.finish();
}

void Lockstep::walk_steps(const Run &run) {
  const Program &program = resources.programs[run.function];
  const tinh_function_desc_t &function = program.function();
  const std::vector<Instruction> &list = program.instructions(0);
  for (uint32_t step = 0; step < function.num_steps;) {
    if (program.schedule().on_device(step)) {
      execute_on_device(run, step++);
      continue;
    }
    if (program.uses_device())
      run.arena->device->wait(function.num_steps);
    if (function.steps[step].opcode < TINH_OP_BRANCH) {
      execute_step(run, step++);
      continue;
    }
    const Instruction &control = list[Program::index_at(list, step)];
    bool goes = workers.decide(run, 0, control);
    step = goes ? control.target_step : step + 1;
  }
}

void Lockstep::execute_step(const Run &run, uint32_t step) {
  struct Task {
    const Program &program;
    Workers &workers;
    const Run &run;
    uint32_t step;
  } task{resources.programs[run.function], workers, run, step};
  auto share = [](void *argument, uint32_t worker) {
    const Task &task = *static_cast<const Task *>(argument);
    const auto &list = task.program.instructions(worker);
    uint32_t at = Program::index_at(list, task.step);
    if (at < list.size() && list[at].step == task.step)
      task.workers.execute(task.run, worker, nullptr, task.workers.walk(0),
                           list[at]);
  };
  bool is_kernel =
      task.program.function().steps[step].opcode == TINH_OP_DISPATCH;
  if (!numerics || !is_kernel)
    return call_each(share, &task);
  NumericsCheck::Step checked = checked_step(run, step);
  numerics->before(checked);
  call_each(share, &task);
  numerics->after(checked);
}

void Lockstep::execute_on_device(const Run &run, uint32_t step) {
  DeviceRun &device = *run.arena->device;
  const Program &program = resources.programs[run.function];
  const auto &list = program.instructions(0);
  void *const *buffers =
      workers.walk(0).buffers(list[Program::index_at(list, step)]);
  const tinh_function_desc_t &function = program.function();
  if (!numerics || function.steps[step].opcode != TINH_OP_DISPATCH)
    return device.execute(step, buffers);
  NumericsCheck::Step checked = checked_step(run, step);
  device.wait(function.num_steps);
  numerics->before(checked);
  device.execute(step, buffers);
  device.wait(function.num_steps);
  numerics->after(checked);
}

void Lockstep::call_each(void (*task)(void *, uint32_t), void *argument) {
  const tinh_context_options_t &options = resources.options;
  if (options.parallel_for)
    return options.parallel_for(options.parallel_for_pool, options.threads,
                                task, argument);
  workers.call_each(task, argument);
}

/// The last worker has a part of whatever the CPU has to do.
NumericsCheck::Step Lockstep::checked_step(const Run &run, uint32_t step) {
  const Program &program = resources.programs[run.function];
  bool on_device = program.schedule().on_device(step);
  const auto &list =
      program.instructions(on_device ? 0 : resources.options.threads - 1);
  const Instruction &instruction = list[Program::index_at(list, step)];
  const Walk &walk = workers.walk(0);
  return {program.function(), step, walk.buffers(instruction),
          walk.iterations(program.loop_around(step)),
          on_device ? resources.gpu.get() : nullptr};
}

} // namespace tinh::runtime
