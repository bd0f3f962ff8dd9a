//===- executor_device.cpp - Runs that use a GPU ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Worker 0 gives the GPU its steps and goes on: to its own share of the CPU's,
// and to the next run. A thread of its own waits for the GPU at the end of each
// run that was submitted.
//
// What fails keeps its run from giving the GPU anything more; the workers walk
// on to the end, for others wait for their positions.
//
//===----------------------------------------------------------------------===//
#include "executor.h"

#include <algorithm>
#include <pthread.h>

namespace tinh::runtime {

void Executor::make_device_arena(Arena &arena) {
  arena.device = std::make_unique<DeviceRun>(
      gpu, DeviceApi::RunOptions{arena_size, device_arena_size, spin.count(),
                                 trace.has_value(), options.measure_cuda,
                                 options.cuda_stream});
  Program::Memory memory = {arena.device->host_arena(), loaded->weights(),
                            arena.device->device_arena(), gpu->weights()};
  std::vector<const DeviceSchedule *> schedules;
  for (const Program &program : programs) {
    schedules.push_back(&program.schedule());
    std::vector<void *> &table =
        arena.tables.emplace_back(program.address_table(memory));
    for (const ArgumentSlot &slot : program.arguments())
      if (int32_t variable = program.tensor(slot.argument).variable;
          variable != TINH_NOT_VARIABLE && !is_on_stream())
        table[slot.entry] =
            variables->address(static_cast<uint32_t>(variable)) + slot.offset;
  }
  arena.device->prepare(schedules, arena.tables);
}

void Executor::check_memory(uint32_t function,
                            const Arguments &arguments) const {
  const Program &program = programs[function];
  if (!gpu)
    return;
  auto wrong = std::ranges::find_if(program.host_arguments(), [&](auto &entry) {
    bool of_state = arguments.on_state &&
                    program.tensor(entry.first).variable != TINH_NOT_VARIABLE;
    return !of_state &&
           kind_of(arguments.pointers[entry.first]) == MemoryKind::device;
  });
  if (wrong == program.host_arguments().end())
    return;
  auto [argument, step] = *wrong;
  bool is_input = argument < program.function().num_inputs;
  throw_error(TINH_INVALID_ARGUMENT,
              {is_input ? "input '" : "output '", program.tensor(argument).name,
               "' of '", program.function().name,
               "' lies in GPU memory, but step ", step,
               ", which the CPU does, ", (is_input ? "reads" : "writes"),
               " it; give memory of the host"});
}

void Executor::execute_with_device(Run &run) {
  const Program &program = programs[run.function];
  std::optional<DeviceModule::Current> current;
  run.attempt([&] {
    current.emplace(*gpu);
    begin_on_device(run);
  });
  if (goes_by_steps())
    return run_by_steps(run);
  if (program.on_leader()) { // No part of it is the others'.
    begin_part(run, 0);
    for (auto halt = walk_instructions(run, 0, nullptr);
         halt.reason == ThreadPool::Halt::waits;
         halt = walk_instructions(run, 0, nullptr))
      pool->wait_for_others(0, halt.progress);
  } else {
    run_on_pool(run);
  }
  if (program.uses_device())
    finish_on_device(run);
}

/// The GPU waits for the GPU; who waits for the CPU's steps waits for both.
void Executor::begin_on_device(Run &run) {
  const Program &program = programs[run.function];
  if (run.exclusive && program.schedule().has_cpu_steps())
    for (const Arena &arena : arenas)
      arena.device->wait_for_end();
  if (!program.uses_device())
    return;
  DeviceRun &device = *run.arena->device;
  device.begin(run.function, run.arguments.pointers.data(),
               run.arguments.on_state);
  if (run.exclusive)
    for (const Arena &arena : arenas)
      device.follow(*arena.device);
}

void Executor::give_to_device(Run &run, const Walk &walk,
                              const Instruction &instruction) {
  DeviceRun &device = *run.arena->device;
  auto what = static_cast<uint32_t>(instruction.begin);
  bool had_failed = run.status != TINH_OK;
  int64_t begin = trace ? trace_clock() : 0;
  run.attempt([&] {
    if (instruction.opcode == kDeviceLaunch)
      device.launch(what);
    else if (instruction.opcode == kDeviceWait)
      device.wait(what);
    else
      device.execute(instruction.step, walk.buffers(instruction));
  });
  if (trace && instruction.opcode != kDeviceStep) {
    const Program &program = programs[run.function];
    bool launches = instruction.opcode == kDeviceLaunch;
    trace->add_call(0, program.function(),
                    launches ? program.schedule().segments()[what].first : what,
                    run.number, begin, trace_clock(),
                    launches ? "launch" : "wait for the GPU");
  }
  // What others go on with now, the GPU must be done with.
  if (run.status != TINH_OK && !had_failed)
    device.abandon();
  if (instruction.signal)
    tell(0, walk.progress(instruction.signal));
}

/// Worker 0 is done with it.
void Executor::finish_on_device(Run &run) {
  DeviceRun &device = *run.arena->device;
  run.attempt([&] { device.finish(); });
  if (run.status != TINH_OK)
    device.abandon();
  if (!run.completes_itself)
    return;
  std::lock_guard lock(completing_mutex);
  completing.push_back(&run);
  completing_changed.notify_one();
}

/// Waits until the GPU is done with it.
void Executor::complete_on_device(Run &run) {
  DeviceRun &device = *run.arena->device;
  std::optional<DeviceModule::Current> current;
  run.attempt([&] {
    current.emplace(*gpu);
    device.complete();
    if (options.measure_cuda)
      last_cuda_time = device.elapsed();
    if (trace)
      device.trace(*trace, run.number);
  });
  if (run.status != TINH_OK)
    device.abandon();
}

double Executor::cuda_time() const {
  double time = last_cuda_time;
  if (time < 0)
    throw_error(TINH_INVALID_ARGUMENT,
                {"no run of the context has been measured on a GPU; set "
                 "measure_cuda, and cuda_stream to NULL, and run"});
  return time;
}

void Executor::completer_loop() {
  pthread_setname_np(pthread_self(), "tinh-cuda");
  for (;;) {
    std::unique_lock lock(completing_mutex);
    completing_changed.wait(
        lock, [&] { return no_more_completing || !completing.empty(); });
    if (completing.empty())
      return;
    Run &run = *completing.front();
    completing.pop_front();
    lock.unlock();
    complete_on_device(run);
    part_done(run);
  }
}

/// Of a run that goes by steps.
void Executor::execute_device_step(const Run &run, uint32_t step) {
  DeviceRun &device = *run.arena->device;
  const auto &list = programs[run.function].instructions(0);
  void *const *buffers = walks[0].buffers(list[Program::index_at(list, step)]);
  const tinh_function_desc_t &function = programs[run.function].function();
  if (!numerics || function.steps[step].opcode != TINH_OP_DISPATCH)
    return device.execute(step, buffers);
  NumericsCheck::Step checked = checked_step(run, step);
  device.wait(function.num_steps);
  numerics->before(checked);
  device.execute(step, buffers);
  device.wait(function.num_steps);
  numerics->after(checked);
}

} // namespace tinh::runtime
