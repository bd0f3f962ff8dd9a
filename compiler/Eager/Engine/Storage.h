//===- Storage.h - Memory with a place in the order of work -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes behind tensors. A storage has no memory until the engine runs the
// first operation that writes it; several tensors (views) may share one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ENGINE_STORAGE_H
#define TINH_EAGER_ENGINE_STORAGE_H

#include "compiler/Eager/Ref.h"

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include "tinh/runtime.h"

namespace tinh::eager {

struct Access;
class Pool;

/// Why an operation failed, for all who wait for what it should have written.
struct OperationError : RefCounted<OperationError> {
  OperationError(tinh_status_t status, std::string message)
      : status(status), message(std::move(message)) {}
  static void destroy(OperationError *error) { delete error; }

  tinh_status_t status;
  std::string message;
};

class alignas(64) Storage {
public:
  /// Of `size` bytes, allocated from the pool when they are first written.
  static Ref<Storage> create(uint64_t size);
  /// Of `size` bytes that are allocated now, for the caller to fill; throws a
  /// tinh::Error if there is no memory.
  static Ref<Storage> allocate(uint64_t size);
  /// The caller's memory; `release(user)` is called when nothing refers to it,
  /// on any thread.
  static Ref<Storage> wrap(void *data, uint64_t size, void (*release)(void *),
                           void *user);

  /// The memory that it lies in, or will: 0 is the CPU's, 1 + n that of GPU n.
  uint8_t place() const { return where; }
  /// Whether its place may still be chosen: nothing has written it yet.
  bool isOpen() const {
    return !isPlaced && fresh.load(std::memory_order_relaxed) && !bytes;
  }
  /// Chooses the place of one that isOpen(), before it is used; `pool` is what
  /// it is allocated from, null for the CPU's.
  void choosePlace(uint8_t place, Pool *pool) {
    where = place;
    user = pool;
    isPlaced = true;
  }

  uint64_t size() const { return numBytes; }
  /// Aligned to 64 bytes if it is the pool's. For operations that access it,
  /// and for who has waited for it.
  void *data() const { return bytes; }

  /// How often it has been written, as far as this was noted: who keeps what it
  /// holds can tell whether it still holds that.
  uint32_t version() const { return writes.load(std::memory_order_relaxed); }
  /// The first write is what made it; of others, what it was is kept. `name` is
  /// static.
  void noteWrite(const char *name, std::source_location at) {
    uint32_t before = version();
    writes.store(before + 1, std::memory_order_relaxed);
    if (before > 0) {
      changedBy.store(name, std::memory_order_relaxed);
      changedAt.store(at, std::memory_order_relaxed);
    }
  }
  /// What wrote it last; null if only one did.
  const char *changeName() const {
    return changedBy.load(std::memory_order_relaxed);
  }
  std::source_location changePlace() const {
    return changedAt.load(std::memory_order_relaxed);
  }
  /// Whether there is one handle and no more; operations do not count.
  bool isHeldOnce() const {
    return (uses.load(std::memory_order_acquire) & (kRead - 1)) == kHandle;
  }

  void retain() { uses.fetch_add(kHandle, std::memory_order_relaxed); }
  void release() { drop(kHandle); }

private:
  friend class Engine;
  friend class Dependencies;

  // What refers to it, in one word, so that queueing costs one addition:
  // handles, operations that are queued to read it, operations that are queued
  // to write it, and whether its content is not valid.
  static constexpr uint64_t kHandle = 1;
  static constexpr uint64_t kRead = uint64_t(1) << 28;
  static constexpr uint64_t kWrite = uint64_t(1) << 46;
  static constexpr uint64_t kPoisoned = uint64_t(1) << 63;
  static constexpr uint64_t kWrites = kPoisoned - kWrite;
  static constexpr uint64_t kReadsAndWrites = kPoisoned - kRead;

  Storage(uint64_t size) : numBytes(size) {}
  ~Storage();
  Pool &pool() const;
  void allocateBytes();
  static Storage *make(uint64_t size);
  void drop(uint64_t use) {
    uint64_t before = uses.fetch_sub(use, std::memory_order_acq_rel);
    if (((before - use) & ~kPoisoned) == 0)
      destroy(this);
  }
  static void destroy(Storage *storage);

  std::atomic<uint64_t> uses{0};
  void *bytes = nullptr;
  uint64_t numBytes;
  /// No operation has accessed it yet, so that its memory comes on top.
  std::atomic<bool> fresh{true};
  bool isPlaced = false;
  uint8_t where = 0;
  std::atomic<uint32_t> writes{0};
  std::atomic<const char *> changedBy{nullptr};
  std::atomic<std::source_location> changedAt{std::source_location{}};
  void (*releaseBytes)(void *) = nullptr; // Null: they are a pool's.
  void *user = nullptr; // Its argument, or that pool; null: the CPU's.

  // The engine's, under its lock: the queued accesses that run now, those that
  // are not yet allowed to, in order, and why the content is not valid.
  alignas(64) uint32_t runningReads = 0;
  bool runningWrite = false;
  Access *waiting = nullptr, *lastWaiting = nullptr;
  Ref<OperationError> error;
  Storage *nextDead = nullptr;
};

} // namespace tinh::eager

#endif // TINH_EAGER_ENGINE_STORAGE_H
