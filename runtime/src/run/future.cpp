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
#include "run/future.h"

#include "support/error.h"

#include <exception>
#include <list>
#include <utility>

namespace tinh::runtime {

namespace {

/// A continuation that is to be called, with what it is to be told.
struct DueCall {
  Future::Continuation continuation;
  tinh_status_t status;
  std::shared_ptr<const std::string> message;
  const void *context; ///< As of Caller.
};

using DueCalls = std::list<DueCall>; ///< In their order.

/// What a thread does about continuations. Lives as long as the thread.
struct Caller {
  DueCalls *due = nullptr; ///< Of the continuation that it is in, if it is.
  /// Of the run that it is in a continuation of, whose thread it may be.
  const void *context = nullptr;
};

thread_local constinit Caller caller;

/// Calls all, and those that are added meanwhile, also where there is no memory
/// for what one of them does, and then throws the first of that.
void call_all(DueCalls &due) {
  DueCalls *outer = std::exchange(caller.due, &due);
  const void *outer_context = caller.context;
  std::exception_ptr thrown;
  while (!due.empty()) {
    DueCall call = std::move(due.front());
    due.pop_front();
    caller.context = call.context;
    try {
      call.continuation(call.status, call.message->c_str());
    } catch (...) {
      if (!thrown)
        thrown = std::current_exception();
    }
  }
  caller.context = outer_context;
  caller.due = outer;
  if (thrown)
    std::rethrow_exception(thrown);
}

} // namespace

void Future::call_due() {
  if (caller.due && !caller.due->empty())
    call_all(*caller.due);
}

void Future::prepare_to_wait(const char *what) {
  call_due();
  if (caller.context)
    throw_error(TINH_BUSY, {what, " would block a callback of a run, whose "
                                  "thread other runs may need"});
}

void Future::prepare_to_run(const void *context) {
  call_due();
  if (caller.context == context)
    throw_error(TINH_BUSY, {"a run would block a callback of a run of the same "
                            "context, whose thread it may need"});
}

tinh_status_t Future::wait() {
  call_due();
  if (done()) // In a forked child, nobody would unlock it.
    return status;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done(); });
  return status;
}

void Future::then(Continuation continuation) {
  if (!done()) {
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
  const void *of = caller.context ? caller.context : context();
  DueCalls own;
  for (Continuation &continuation : std::exchange(continuations, {}))
    own.push_back({std::move(continuation), status, message, of});
  if (caller.due)
    caller.due->splice(caller.due->end(), own);
  else
    call_all(own);
}

bool Future::settle(tinh_status_t new_status, std::string message) {
  if (!complete(new_status, std::move(message)))
    return false;
  call_continuations();
  return true;
}

void Future::cancel() {
  throw_error(TINH_INVALID_ARGUMENT,
              {"this future is no run; complete it with tinh_future_settle"});
}

} // namespace tinh::runtime
