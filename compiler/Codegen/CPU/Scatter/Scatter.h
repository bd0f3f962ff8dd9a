//===- Scatter.h - Elements written where indices say -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `scatter`: a kernel that combines elements of a tensor with
// updates whose positions are computed. It goes through the updates in order,
// so that the outcome does not depend on chance where they meet; chunks share
// the dimensions of the tensor that positions are not for.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SCATTER_SCATTER_H
#define TINH_CODEGEN_CPU_SCATTER_SCATTER_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Scatter.h"

namespace tinh::cpu {

/// How a scatter is cut: what its plan says, and what follows from it.
struct ScatterPlan : Division {
  int64_t blockSize; // Elements of the last dimension.
  int64_t unitsPerChunk;

  int64_t blocks = 1, units;
};

struct ScatterStrategy : Functions<Scatter, ScatterPlanAttr, ScatterPlan> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SCATTER_SCATTER_H
