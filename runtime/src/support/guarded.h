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

/// Throws INVALID_ARGUMENT if `pointer` is null.
inline void require(const void *pointer, const char *name) {
  if (!pointer)
    throw_error(TINH_INVALID_ARGUMENT, {name, " is NULL"});
}

/// Runs `body`; what it throws becomes the status and the last error.
template <typename Body> tinh_status_t guarded(Body &&body) noexcept {
  try {
    body();
    return TINH_OK;
  } catch (...) {
    return keep_exception();
  }
}

/// Item `index` of what `owner` has; throws INVALID_ARGUMENT if there is none.
template <typename Items>
const auto &item_of(const Items &items, uint32_t index, const char *kind,
                    const char *owner) {
  if (index >= items.size())
    throw_error(TINH_INVALID_ARGUMENT,
                {"there is no ", kind, " ", index, "; the ", owner, " has ",
                 items.size()});
  return items[index];
}

struct Argument {
  const void *pointer;
  const char *name;
};

/// The same for a function of which these arguments must not be null.
template <typename Body>
tinh_status_t guarded(std::initializer_list<Argument> required,
                      Body &&body) noexcept {
  return guarded([&] {
    for (const Argument &argument : required)
      require(argument.pointer, argument.name);
    body();
  });
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_GUARDED_H
