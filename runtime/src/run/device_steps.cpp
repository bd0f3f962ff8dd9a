//===- device_steps.cpp - A run's steps on a GPU ----------------*- C++ -*-===//
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
#include "run/device_steps.h"

#include "threads/start_thread.h"

#include <pthread.h>

namespace tinh::runtime {

DeviceSteps::~DeviceSteps() {
  if (!completer.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    no_more = true;
    changed.notify_one();
  }
  completer.join();
}

void DeviceSteps::start_completer() {
  if (!completer.joinable())
    completer = start_thread("the thread that waits for the GPU",
                             &DeviceSteps::complete_runs, this);
}

/// The GPU waits for the GPU; who waits for the CPU's steps waits for both.
void DeviceSteps::begin(Run &run) {
  const Program &program = resources.programs[run.function];
  if (run.exclusive && program.schedule().has_cpu_steps())
    for (const Arena &arena : resources.arenas)
      arena.device->wait_for_end();
  if (!program.uses_device())
    return;
  // Before ranks make graphs of their collectives together.
  if (program.computes_with_gpus())
    run.arena->collectives->require_same();
  DeviceRun &device = *run.arena->device;
  device.begin(run.function, run.arguments.pointers.data(),
               run.arguments.on_state);
  if (run.exclusive)
    for (const Arena &arena : resources.arenas)
      device.follow(*arena.device);
}

void DeviceSteps::give(Run &run, const Walk &walk,
                       const Instruction &instruction) {
  DeviceRun &device = *run.arena->device;
  std::optional<Trace> &trace = resources.trace;
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
    const Program &program = resources.programs[run.function];
    const DeviceSchedule &schedule = program.schedule();
    bool launches = instruction.opcode == kDeviceLaunch;
    trace->add_call(0, program.function(),
                    launches ? schedule.first_step(schedule.segments()[what])
                             : what,
                    run.number, begin, trace_clock(),
                    launches ? "launch" : "wait for the GPU");
  }
  // What others go on with now, the GPU must be done with.
  if (run.status != TINH_OK && !had_failed)
    abandon(run);
}

/// First of all, what waits on the GPU for other ranks comes to an end.
void DeviceSteps::abandon(Run &run) {
  if (resources.programs[run.function].computes_with_gpus())
    run.arena->collectives->give_up(run.why);
  run.arena->device->abandon();
}

void DeviceSteps::finish(Run &run) {
  DeviceRun &device = *run.arena->device;
  run.attempt([&] { device.finish(); });
  if (run.status != TINH_OK)
    abandon(run);
  if (!run.completes_itself)
    return;
  std::lock_guard lock(mutex);
  completing.push_back(&run);
  changed.notify_one();
}

void DeviceSteps::complete(Run &run) {
  DeviceRun &device = *run.arena->device;
  std::optional<DeviceModule::Current> current;
  run.attempt([&] {
    current.emplace(*resources.gpu);
    device.complete();
    if (resources.options.measure_cuda)
      resources.last_cuda_time = device.elapsed();
    if (resources.trace)
      device.trace(*resources.trace, run.number);
  });
  if (run.status != TINH_OK)
    abandon(run);
}

void DeviceSteps::complete_runs() {
  pthread_setname_np(pthread_self(), "tinh-cuda");
  for (;;) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return no_more || !completing.empty(); });
    if (completing.empty())
      return;
    Run &run = *completing.front();
    completing.pop_front();
    lock.unlock();
    complete(run);
    run.part_done();
  }
}

} // namespace tinh::runtime
