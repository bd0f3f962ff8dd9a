//===- Dependencies.h - Who must wait for whom ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each storage keeps its accesses in the order in which they were queued: reads
// run together, a write runs alone. Nothing here locks; the engine does.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ENGINE_DEPENDENCIES_H
#define TINH_EAGER_ENGINE_DEPENDENCIES_H

#include "compiler/Eager/Engine/Operation.h"

#include <utility>

namespace tinh::eager {

class Dependencies {
public:
  /// Puts the accesses of `operation` behind those that are there; says whether
  /// all of them are allowed at once.
  static bool add(Operation &operation);

  /// Whether add() would find that all accesses are allowed at once.
  static bool canStart(const Operation &operation);

  /// Ends the accesses of `operation`, with its error if it has one, and calls
  /// `ready(successor)` for each operation that waits for nothing more.
  /// Of storages that nothing refers to any more, those in the caller's memory
  /// are put in front of `dead`, for they call back; others are destroyed.
  template <typename Ready>
  static void remove(Operation &operation, Ready ready, Storage *&dead);

  /// Why `operation` must not run: what it depends on has failed.
  static Ref<OperationError> inherited(const Operation &operation);

private:
  static bool admit(Access &access);
  static void settle(Access &access, const Ref<OperationError> &error);
};

template <typename Ready>
void Dependencies::remove(Operation &operation, Ready ready, Storage *&dead) {
  for (uint32_t i = 0; i < operation.numAccesses; ++i) {
    Access &access = operation.accesses[i];
    Storage &storage = *access.storage;
    settle(access, operation.error);
    while (Access *first = storage.waiting) {
      if (!admit(*first))
        break;
      storage.waiting = first->next;
      if (--first->operation->numWaiting == 0)
        ready(first->operation);
    }
    uint64_t use =
        access.kind == AccessKind::Read ? Storage::kRead : Storage::kWrite;
    uint64_t before = storage.uses.fetch_sub(use, std::memory_order_acq_rel);
    if (((before - use) & ~Storage::kPoisoned) != 0)
      continue;
    if (storage.releaseBytes)
      storage.nextDead = std::exchange(dead, &storage);
    else
      Storage::destroy(&storage);
  }
}

} // namespace tinh::eager

#endif // TINH_EAGER_ENGINE_DEPENDENCIES_H
