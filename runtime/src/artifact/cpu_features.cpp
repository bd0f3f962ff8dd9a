//===- cpu_features.cpp - What the machine's CPU can do ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads CPUID and XCR0: a feature counts only if the operating system saves its
// registers.
//
//===----------------------------------------------------------------------===//
#include "artifact/cpu_features.h"

#include "shared/amx.h"
#include "tinh/artifact.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tinh::runtime {

#if defined(__x86_64__)

namespace {

struct CpuidLeaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// One feature: its bit in a register of CPUID and what XCR0 must have.
struct FeatureBit {
  uint64_t feature;
  unsigned leaf; // 1 is leaf 1, 7 is leaf 7.0, 71 is leaf 7.1
  char reg;      // 'b', 'c', 'd' or 'a'
  unsigned bit;
  uint64_t xcr0;
};

constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTile = 0x60000;

constexpr FeatureBit kFeatureBits[] = {
    {TINH_CPU_FMA, 1, 'c', 12, kYmm},
    {TINH_CPU_F16C, 1, 'c', 29, kYmm},
    {TINH_CPU_AVX2, 7, 'b', 5, kYmm},
    {TINH_CPU_BMI2, 7, 'b', 8, 0},
    {TINH_CPU_AVX512F, 7, 'b', 16, kZmm},
    {TINH_CPU_AVX512DQ, 7, 'b', 17, kZmm},
    {TINH_CPU_AVX512CD, 7, 'b', 28, kZmm},
    {TINH_CPU_AVX512BW, 7, 'b', 30, kZmm},
    {TINH_CPU_AVX512VL, 7, 'b', 31, kZmm},
    {TINH_CPU_AVX512VNNI, 7, 'c', 11, kZmm},
    {TINH_CPU_AMX_BF16, 7, 'd', 22, kTile},
    {TINH_CPU_AVX512FP16, 7, 'd', 23, kZmm},
    {TINH_CPU_AMX_TILE, 7, 'd', 24, kTile},
    {TINH_CPU_AMX_INT8, 7, 'd', 25, kTile},
    {TINH_CPU_AVXVNNI, 71, 'a', 4, kYmm},
    {TINH_CPU_AVX512BF16, 71, 'a', 5, kZmm},
};

constexpr uint64_t kAmx =
    TINH_CPU_AMX_TILE | TINH_CPU_AMX_BF16 | TINH_CPU_AMX_INT8;

} // namespace

static uint64_t read_xcr0() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

uint64_t detect_cpu_features(uint64_t wanted) {
  CpuidLeaf leaf1, leaf7, leaf71;
  if (!__get_cpuid(1, &leaf1.eax, &leaf1.ebx, &leaf1.ecx, &leaf1.edx))
    return 0;
  if (__get_cpuid_count(7, 0, &leaf7.eax, &leaf7.ebx, &leaf7.ecx, &leaf7.edx) &&
      leaf7.eax >= 1)
    __get_cpuid_count(7, 1, &leaf71.eax, &leaf71.ebx, &leaf71.ecx, &leaf71.edx);
  constexpr unsigned kOsXsave = 1u << 27;
  uint64_t xcr0 = leaf1.ecx & kOsXsave ? read_xcr0() : 0;

  uint64_t features = 0;
  for (const FeatureBit &entry : kFeatureBits) {
    const CpuidLeaf &leaf = entry.leaf == 1   ? leaf1
                            : entry.leaf == 7 ? leaf7
                                              : leaf71;
    unsigned value = entry.reg == 'a'   ? leaf.eax
                     : entry.reg == 'b' ? leaf.ebx
                     : entry.reg == 'c' ? leaf.ecx
                                        : leaf.edx;
    if ((value >> entry.bit & 1) && (xcr0 & entry.xcr0) == entry.xcr0)
      features |= entry.feature;
  }
  if ((features & kAmx) && (!(wanted & kAmx) || !request_amx()))
    features &= ~kAmx;
  return features;
}

#else

uint64_t detect_cpu_features(uint64_t) { return 0; }

#endif

std::string cpu_feature_names(uint64_t features) {
  static const char *const names[] = {
      "avx2",     "fma",        "f16c",       "bmi2",
      "avx512f",  "avx512bw",   "avx512cd",   "avx512dq",
      "avx512vl", "avx512vnni", "avx512bf16", "avx512fp16",
      "avxvnni",  "amx-tile",   "amx-bf16",   "amx-int8"};
  std::string text;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(features >> bit & 1))
      continue;
    if (!text.empty())
      text += ", ";
    text += bit < std::size(names) ? names[bit] : "bit " + std::to_string(bit);
  }
  return text;
}

} // namespace tinh::runtime
