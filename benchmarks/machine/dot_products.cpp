//===- dot_products.cpp - VNNI, bf16, tiles -------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions are compiled for what they measure, whatever the rest is compiled
// for, and called where the CPU has it.
//
//===----------------------------------------------------------------------===//
#include "figures.h"

#include <immintrin.h>

namespace machine {

namespace {

constexpr unsigned kChains512 = 24, kChains256 = 12;

__attribute__((target("avx512f,avx512vnni"))) void vnni_512(uint64_t count) {
  __m512i a = _mm512_set1_epi8(1), sum[kChains512] = {};
  for (uint64_t i = 0; i < count; ++i)
#pragma GCC unroll 32
    for (unsigned k = 0; k < kChains512; ++k) {
      sum[k] = _mm512_dpbusd_epi32(sum[k], a, a);
      asm volatile("" : "+v"(sum[k]));
    }
}

__attribute__((target("avx512f,avx512vnni"))) void
vnni_512_latency(uint64_t count) {
  __m512i a = _mm512_set1_epi8(1), sum = a;
  for (uint64_t i = 0; i < count; ++i) {
    sum = _mm512_dpbusd_epi32(sum, a, a);
    asm volatile("" : "+v"(sum));
  }
}

__attribute__((target("avx2,avxvnni"))) void vnni_256(uint64_t count) {
  __m256i a = _mm256_set1_epi8(1), sum[kChains256] = {};
  for (uint64_t i = 0; i < count; ++i)
#pragma GCC unroll 32
    for (unsigned k = 0; k < kChains256; ++k) {
      sum[k] = _mm256_dpbusd_avx_epi32(sum[k], a, a);
      asm volatile("" : "+x"(sum[k]));
    }
}

/// Where there is no VNNI: pairs of bytes to 16 bits, and pairs of these.
__attribute__((target("avx2"))) void bytes_256(uint64_t count) {
  __m256i a = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  __m256i sum[kChains256] = {};
  for (uint64_t i = 0; i < count; ++i)
#pragma GCC unroll 32
    for (unsigned k = 0; k < kChains256; ++k) {
      __m256i pairs = _mm256_maddubs_epi16(a, a);
      asm volatile("" : "+x"(pairs));
      sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(pairs, ones));
      asm volatile("" : "+x"(sum[k]));
    }
}

__attribute__((target("avx512f,avx512bf16"))) void bf16_512(uint64_t count) {
  __m512bh a = {};
  __m512 sum[kChains512] = {};
  for (uint64_t i = 0; i < count; ++i)
#pragma GCC unroll 32
    for (unsigned k = 0; k < kChains512; ++k) {
      sum[k] = _mm512_dpbf16_ps(sum[k], a, a);
      asm volatile("" : "+v"(sum[k]));
    }
}

__attribute__((target("avx512f,avx512bf16"))) void
bf16_512_latency(uint64_t count) {
  __m512bh a = {};
  __m512 sum = {};
  for (uint64_t i = 0; i < count; ++i) {
    sum = _mm512_dpbf16_ps(sum, a, a);
    asm volatile("" : "+v"(sum));
  }
}

/// How tiles are cut: all eight of 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t columns[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

__attribute__((target("amx-tile"))) void begin_tiles() {
  static const TileShapes shapes;
  _tile_loadconfig(&shapes);
  _tile_zero(4);
  _tile_zero(5);
}

__attribute__((target("amx-tile"))) void end_tiles() { _tile_release(); }

__attribute__((target("amx-tile,amx-int8"))) void tiles_int8(uint64_t count) {
  begin_tiles();
  for (uint64_t i = 0; i < count; ++i) {
    _tile_dpbusd(0, 4, 5);
    _tile_dpbusd(1, 4, 5);
    _tile_dpbusd(2, 4, 5);
    _tile_dpbusd(3, 4, 5);
  }
  end_tiles();
}

__attribute__((target("amx-tile,amx-bf16"))) void tiles_bf16(uint64_t count) {
  begin_tiles();
  for (uint64_t i = 0; i < count; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  end_tiles();
}

} // namespace

Figures dot_product_figures(const Effort &effort, const Cpu &cpu) {
  Figures figures;
  const uint64_t count = effort.times(20000);
  auto throughput = [&](const char *name, void (*loop)(uint64_t),
                        unsigned each) {
    Time time = measure(effort, [&] { loop(count); });
    figures.push_back(per_cycle(name, double(count) * each, time, "a cycle"));
  };
  auto latency = [&](const char *name, void (*loop)(uint64_t)) {
    Time time = measure(effort, [&] { loop(8 * count); });
    figures.push_back(cycles_each(name, double(8 * count), time));
  };
  if (cpu.avx2)
    throughput("bytes.256.throughput", bytes_256, kChains256);
  if (cpu.avx_vnni)
    throughput("vnni.256.throughput", vnni_256, kChains256);
  if (cpu.avx512_vnni) {
    throughput("vnni.512.throughput", vnni_512, kChains512);
    latency("vnni.512.latency", vnni_512_latency);
  }
  if (cpu.avx512_bf16) {
    throughput("bf16.512.throughput", bf16_512, kChains512);
    latency("bf16.512.latency", bf16_512_latency);
  }
  if (cpu.amx) {
    Time int8 = measure(effort, [&] { tiles_int8(count); });
    figures.push_back(cycles_each("amx.int8", double(count) * 4, int8));
    Time bf16 = measure(effort, [&] { tiles_bf16(count); });
    figures.push_back(cycles_each("amx.bf16", double(count) * 4, bf16));
  }
  return figures;
}

} // namespace machine
