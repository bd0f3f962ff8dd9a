//===- future.cpp - A value-less future -------------------------*- C++ -*-===//
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
#include "future.h"

#include "error.h"

namespace tinh::runtime {

tinh_status_t Future::wait() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done(); });
  return status;
}

void Future::then(Continuation continuation) {
  {
    std::lock_guard lock(mutex);
    if (!done()) {
      continuations.push_back(std::move(continuation));
      return;
    }
  }
  continuation(status, text.c_str());
}

bool Future::settle(tinh_status_t new_status, std::string message) {
  std::vector<Continuation> waiting;
  {
    std::lock_guard lock(mutex);
    if (done())
      return false;
    status = new_status;
    text = std::move(message);
    waiting.swap(continuations);
    is_done.store(true, std::memory_order_release);
    changed.notify_all();
  }
  for (Continuation &continuation : waiting)
    continuation(status, text.c_str());
  return true;
}

void Future::cancel() {
  throw Error(TINH_INVALID_ARGUMENT,
              "this future is no run; complete it with tinh_future_settle");
}

} // namespace tinh::runtime
