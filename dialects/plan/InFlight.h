//===- InFlight.h - Collectives without an end so far -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PLAN_INFLIGHT_H
#define TINH_PLAN_INFLIGHT_H

#include "dialects/plan/Plan.h"

namespace tinh::plan {

/// Collectives that have started, and not ended, before a step.
class InFlight {
public:
  /// What a step and a collective access, one of the two writing; nothing if
  /// they do not meet.
  using Conflict =
      llvm::function_ref<std::optional<std::pair<BufferAttr, BufferAttr>>(
          StartOp)>;

  /// Whether the step accesses nothing that one is about to write, and writes
  /// nothing that one reads. What starts or ends one is not `nested` in a
  /// branch or loop.
  mlir::LogicalResult add(mlir::Operation &step, bool nested,
                          Conflict conflict);
  /// Whether all have ended.
  mlir::LogicalResult verifyEnd();

private:
  llvm::SmallVector<StartOp> started;
};

} // namespace tinh::plan

#endif // TINH_PLAN_INFLIGHT_H
