//===- execution.cpp - How a run is executed --------------------*- C++ -*-===//
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
#include "run/execution.h"

namespace tinh::runtime {

Execution::Execution(Resources &resources)
    : resources(resources),
      workers(resources, resources.gpu ? &device.emplace(resources) : nullptr) {
  if (resources.in_lockstep())
    lockstep.emplace(resources, workers);
}

void Execution::execute(Run &run) {
  program(run).place(run.arguments.pointers, run.arena->tables[run.function]);
  if (run.arena->collectives)
    run.arena->collectives->begin(program(run).function(), run.number);
  workers.place(run);
  std::optional<DeviceModule::Current> current;
  if (device)
    run.attempt([&] {
      current.emplace(*resources.gpu);
      device->begin(run);
    });
  if (lockstep)
    return lockstep->execute(run);
  if (device && program(run).on_leader())
    workers.run_alone(run);
  else
    workers.run(run);
  if (device && program(run).uses_device())
    device->finish(run);
}

void Execution::wait_for_workers(const Run &run) {
  if (!ends_on_device(run) || !program(run).on_leader())
    workers.wait_for_others();
}

} // namespace tinh::runtime
