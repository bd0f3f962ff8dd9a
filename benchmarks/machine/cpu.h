//===- cpu.h - What CPUID and the system say --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_BENCHMARKS_MACHINE_CPU_H
#define TINH_BENCHMARKS_MACHINE_CPU_H

#include "measure.h"

namespace machine {

struct Cpu {
  std::string vendor, name;
  unsigned family = 0, model = 0;
  /// With the system's leave to use the registers.
  bool avx2 = false, avx512 = false, avx512_vnni = false, avx512_bf16 = false,
       avx_vnni = false, amx = false;
  /// Of the first CPU, in bytes; 0 for what there is none of.
  size_t l1 = 0, l2 = 0, l3 = 0, line = 64;
};

Cpu describe_cpu();

/// The sizes, ways and line of its caches.
Figures cache_figures(const Cpu &cpu);

} // namespace machine

#endif // TINH_BENCHMARKS_MACHINE_CPU_H
