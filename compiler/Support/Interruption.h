//===- Interruption.h - Work that may have to end early ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a compilation and who limits it tell each other: the one what it is at,
// the other that it shall end, and why. A compilation without limits has none:
// all of this takes null.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SUPPORT_INTERRUPTION_H
#define TINH_SUPPORT_INTERRUPTION_H

#include <atomic>
#include <list>
#include <mutex>
#include <string>

namespace tinh {

/// Any thread may use it.
class Interruption {
public:
  /// That a thread is at `what`, "pass 'form-kernels'", from the construction
  /// to the destruction. What it does within that has objects of its own.
  class Work {
  public:
    Work(Interruption *interruption, std::string what);
    ~Work();
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;

  private:
    Interruption *interruption;
    std::list<std::string>::iterator place;
  };

  /// Asks all work to end soon, because of `reason`. Only the first reason
  /// counts.
  void request(const std::string &reason);
  bool isRequested() const { return requested.load(std::memory_order_acquire); }
  /// The reason, and what was being done then. Once requested.
  const std::string &message() const { return text; }

private:
  std::string describeWork() const;

  std::atomic<bool> requested = false;
  mutable std::mutex mutex;
  std::list<std::string> work; ///< From the whole to its parts.
  std::string text;
};

inline bool isRequested(const Interruption *interruption) {
  return interruption && interruption->isRequested();
}

} // namespace tinh

#endif // TINH_SUPPORT_INTERRUPTION_H
