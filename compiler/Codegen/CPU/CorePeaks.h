//===- CorePeaks.h - What a core of a CPU does at best ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_COREPEAKS_H
#define TINH_CODEGEN_CPU_COREPEAKS_H

#include "compiler/Codegen/CPU/Target.h"

namespace tinh::cpu {

/// In a cycle of one core; 0: that is not known.
struct CorePeaks {
  double operations = 0; // Additions and multiplications of f32.
  double bytes = 0;      // From memory.
};

/// Those of `target`, which artifacts carry for profiles.
CorePeaks corePeaks(const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_COREPEAKS_H
