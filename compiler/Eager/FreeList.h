//===- FreeList.h - Small objects, used again -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory for objects of one size that are made and dropped with each operation,
// often by different threads: a thread keeps a few, and passes on batches of
// them through a list that all share.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FREELIST_H
#define TINH_EAGER_FREELIST_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace tinh::eager {

/// Blocks of `size` bytes, aligned to `alignment`. Thread-safe. Lives as long
/// as the process, and may be used until its very end.
template <size_t size, size_t alignment = 64> class FreeList {
public:
  static void *allocate() {
    Cache &mine = cache;
    if (!mine.head && !refill(mine))
      return ::operator new(size, std::align_val_t(alignment));
    Block *block = mine.head;
    mine.head = block->next;
    --mine.count;
    // The next one is likely to be in the cache of the thread that freed it.
    if (mine.head)
      for (size_t line = 0; line < std::min<size_t>(size, 512); line += 64)
        __builtin_prefetch(reinterpret_cast<char *>(mine.head) + line, 1);
    return block;
  }

  static void deallocate(void *memory) {
    if (kChecked)
      return ::operator delete(memory, std::align_val_t(alignment));
    Cache &mine = cache;
    mine.head = new (memory) Block{mine.head, nullptr, 0};
    if (++mine.count >= 2 * kBatch || mine.closed)
      passOn(mine);
  }

private:
  // Address sanitizers see what is used after it was freed only if it is.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool kChecked = true;
#elif defined(__has_feature)
  static constexpr bool kChecked = __has_feature(address_sanitizer);
#else
  static constexpr bool kChecked = false;
#endif
  static constexpr uint32_t kBatch = 32;

  struct Block {
    Block *next;
    // Of the first one in a batch.
    Block *nextBatch;
    uint32_t count;
  };
  static_assert(size >= sizeof(Block));
  /// A thread's own. Its memory outlives the destructors that use it.
  struct Cache {
    Block *head = nullptr;
    uint32_t count = 0;
    bool known = false;  // It is emptied when the thread ends.
    bool closed = false; // The thread is ending: keep nothing.
  };
  struct AtThreadEnd {
    ~AtThreadEnd() {
      cache.closed = true;
      while (cache.head)
        passOn(cache);
    }
  };
  struct Shared {
    std::mutex mutex;
    Block *batches = nullptr;
  };

  static Shared &shared() {
    static Shared &instance = *new Shared;
    return instance;
  }

  static bool refill(Cache &mine) {
    if (kChecked)
      return false;
    Shared &pool = shared();
    std::lock_guard lock(pool.mutex);
    Block *batch = pool.batches;
    if (!batch)
      return false;
    pool.batches = batch->nextBatch;
    mine.head = batch;
    mine.count = batch->count;
    return true;
  }

  /// Gives the first blocks of `mine` to all.
  static void passOn(Cache &mine) {
    if (!mine.known && !mine.closed) {
      mine.known = true;
      static thread_local AtThreadEnd end;
    }
    Block *batch = mine.head, *last = batch;
    uint32_t taken = 1;
    for (; taken < kBatch && last->next; ++taken)
      last = last->next;
    mine.head = last->next;
    mine.count -= taken;
    last->next = nullptr;
    Shared &pool = shared();
    std::lock_guard lock(pool.mutex);
    batch->count = taken;
    batch->nextBatch = pool.batches;
    pool.batches = batch;
  }

  static inline constinit thread_local Cache cache;
};

} // namespace tinh::eager

#endif // TINH_EAGER_FREELIST_H
