//===- Storage.cpp - Memory with a place in the order of work -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Making and dropping storages.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Storage.h"

#include "compiler/Eager/Engine/Pool.h"
#include "compiler/Eager/FreeList.h"

namespace tinh::eager {

using Blocks = FreeList<sizeof(Storage), alignof(Storage)>;

Storage *Storage::make(uint64_t size) {
  return new (Blocks::allocate()) Storage(size);
}

Ref<Storage> Storage::create(uint64_t size) { return make(size); }

Ref<Storage> Storage::allocate(uint64_t size) {
  Ref<Storage> storage = create(size);
  storage->allocateBytes();
  return storage;
}

Ref<Storage> Storage::wrap(void *data, uint64_t size, void (*release)(void *),
                           void *user) {
  Ref<Storage> storage = create(size);
  storage->bytes = data;
  storage->releaseBytes = release;
  storage->user = user;
  return storage;
}

Storage::~Storage() {
  if (releaseBytes)
    releaseBytes(user);
  else if (bytes)
    pool().deallocate(bytes, numBytes);
}

Pool &Storage::pool() const {
  return user ? *static_cast<Pool *>(user) : Pool::get();
}

void Storage::allocateBytes() { bytes = pool().allocate(numBytes); }

void Storage::destroy(Storage *storage) {
  storage->~Storage();
  Blocks::deallocate(storage);
}

} // namespace tinh::eager
