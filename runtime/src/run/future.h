//===- future.h - A value-less future ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Something that completes once, with a status and a message. Completing it
// runs its continuations, in the order in which they were added, on the
// completing thread. A continuation that completes another future leaves the
// continuations of that one to whoever called it, so that a chain of futures
// may have any length: the stack does not grow with it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_FUTURE_H
#define TINH_RUNTIME_FUTURE_H

#include "tinh/runtime.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tinh::runtime {

class Future {
public:
  using Continuation = std::function<void(tinh_status_t, const char *message)>;

  virtual ~Future() = default;

  bool done() const { return is_done.load(std::memory_order_acquire); }

  /// Waits until it is done. Throws where that could never be.
  virtual tinh_status_t wait();
  /// The message it completed with; only once it is done.
  const std::string &message() const { return text; }

  /// Calls `continuation` when it is done, or now if it is.
  void then(Continuation continuation);

  /// Completes it and has its continuations called; false if it was complete
  /// already.
  bool settle(tinh_status_t status, std::string message);

  /// The halves of that. Who gets true from the first, by which it is done,
  /// goes on to the second.
  bool complete(tinh_status_t status, std::string message);
  void call_continuations();

  /// Calls what this thread has left for later: before it waits for anything
  /// that may depend on that.
  static void call_due();
  /// Before it waits for a run, or for what may wait for one: throws BUSY in a
  /// continuation of a run, of whatever context. Two that waited for each
  /// other's context would do so for ever.
  static void prepare_to_wait(const char *what);
  /// Before it runs something in `context`: throws BUSY in a continuation of a
  /// run of that one.
  static void prepare_to_run(const void *context);

  /// Throws unless it could be cancelled.
  virtual void cancel();
  /// True if the program completes it, and not a run.
  bool is_user_event() const { return !context(); }
  /// Of a run: what it is a run of.
  virtual const void *context() const { return nullptr; }
  /// Throws if what would complete it has stayed in another process.
  virtual void require_this_process() const {}

private:
  std::atomic<bool> is_done{false};
  std::mutex mutex;
  std::condition_variable changed;
  tinh_status_t status = TINH_OK;
  std::string text;
  std::vector<Continuation> continuations; ///< No more once it is done.
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_FUTURE_H
