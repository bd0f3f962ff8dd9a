//===- trace_clock.h - The clock of traces ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_TRACE_CLOCK_H
#define TINH_RUNTIME_TRACE_CLOCK_H

#include <chrono>
#include <cstdint>

namespace tinh::runtime {

/// Nanoseconds of the steady clock.
inline int64_t trace_clock() {
  using std::chrono::steady_clock;
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch())
      .count();
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_TRACE_CLOCK_H
