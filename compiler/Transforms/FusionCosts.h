//===- FusionCosts.h - What fusing an op costs ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that form-kernels decides by, all in one place.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_FUSIONCOSTS_H
#define TINH_COMPILER_TRANSFORMS_FUSIONCOSTS_H

#include "dialects/graph/Graph.h"

namespace tinh::transforms {

struct FusionCosts {
  /// The most ops in a kernel: code size, and registers for operands.
  int64_t maxOps = 40;
  /// The most arithmetic per element that may be repeated where an op is
  /// computed again for each time that its result is read.
  int64_t cheap = 4;

  /// Roughly the vector instructions for an element of the op's result.
  static int64_t perElement(mlir::Operation *op) {
    using namespace graph;
    if (mlir::isa<ExpOp, LogOp, ErfOp, TanhOp, SigmoidOp, SoftplusOp, SinOp,
                  CosOp, TanOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp, AsinhOp,
                  AcoshOp, AtanhOp, GeluOp, PowOp, ModOp, FmodOp>(op))
      return 20;
    if (mlir::isa<DivOp, SqrtOp, RsqrtOp, ReciprocalOp>(op))
      return 5;
    return 1;
  }
};

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_FUSIONCOSTS_H
