//===- Pool.cpp - Memory for storages -------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lists of free blocks, and what is said when there is no memory.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Pool.h"

#include <bit>
#include <cstdlib>
#include <string>
#include <sys/mman.h>

namespace tinh::eager {

// From here on blocks lie on huge pages if the system has them, which saves
// most of the faults when they are first written.
static constexpr uint64_t kHugePage = uint64_t(2) << 20;

namespace {

class CpuMemory final : public Pool::Source {
public:
  void *allocate(uint64_t size) override {
    uint64_t alignment = size >= kHugePage ? kHugePage : 64;
    void *memory = nullptr; // Blocks need not be multiples of the alignment.
    if (posix_memalign(&memory, alignment, size) != 0)
      return nullptr;
    if (size >= kHugePage)
      madvise(memory, size, MADV_HUGEPAGE);
    return memory;
  }
  void free(void *block) override { std::free(block); }
};

} // namespace

Pool::Source &Pool::cpuMemory() {
  static Source &memory = *new CpuMemory;
  return memory;
}

Pool &Pool::get() {
  static Pool &pool = *new Pool;
  return pool;
}

uint32_t Pool::sizeClass(uint64_t size) {
  if (size <= uint64_t(1) << kSmallest)
    return 0;
  // Of the power of two below `size`, which of its quarters `size` needs.
  uint32_t power = std::bit_width(size - 1) - 1;
  uint64_t quarter = uint64_t(1) << (power - 2);
  uint64_t quarters = (size - (uint64_t(1) << power) + quarter - 1) / quarter;
  return (power - kSmallest) * kSteps + static_cast<uint32_t>(quarters);
}

uint64_t Pool::classSize(uint32_t sizeClass) {
  uint32_t power = kSmallest + sizeClass / kSteps;
  return (uint64_t(1) << power) +
         (sizeClass % kSteps) * (uint64_t(1) << (power - 2));
}

uint64_t Pool::blockSize(uint64_t size) {
  return size ? classSize(sizeClass(size)) : 0;
}

void *Pool::allocate(uint64_t size) {
  if (size == 0)
    return nullptr;
  std::lock_guard lock(mutex);
  if (size > uint64_t(1) << 62)
    refuse(size, "that is more than any machine has");
  uint32_t index = sizeClass(size);
  uint64_t block = classSize(index);
  void *memory;
  if (free[index].empty()) {
    memory = obtain(size, block);
  } else {
    memory = free[index].back();
    free[index].pop_back();
    counts.cached -= block;
  }
  counts.in_use += block;
  counts.peak = std::max(counts.peak, counts.in_use);
  return memory;
}

/// A new block; what is cached is given up if it does not fit otherwise.
void *Pool::obtain(uint64_t size, uint64_t block) {
  if (counts.limit && counts.in_use + counts.cached + block > counts.limit)
    trimLocked();
  if (counts.limit && counts.in_use + block > counts.limit)
    refuse(size, "that is more than the limit leaves");
  void *memory = source.allocate(block);
  if (!memory && counts.cached) {
    trimLocked();
    memory = source.allocate(block);
  }
  if (!memory)
    refuse(size, std::string(source.owner()) + " has no more");
  return memory;
}

void Pool::refuse(uint64_t size, const std::string &why) const {
  std::string message = "out of memory: " + std::to_string(size) +
                        " bytes asked for, " + std::to_string(counts.in_use) +
                        " in use";
  if (counts.limit)
    message += ", limit " + std::to_string(counts.limit);
  throw Error(TINH_OUT_OF_MEMORY, message + "; " + why);
}

void Pool::deallocate(void *block, uint64_t size) {
  uint32_t index = sizeClass(size);
  std::lock_guard lock(mutex);
  free[index].push_back(block);
  counts.in_use -= classSize(index);
  counts.cached += classSize(index);
}

void Pool::setLimit(uint64_t bytes) {
  std::lock_guard lock(mutex);
  counts.limit = bytes;
  if (bytes && counts.in_use + counts.cached > bytes)
    trimLocked();
}

MemoryStatistics Pool::statistics() const {
  std::lock_guard lock(mutex);
  return counts;
}

void Pool::resetPeak() {
  std::lock_guard lock(mutex);
  counts.peak = counts.in_use;
}

void Pool::trim() {
  std::lock_guard lock(mutex);
  trimLocked();
}

void Pool::trimLocked() {
  for (std::vector<void *> &blocks : free) {
    for (void *block : blocks)
      source.free(block);
    blocks = {};
  }
  counts.cached = 0;
}

} // namespace tinh::eager
