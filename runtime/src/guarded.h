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

#include "error.h"

#include <new>
#include <system_error>

namespace tinh::runtime {

/// Runs `body`; what it throws becomes the status and the last error.
template <typename Body> tinh_status_t guarded(Body &&body) noexcept {
  try {
    body();
    return TINH_OK;
  } catch (const Error &error) {
    return set_last_error(error.status(), error.what());
  } catch (const std::bad_alloc &) {
    return set_last_error(TINH_OUT_OF_MEMORY, "out of memory");
  } catch (const std::system_error &error) {
    return set_last_error(TINH_OUT_OF_MEMORY, error.what());
  } catch (const std::exception &error) {
    return set_last_error(TINH_INTERNAL, error.what());
  }
}

/// Throws INVALID_ARGUMENT if `pointer` is null.
inline void require(const void *pointer, const char *name) {
  if (!pointer)
    throw Error(TINH_INVALID_ARGUMENT, std::string(name) + " is NULL");
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_GUARDED_H
