//===- Dependencies.cpp - Who must wait for whom --------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Admission to storages, and how errors travel along them.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Dependencies.h"

namespace tinh::eager {

/// Lets `access` start if those that run allow it.
bool Dependencies::admit(Access &access) {
  Storage &storage = *access.storage;
  if (storage.runningWrite)
    return false;
  if (access.kind == AccessKind::Read) {
    ++storage.runningReads;
    return true;
  }
  if (storage.runningReads)
    return false;
  storage.runningWrite = true;
  return true;
}

bool Dependencies::add(Operation &operation) {
  for (uint32_t i = 0; i < operation.numAccesses; ++i) {
    Access &access = operation.accesses[i];
    Storage &storage = *access.storage;
    if (!storage.waiting && admit(access))
      continue;
    access.next = nullptr;
    access.operation = &operation;
    (storage.waiting ? storage.lastWaiting->next : storage.waiting) = &access;
    storage.lastWaiting = &access;
    ++operation.numWaiting;
  }
  return operation.numWaiting == 0;
}

bool Dependencies::canStart(const Operation &operation) {
  for (uint32_t i = 0; i < operation.numAccesses; ++i) {
    const Access &access = operation.accesses[i];
    const Storage &storage = *access.storage;
    if (storage.waiting || storage.runningWrite ||
        (access.kind != AccessKind::Read && storage.runningReads))
      return false;
  }
  return true;
}

/// Ends an access. What was to be written is valid if it was written as a whole
/// and is not valid if it was not written.
void Dependencies::settle(Access &access, const Ref<OperationError> &error) {
  Storage &storage = *access.storage;
  if (access.kind == AccessKind::Read) {
    --storage.runningReads;
    return;
  }
  storage.runningWrite = false;
  if (error && !storage.error) {
    storage.error = error;
    storage.uses.fetch_or(Storage::kPoisoned, std::memory_order_release);
  } else if (!error && storage.error) {
    storage.error = nullptr;
    storage.uses.fetch_and(~Storage::kPoisoned, std::memory_order_release);
  }
}

Ref<OperationError> Dependencies::inherited(const Operation &operation) {
  for (uint32_t i = 0; i < operation.numAccesses; ++i) {
    const Access &access = operation.accesses[i];
    if (access.kind != AccessKind::Overwrite && access.storage->error)
      return access.storage->error;
  }
  return nullptr;
}

} // namespace tinh::eager
