//===- forks.h - Which process this is --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After a fork, the child has what was in memory, and one thread: no worker,
// and nobody to unlock what another thread had locked.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_FORKS_H
#define TINH_RUNTIME_FORKS_H

#include "support/error.h"

#include <cstdint>

namespace tinh::runtime {

/// A number that a process shares with its parent only up to the fork. Costs no
/// system call.
uint32_t fork_count();

/// The process in which a context was made.
class HomeProcess {
public:
  bool is_here() const { return fork_count() == count; }
  /// Throws INVALID_ARGUMENT unless it is.
  void require() const {
    if (!is_here())
      throw_error(
          TINH_INVALID_ARGUMENT,
          {"the context belongs to the process that this one was forked "
           "from, where its threads are; create one here"});
  }

private:
  const uint32_t count = fork_count();
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_FORKS_H
