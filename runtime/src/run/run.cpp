//===- run.cpp - One run of a function --------------------------*- C++ -*-===//
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
#include "run/run.h"

#include "run/context.h"

namespace tinh::runtime {

void Run::begin(uint32_t worker) { owner->workers().begin_part(*this, worker); }

ThreadPool::Halt Run::go_on(uint32_t worker, const ThreadPool::Visit *visit) {
  return owner->workers().go_on(*this, worker, visit);
}

tinh_status_t Run::wait() {
  Future::call_due();
  require_this_process();
  if (!done())
    Future::prepare_to_wait("waiting for a run");
  return Future::wait();
}

void Run::require_this_process() const {
  if (!done())
    owner->require_this_process();
}

void Run::cancel() { owner->queue().cancel(*this); }

void Run::end_collectives() {
  if (!arena->collectives)
    return;
  if (status != TINH_OK)
    return arena->collectives->give_up(why);
  if (const char *failure = arena->collectives->failure()) {
    status = TINH_COLLECTIVE_FAILED;
    why = failure;
  }
}

void Run::part_done() {
  if (num_unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  end_collectives();
  finish();
}

void Run::finish() { owner->queue().complete(*this, status, why); }

} // namespace tinh::runtime
