//===- device_steps.h - A run's steps on a GPU ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GPU's side of runs, of a context that uses one. Worker 0 gives the GPU
// its steps and goes on: to its own share of the CPU's, and to the next run. A
// run's life here, in what device_api.h calls 4 and 5:
//
//  1. `begin`, on worker 0's thread: the arena's DeviceRun is for this run now,
//     and follows those before, if the run is exclusive.
//  2. `give`, when worker 0 comes to an instruction for the GPU: launches a
//     segment or a loose step, or waits for what the CPU needs.
//  3. `finish`, when worker 0 is done with the run. One that was submitted goes
//     to the completer.
//  4. The completer, a thread of its own, waits for the GPU in `complete`, and
//     calls Run::part_done. Who waits for a run in place does so itself.
//
// What fails keeps its run from giving the GPU anything more; the workers walk
// on to the end, for others wait for their positions.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_DEVICE_STEPS_H
#define TINH_RUNTIME_DEVICE_STEPS_H

#include "resources/resources.h"
#include "run/run.h"
#include "run/walk.h"

#include <list>

namespace tinh::runtime {

class DeviceSteps {
public:
  /// `resources` have a GPU.
  explicit DeviceSteps(Resources &resources) : resources(resources) {}
  /// Ends the completer, once no run is left.
  ~DeviceSteps();

  /// Makes the completer, unless there is one. One thread at a time.
  void start_completer();

  void begin(Run &run);
  void give(Run &run, const Walk &walk, const Instruction &instruction);
  void finish(Run &run);
  void complete(Run &run);

private:
  void complete_runs();
  void abandon(Run &run);

  Resources &resources;

  // Runs that worker 0 is done with and the GPU is not.
  std::mutex mutex;
  std::condition_variable changed;
  std::list<Run *> completing;
  bool no_more = false;
  std::thread completer;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_DEVICE_STEPS_H
