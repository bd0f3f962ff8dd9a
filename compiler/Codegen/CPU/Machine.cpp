//===- Machine.cpp - What a core can do -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Machine.h"

#include <algorithm>
#include <iterator>

namespace tinh::cpu {

constexpr int64_t KiB = 1 << 10, MiB = 1 << 20;

// Sources. [AMD3] Software Optimization Guide for the AMD Family 19h
// Processors, 56665: sections 2.6 (caches), 2.11 (floating point) and 2.12
// (loads, stores). [AMD4] Software Optimization Guide for the AMD Zen4
// Microarchitecture, 57647: sections 2.6 (caches), 2.10 (floating point) and
// 2.12 (loads, stores). [AMD5] the same for Zen5, 58455. [INTEL] Intel 64 and
// IA-32 Architectures Optimization Reference Manual, 248966: chapters 2.1
// (Sapphire Rapids), 2.6 (Skylake server) and 20 (AMX: a product of two tiles
// of 16 rows every 16 cycles). Dot products of bytes go through the units of
// FMAs
// ([AMD4] 2.10, [INTEL] 2.6); those of bf16 on AMD, and on Intel at a quarter
// of the FMAs' rate. Both were measured, by `benchmarks/machine` on Zen 4 and
// Zen 5, on Sapphire Rapids as 107 GFLOP/s beside 214 of f32. Bandwidths beyond
// the first level are what `benchmarks/machine` printed, or guesses where that
// has not run, which says so beside the machine.

/// Any CPU with AVX2 and FMA: two units of each since Haswell and Zen 2.
/// Caches as of a small core; not measured.
static const Machine kAvx2{.name = "avx2",
                           .vectorBytes = 32,
                           .vectorRegisters = 16,
                           .l1 = {32 * KiB, 64},
                           .l2 = {256 * KiB, 24},
                           .l3 = {2 * MiB, 12},
                           .barrierCycles = 400};

/// [INTEL] 2.6; bandwidths beyond L1 not measured.
static const Machine kSkylakeX{.name = "skylake-avx512",
                               .l1 = {32 * KiB, 128},
                               .l2 = {1 * MiB, 36},
                               .l3 = {1408 * KiB, 8},
                               .barrierCycles = 500};

/// [INTEL] 2.1; bandwidths beyond L1 and the barrier as
/// docs/benchmarks/machine.md has them of a later CPU with the same core; of
/// the last level a core has its share of a Sapphire Rapids.
static const Machine kSapphireRapids{.name = "sapphirerapids",
                                     .l1 = {48 * KiB, 128},
                                     .l2 = {2 * MiB, 49.5},
                                     .l3 = {1920 * KiB, 7},
                                     .memory = {0, 4.5},
                                     .l1Ways = 12,
                                     .barrierCycles = 850};

/// [AMD3]: two FMAs and two loads of 256 bits a cycle, one store; 32 bytes a
/// cycle between the levels. What the last one gives, memory and the barrier
/// were not measured; of the last level a core has its share of 32 MiB.
static const Machine kZen3{.name = "znver3",
                           .vectorBytes = 32,
                           .vectorRegisters = 16,
                           .l1 = {32 * KiB, 64},
                           .l2 = {512 * KiB, 32},
                           .l3 = {4 * MiB, 20},
                           .barrierCycles = 400};

/// [AMD4]: vectors of 512 bits go through twice; a store of them takes two
/// cycles. Bandwidths, latencies and the barrier as docs/benchmarks/machine.md
/// has them; of the last level a core has its share of 32 MiB.
static const Machine kZen4{.name = "znver4",
                           .fmasPerCycle = 1,
                           .bf16DotsPerCycle = 1,
                           .loadsPerCycle = 1,
                           .storesPerCycle = 0.5,
                           .l1 = {32 * KiB, 56},
                           .l2 = {1 * MiB, 32},
                           .l3 = {4 * MiB, 26.8},
                           .memory = {0, 7.9},
                           .barrierCycles = 170};

/// [AMD5]: two units of 512 bits. Bandwidths beyond L1 not measured.
static const Machine kZen5{.name = "znver5",
                           .bf16DotsPerCycle = 2,
                           .l1 = {48 * KiB, 128},
                           .l2 = {1 * MiB, 64},
                           .l3 = {4 * MiB, 24},
                           .memory = {0, 8},
                           .l1Ways = 12,
                           .barrierCycles = 500};

const Machine &machineFor(std::string_view cpu, int64_t vectorBytes) {
  if (cpu == "znver3" && vectorBytes == 32)
    return kZen3;
  if (cpu == "znver4")
    return kZen4;
  if (cpu.starts_with("znver") && vectorBytes == 64)
    return kZen5;
  constexpr std::string_view kSunnyCoves[] = {
      "skylake-avx512", "cascadelake",    "cooperlake", "cannonlake",
      "icelake-client", "icelake-server", "tigerlake",  "rocketlake"};
  if (vectorBytes == 64 &&
      std::ranges::find(kSunnyCoves, cpu) != std::end(kSunnyCoves))
    return kSkylakeX;
  return vectorBytes == 64 ? kSapphireRapids : kAvx2;
}

double Machine::readCycles(double bytes, double footprint) const {
  for (const MemoryLevel &level : {l1, l2, l3})
    if (footprint <= level.bytes)
      return bytes / level.bytesPerCycle;
  return bytes / memory.bytesPerCycle;
}

} // namespace tinh::cpu
