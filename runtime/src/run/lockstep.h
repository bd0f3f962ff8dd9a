//===- lockstep.h - Runs that go step by step -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All workers do their shares of one step and then wait for each other: on a
// pool of the program's own, which need not have all workers running at once;
// where what a step has written is looked at before the next one; and where all
// goes to a stream of the program's. One run executes at a time. Its life here,
// in `execute`, on the thread of worker 0:
//
//  1. The walk of worker 0 begins; the others need none.
//  2. A step of the CPU's goes to all workers, who all return; one of the GPU's
//     goes there, and what is to be looked at is waited for. Worker 0 alone
//     takes the branches.
//  3. The GPU finishes, and the run ends as its steps have: it completes, but
//     not if its caller waits for it in place.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_LOCKSTEP_H
#define TINH_RUNTIME_LOCKSTEP_H

#include "inspection/check_numerics.h"
#include "run/workers.h"

namespace tinh::runtime {

class Lockstep {
public:
  Lockstep(Resources &resources, Workers &workers);

  void execute(Run &run);

private:
  void walk_steps(const Run &run);
  void execute_step(const Run &run, uint32_t step);
  void execute_on_device(const Run &run, uint32_t step);
  void call_each(void (*task)(void *argument, uint32_t worker), void *argument);
  NumericsCheck::Step checked_step(const Run &run, uint32_t step);

  Resources &resources;
  Workers &workers;
  std::optional<NumericsCheck> numerics;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_LOCKSTEP_H
