//===- memory.h - The memory of the fake GPU --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses of the GPU are addresses of this process. An allocation lies
// between pages that cannot be accessed, at the end of its own pages, and what
// is left of these holds a pattern that must not change.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_MEMORY_H
#define TINH_TESTS_CUDA_DRIVER_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tinh::fake {

enum class MemoryKind { Device, Host };

class Memory {
public:
  ~Memory();
  /// Of bytes that are `poison`; null if there is no memory.
  char *allocate(size_t size, MemoryKind kind, uint8_t poison);
  /// Says what is wrong, if anything.
  std::string release(const void *address, MemoryKind kind);
  /// Whether these bytes lie within one allocation of this kind.
  bool contains(const void *address, size_t size, MemoryKind kind) const;
  /// Whether anything is allocated at `address`, and of which kind.
  bool find(const void *address, MemoryKind &kind) const;
  /// Says which allocation has been written beyond its end or beginning.
  std::string checkGuards() const;
  size_t used(MemoryKind kind) const;
  size_t count(MemoryKind kind) const;

private:
  struct Allocation {
    size_t size;
    MemoryKind kind;
    char *mapping;
    size_t mappingSize;
  };
  using Allocations = std::map<const char *, Allocation>;
  Allocations::const_iterator at(const void *address) const;
  static std::string checkGuard(const char *start, const Allocation &of);

  Allocations allocations;
};

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_MEMORY_H
