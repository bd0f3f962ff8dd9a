//===- CpuPrimitives.cpp - Primitives as work of the engine ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cpu/CpuPrimitives.h"

namespace tinh::eager {

namespace kernels {

#define TINH_FUNCTION(NAME, FUNCTION) FUNCTION,
static PrimitiveFunction *const kFunctions[] = {TINH_PRIMITIVES(TINH_FUNCTION)};
#undef TINH_FUNCTION

} // namespace kernels

void queueOnCpu(const Primitive &primitive) {
  if (primitive.output().numElements() != 0)
    kernels::kFunctions[primitive.kind()](primitive);
}

} // namespace tinh::eager
