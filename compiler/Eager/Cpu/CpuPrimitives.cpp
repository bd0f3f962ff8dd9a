//===- CpuPrimitives.cpp - Primitives as work of the engine ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cpu/CpuPrimitives.h"

#include <iterator>

namespace tinh::eager {

namespace kernels {

/// By kind, in the order of primitives::Attributes.
static PrimitiveFunction *const kFunctions[] = {elementwise,
                                                cast,
                                                reduce,
                                                argReduce,
                                                cumulative,
                                                matmul,
                                                conv,
                                                convWeightGradient,
                                                pool,
                                                maxPoolGradient,
                                                softmax,
                                                layerNorm,
                                                concat,
                                                pad,
                                                flip,
                                                gather,
                                                gatherElements,
                                                gatherNd,
                                                scatterElements,
                                                scatterNd,
                                                sort,
                                                iota,
                                                random};
static_assert(std::size(kFunctions) == primitives::kNumKinds);

} // namespace kernels

void queueOnCpu(const Primitive &primitive) {
  if (primitive.output().numElements() != 0)
    kernels::kFunctions[primitive.kind()](primitive);
}

} // namespace tinh::eager
