//===- execution.h - How a run is executed ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the leader does with a run, whoever that is: the queue's thread, or one
// that waits for its run in place. It is worker 0 meanwhile, and one thread at
// a time is the leader.
//
//  1. `execute` places the run: the addresses of its tensors in the arena's
//     table, its position among those of all runs. Its collectives begin.
//  2. The GPU, if there is one, begins the run (device_steps.h).
//  3. The run is walked: in lockstep (lockstep.h), by worker 0 alone, or by all
//     workers (workers.h).
//  4. What worker 0 gives a GPU is complete. `execute` returns: other workers
//     and the GPU may still be at it, and the leader goes on to the next run.
//  5. The last who is done calls Run::part_done. Of a run that its caller waits
//     for in place, the caller waits for all of them instead: first for the
//     workers, `wait_for_workers`; then, when others may lead, for the GPU,
//     `complete_on_device`.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_EXECUTION_H
#define TINH_RUNTIME_EXECUTION_H

#include "run/lockstep.h"

namespace tinh::runtime {

class Execution {
public:
  explicit Execution(Resources &resources);

  void execute(Run &run);

  void wait_for_workers(const Run &run);
  /// Whether there is a GPU to wait for after that.
  bool ends_on_device(const Run &run) const {
    return device && !lockstep && program(run).uses_device();
  }
  void complete_on_device(Run &run) { device->complete(run); }

  Workers &all_workers() { return workers; }
  /// Null without a GPU.
  DeviceSteps *device_steps() { return device ? &*device : nullptr; }

private:
  const Program &program(const Run &run) const {
    return resources.programs[run.function];
  }

  Resources &resources;
  std::optional<DeviceSteps> device;
  Workers workers;
  std::optional<Lockstep> lockstep;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_EXECUTION_H
