//===- ResourceLimits.h - What a compilation may take -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread looks a hundred times a second how long a compilation has taken and
// how much memory the process has of its own, and asks it to end beyond a
// limit. Passes, the importers and what compiles kernels heed that between two
// steps of theirs. What does not end then, such as LLVM within a large kernel,
// is for the program to decide about: a tool ends, a library waits.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_RESOURCELIMITS_H
#define TINH_PIPELINES_RESOURCELIMITS_H

#include "compiler/Support/Interruption.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/thread.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <string>

namespace tinh {

struct ResourceLimits {
  double seconds = 0; ///< 0: any time.
  uint64_t bytes = 0; ///< 0: any memory. What the process has of its own.
  /// Called, on another thread, with a message, where work has not ended half a
  /// second after it was asked to. May end the program; empty: it is waited
  /// for.
  std::function<void(const std::string &message)> giveUp;

  bool any() const { return seconds > 0 || bytes > 0; }
};

/// The bytes that this process has of its own: neither files that it maps nor
/// code. Asks for no memory itself.
uint64_t ownMemory();
/// The most that it may have: of the machine, its cgroups and its limits.
uint64_t availableMemory();

/// Watches the limits from its construction to its destruction.
class Watchdog {
public:
  /// Passes of `context` end once `interruption` is requested, too.
  Watchdog(const ResourceLimits &limits, Interruption &interruption,
           mlir::MLIRContext &context);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  using Clock = std::chrono::steady_clock;
  void watch();
  std::string exceeded() const;

  const ResourceLimits &limits;
  Interruption &interruption;
  mlir::MLIRContext &context;
  const Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false;
  llvm::thread thread;
};

} // namespace tinh

#endif // TINH_PIPELINES_RESOURCELIMITS_H
