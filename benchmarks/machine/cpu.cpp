//===- cpu.cpp - CPUID ----------------------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cpu.h"

#include <cpuid.h>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace machine {

namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(unsigned value, unsigned index) { return value >> index & 1; }

/// Which registers the system saves, and so lets programs use.
uint64_t enabled_states() {
  if (!bit(cpuid(1).ecx, 27))
    return 0;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Linux gives a process tiles when it asks for them.
bool tiles_granted() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

void read_features(Cpu &cpu) {
  Registers basic = cpuid(1), extended = cpuid(7), more = cpuid(7, 1);
  uint64_t states = enabled_states();
  bool ymm = (states & 0x6) == 0x6, zmm = (states & 0xe6) == 0xe6;
  bool tiles = (states & 0x60000) == 0x60000;
  cpu.avx2 = ymm && bit(extended.ebx, 5) && bit(basic.ecx, 12);
  cpu.avx512 = zmm && bit(extended.ebx, 16) && bit(extended.ebx, 30);
  cpu.avx512_vnni = cpu.avx512 && bit(extended.ecx, 11);
  cpu.avx512_bf16 = cpu.avx512 && bit(more.eax, 5);
  cpu.avx_vnni = cpu.avx2 && bit(more.eax, 4);
  cpu.amx = tiles && bit(extended.edx, 24) && bit(extended.edx, 25) &&
            bit(extended.edx, 22) && tiles_granted();
}

/// The leaf that lists caches, which AMD has given a number of its own.
unsigned cache_leaf(const Cpu &cpu) {
  return cpu.vendor == "AuthenticAMD" ? 0x8000001d : 4;
}

/// The caches in order: level, whether of data, size, ways, line.
struct Cache {
  unsigned level, line, ways, sets;
  bool data;
  size_t size() const { return size_t(line) * ways * sets; }
};

std::vector<Cache> list_caches(const Cpu &cpu) {
  std::vector<Cache> caches;
  for (unsigned index = 0; index < 16; ++index) {
    Registers r = cpuid(cache_leaf(cpu), index);
    unsigned type = r.eax & 31;
    if (type == 0)
      break;
    unsigned partitions = (r.ebx >> 12 & 0x3ff) + 1;
    caches.push_back({r.eax >> 5 & 7, (r.ebx & 0xfff) + 1,
                      ((r.ebx >> 22) + 1) * partitions, r.ecx + 1, type != 2});
  }
  return caches;
}

std::string brand() {
  std::string name;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    Registers r = cpuid(leaf);
    char text[16];
    std::memcpy(text, &r, sizeof text);
    name.append(text, sizeof text);
  }
  name.resize(std::strlen(name.c_str()));
  while (!name.empty() && name.back() == ' ')
    name.pop_back();
  return name;
}

} // namespace

Cpu describe_cpu() {
  Cpu cpu;
  Registers vendor = cpuid(0), version = cpuid(1);
  char text[12];
  std::memcpy(text, &vendor.ebx, 4);
  std::memcpy(text + 4, &vendor.edx, 4);
  std::memcpy(text + 8, &vendor.ecx, 4);
  cpu.vendor.assign(text, sizeof text);
  cpu.name = brand();
  unsigned family = version.eax >> 8 & 15;
  cpu.family = family + (family == 15 ? version.eax >> 20 & 255 : 0);
  cpu.model = version.eax >> 4 & 15;
  if (family == 6 || family == 15)
    cpu.model += (version.eax >> 16 & 15) << 4;
  read_features(cpu);
  for (const Cache &cache : list_caches(cpu))
    if (cache.data)
      (cache.level == 1   ? cpu.l1
       : cache.level == 2 ? cpu.l2
                          : cpu.l3) = cache.size();
  // What hides CPUID may still let the system know.
  auto system = [](size_t &size, int name) {
    long value = size ? 0 : sysconf(name);
    size = value > 0 ? size_t(value) : size;
  };
  system(cpu.l1, _SC_LEVEL1_DCACHE_SIZE);
  system(cpu.l2, _SC_LEVEL2_CACHE_SIZE);
  system(cpu.l3, _SC_LEVEL3_CACHE_SIZE);
  return cpu;
}

Figures cache_figures(const Cpu &cpu) {
  Figures figures;
  for (const Cache &cache : list_caches(cpu)) {
    if (!cache.data)
      continue;
    std::string level = "l" + std::to_string(cache.level);
    figures.push_back(known(level + ".size", double(cache.size()), "bytes"));
    figures.push_back(known(level + ".ways", cache.ways, "ways"));
    figures.push_back(known(level + ".line", cache.line, "bytes"));
  }
  return figures;
}

} // namespace machine
