//===- CorePeaks.cpp - What a core of a CPU does at best --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/CorePeaks.h"

namespace tinh::cpu {

/// Two multiply-adds a cycle on whole vectors, two operations each: as many
/// units as most CPUs with AVX2 have. Those with AVX-512 have one or two for
/// vectors of 64 bytes, or take two cycles for one.
CorePeaks corePeaks(const Target &target) {
  constexpr double kUnits = 2, kOperations = 2;
  return {kUnits * kOperations * static_cast<double>(target.lanes()), 0};
}

} // namespace tinh::cpu
