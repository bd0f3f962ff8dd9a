//===- memory.cpp - The memory of the fake GPU ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace tinh::fake {

static constexpr size_t kPage = 4096, kAlignment = 256;
static constexpr char kGuardByte = 0x5a;

static size_t roundUp(size_t size, size_t to) {
  return (size + to - 1) / to * to;
}

Memory::~Memory() {
  for (auto &[start, allocation] : allocations)
    ::munmap(allocation.mapping, allocation.mappingSize);
}

char *Memory::allocate(size_t size, MemoryKind kind, uint8_t poison) {
  size_t inner = roundUp(std::max<size_t>(size, 1), kPage);
  size_t whole = inner + 2 * kPage;
  void *mapped = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  char *mapping = static_cast<char *>(mapped);
  ::mprotect(mapping, kPage, PROT_NONE);
  ::mprotect(mapping + kPage + inner, kPage, PROT_NONE);
  char *start = mapping + kPage + inner - roundUp(size, kAlignment);
  std::memset(mapping + kPage, kGuardByte, inner);
  std::memset(start, poison, size);
  allocations[start] = {size, kind, mapping, whole};
  return start;
}

Memory::Allocations::const_iterator Memory::at(const void *address) const {
  auto next = allocations.upper_bound(static_cast<const char *>(address));
  if (next == allocations.begin())
    return allocations.end();
  --next;
  size_t offset = size_t(static_cast<const char *>(address) - next->first);
  return offset < std::max<size_t>(next->second.size, 1) ? next
                                                         : allocations.end();
}

std::string Memory::release(const void *address, MemoryKind kind) {
  auto found = allocations.find(static_cast<const char *>(address));
  if (found == allocations.end() || found->second.kind != kind)
    return "memory is freed that is not allocated";
  std::string problem = checkGuard(found->first, found->second);
  ::munmap(found->second.mapping, found->second.mappingSize);
  allocations.erase(found);
  return problem;
}

bool Memory::contains(const void *address, size_t size, MemoryKind kind) const {
  auto found = at(address);
  return found != allocations.end() && found->second.kind == kind &&
         static_cast<const char *>(address) + size <=
             found->first + found->second.size;
}

bool Memory::find(const void *address, MemoryKind &kind) const {
  auto found = at(address);
  if (found == allocations.end())
    return false;
  kind = found->second.kind;
  return true;
}

std::string Memory::checkGuard(const char *start, const Allocation &of) {
  const char *first = of.mapping + kPage, *end = start + of.size;
  const char *last = of.mapping + of.mappingSize - kPage;
  auto changed = [](char byte) { return byte != kGuardByte; };
  if (!std::any_of(first, start, changed) && !std::any_of(end, last, changed))
    return {};
  return "memory beside an allocation of " + std::to_string(of.size) +
         " bytes was written";
}

std::string Memory::checkGuards() const {
  for (const auto &[start, allocation] : allocations)
    if (std::string problem = checkGuard(start, allocation); !problem.empty())
      return problem;
  return {};
}

size_t Memory::used(MemoryKind kind) const {
  size_t sum = 0;
  for (const auto &[start, allocation] : allocations)
    sum += allocation.kind == kind ? allocation.size : 0;
  return sum;
}

size_t Memory::count(MemoryKind kind) const {
  return std::count_if(
      allocations.begin(), allocations.end(),
      [&](const auto &entry) { return entry.second.kind == kind; });
}

} // namespace tinh::fake
