//===- guarded.h - The boundary between C++ and the C API -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every function of the C API does with exceptions and null pointers.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_GUARDED_H
#define TINH_RUNTIME_GUARDED_H

#include "support/error.h"

namespace tinh::runtime {

/// Where an exception is handled: keeps it as the calling thread's last error.
tinh_status_t keep_exception() noexcept;

/// Runs `body`; what it throws becomes the status and the last error.
template <typename Body> tinh_status_t guarded(Body &&body) noexcept {
  try {
    body();
    return TINH_OK;
  } catch (...) {
    return keep_exception();
  }
}

/// Throws INVALID_ARGUMENT if `pointer` is null.
inline void require(const void *pointer, const char *name) {
  if (!pointer)
    throw_error(TINH_INVALID_ARGUMENT, {name, " is NULL"});
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_GUARDED_H
