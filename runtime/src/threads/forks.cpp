//===- forks.cpp - Which process this is ------------------------*- C++ -*-===//
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
#include "threads/forks.h"

#include <atomic>
#include <new>
#include <pthread.h>

namespace tinh::runtime {

static std::atomic<uint32_t> count{0};

/// In the child.
static void count_fork() { count.fetch_add(1, std::memory_order_relaxed); }

/// The first call has the later forks counted.
uint32_t fork_count() {
  static const bool is_registered = [] {
    if (pthread_atfork(nullptr, nullptr, count_fork) != 0)
      throw std::bad_alloc();
    return true;
  }();
  static_cast<void>(is_registered);
  return count.load(std::memory_order_relaxed);
}

} // namespace tinh::runtime
