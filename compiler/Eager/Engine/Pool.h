//===- Pool.h - Memory for storages -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a few sizes between each power of two and the next, kept when they
// are freed. Counts what is in use.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ENGINE_POOL_H
#define TINH_EAGER_ENGINE_POOL_H

#include "tinh/engine.h"

#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace tinh::eager {

class Pool {
public:
  /// Where a pool's blocks come from.
  class Source {
  public:
    virtual ~Source() = default;
    /// Aligned to 64 bytes; null if there are no more.
    virtual void *allocate(uint64_t size) = 0;
    virtual void free(void *block) = 0;
    /// Whose memory it is, for messages.
    virtual const char *owner() const { return "the system"; }
  };
  static Source &cpuMemory();
  explicit Pool(Source &source = cpuMemory()) : source(source) {}
  /// That of the CPU's memory. It is never destroyed.
  static Pool &get();

  /// At least `size` bytes, aligned to 64; throws a tinh::Error if that is more
  /// than the limit leaves or the system has. Null for 0 bytes.
  void *allocate(uint64_t size);
  /// `size` is what was asked for.
  void deallocate(void *block, uint64_t size);

  void setLimit(uint64_t bytes);
  MemoryStatistics statistics() const;
  void resetPeak();
  /// Frees what is cached.
  void trim();

  /// What a request for `size` bytes takes.
  static uint64_t blockSize(uint64_t size);

private:
  static uint32_t sizeClass(uint64_t size);
  static uint64_t classSize(uint32_t sizeClass);
  void *obtain(uint64_t size, uint64_t block);
  void trimLocked();
  [[noreturn]] void refuse(uint64_t size, const std::string &why) const;

  // Four sizes for each power of two from 2^6 to 2^63.
  static constexpr uint32_t kSteps = 4, kSmallest = 6;
  static constexpr uint32_t kNumClasses = (64 - kSmallest) * kSteps + 1;

  Source &source;
  mutable std::mutex mutex;
  std::array<std::vector<void *>, kNumClasses> free;
  MemoryStatistics counts;
};

} // namespace tinh::eager

#endif // TINH_EAGER_ENGINE_POOL_H
