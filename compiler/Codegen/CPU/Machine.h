//===- Machine.h - What a core can do ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs of plans are estimated in cycles of one core from these numbers. Each
// has its source in Machine.cpp: a manual, or what `benchmarks/machine` prints.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_MACHINE_H
#define TINH_CODEGEN_CPU_MACHINE_H

#include <cstdint>
#include <string_view>

namespace tinh::cpu {

/// A level of the memory hierarchy, as one core sees it.
struct MemoryLevel {
  int64_t bytes;        // Of its share; 0 for memory itself.
  double bytesPerCycle; // That it reads from there, in order.
};

/// Unless a machine says otherwise, it has AVX-512 with two units.
struct Machine {
  std::string_view name;
  // In the widest vectors that kernels use.
  int64_t vectorBytes = 64, vectorRegisters = 32;
  double fmasPerCycle = 2;
  /// Sums of products of pairs of bf16 (vdpbf16ps).
  double bf16DotsPerCycle = 0.5;
  int64_t fmaLatency = 4; // Cycles.
  double loadsPerCycle = 2, storesPerCycle = 1;
  /// With AMX, rows of 64 bytes that are multiplied by a tile of 16 columns.
  double tileRowsPerCycle = 1;
  MemoryLevel l1, l2, l3, memory = {0, 4};
  /// Lines whose addresses differ by a multiple of this share a set of the
  /// first level, which has so many ways.
  int64_t aliasBytes = 4096, l1Ways = 8;
  /// Cycles from one core's last store of a step to another's first load.
  double barrierCycles;

  /// Additions and multiplications of f32.
  double operationsPerCycle() const {
    return 2 * fmasPerCycle * (vectorBytes / 4);
  }
  /// Cycles to read `bytes` once that lie in as much memory, or more.
  double readCycles(double bytes, double footprint) const;
};

/// The machine that LLVM calls `cpu`, or one that has the same vectors.
const Machine &machineFor(std::string_view cpu, int64_t vectorBytes);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_MACHINE_H
