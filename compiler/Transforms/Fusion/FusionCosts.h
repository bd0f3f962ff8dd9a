//===- FusionCosts.h - What may be fused ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits that form-kernels decides by; what an op costs, it says itself
// (dialects/graph/OpFacts.h).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_FUSION_FUSIONCOSTS_H
#define TINH_COMPILER_TRANSFORMS_FUSION_FUSIONCOSTS_H

#include <cstdint>

namespace tinh::transforms {

struct FusionCosts {
  /// The most ops in a kernel: code size, and registers for operands.
  int64_t maxOps = 40;
  /// The most arithmetic per element that may be repeated where an op is
  /// computed again for each time that its result is read.
  int64_t cheap = 4;
};

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_FUSION_FUSIONCOSTS_H
