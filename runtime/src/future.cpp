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

namespace {

/// A continuation that is to be called, with what it is to be told.
struct DueCall {
  Future::Continuation continuation;
  tinh_status_t status;
  std::shared_ptr<const std::string> message;
  bool is_of_run;
};

/// What a thread does about continuations.
struct Caller {
  std::vector<DueCall> due;
  size_t next = 0;        ///< The first one that has not been called.
  bool is_active = false; ///< It is in one of them: others are left for later.
  bool is_of_run = false; ///< It is in one of a run.

  DueCall take() {
    DueCall call = std::move(due[next++]);
    if (next == due.size()) {
      due.clear();
      next = 0;
    }
    return call;
  }
};

thread_local Caller caller;

/// Calls what is due, and leaves nothing behind but what it has found.
class CallingScope {
public:
  CallingScope()
      : was_active(std::exchange(caller.is_active, true)),
        was_of_run(caller.is_of_run) {}
  ~CallingScope() {
    caller.is_active = was_active;
    caller.is_of_run = was_of_run;
  }
  CallingScope(const CallingScope &) = delete;

  void call(const DueCall &call) const {
    caller.is_of_run = call.is_of_run;
    call.continuation(call.status, call.message->c_str());
  }

private:
  const bool was_active, was_of_run;
};

} // namespace

void Future::call_due() {
  if (caller.due.empty())
    return;
  CallingScope scope;
  while (!caller.due.empty())
    scope.call(caller.take());
}

void Future::prepare_to_wait(const char *what) {
  call_due();
  if (caller.is_of_run)
    throw Error(TINH_BUSY, std::string(what) +
                               " would block a callback of a run, whose "
                               "thread other runs may need");
}

tinh_status_t Future::wait() {
  call_due();
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

bool Future::complete(tinh_status_t new_status, std::string message) {
  std::lock_guard lock(mutex);
  if (done())
    return false;
  status = new_status;
  text = std::move(message);
  is_done.store(true, std::memory_order_release);
  changed.notify_all();
  return true;
}

void Future::call_continuations() {
  if (continuations.empty())
    return;
  // They may give up the future.
  auto message = std::make_shared<const std::string>(text);
  // What a callback of a run brings about keeps the same thread.
  bool is_of_run = !is_user_event() || caller.is_of_run;
  for (Continuation &continuation : std::exchange(continuations, {}))
    caller.due.push_back({std::move(continuation), status, message, is_of_run});
  if (!caller.is_active)
    call_due();
}

bool Future::settle(tinh_status_t new_status, std::string message) {
  if (!complete(new_status, std::move(message)))
    return false;
  call_continuations();
  return true;
}

void Future::cancel() {
  throw Error(TINH_INVALID_ARGUMENT,
              "this future is no run; complete it with tinh_future_settle");
}

} // namespace tinh::runtime
