//===- start_thread.h - Threads that may be refused -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_START_THREAD_H
#define TINH_RUNTIME_START_THREAD_H

#include "support/error.h"

#include <system_error>
#include <thread>

namespace tinh::runtime {

/// A thread that calls `function` with `arguments`. Throws OUT_OF_MEMORY if the
/// system gives none; `what` says which one that was.
template <typename... Arguments>
std::thread start_thread(const std::string &what, Arguments &&...arguments) {
  try {
    return std::thread(std::forward<Arguments>(arguments)...);
  } catch (const std::system_error &error) {
    throw_error(TINH_OUT_OF_MEMORY,
                {"cannot start ", what, ": ", error.code().message(),
                 "; use fewer threads, or raise the system's limits on them "
                 "(ulimit -u, pids.max of the cgroup)"});
  }
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_START_THREAD_H
