//===- InFlight.cpp - Collectives without an end so far -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/plan/InFlight.h"

using namespace mlir;

namespace tinh::plan {

LogicalResult InFlight::add(Operation &step, bool nested, Conflict conflict) {
  if (isa<StartOp, AwaitOp>(step) && nested)
    return step.emitOpError("stands in a branch or a loop; all ranks have to "
                            "run it, once");
  if (auto await = dyn_cast<AwaitOp>(step)) {
    auto *own = llvm::find(started, await.getStarted());
    if (own == started.end())
      return await.emitOpError(
          "waits for a collective that is not started, or was waited for");
    started.erase(own);
  }
  for (StartOp other : started)
    if (auto found = conflict(other)) {
      auto [own, theirs] = *found;
      InFlightDiagnostic error = step.emitOpError()
                                 << "accesses " << toString(own)
                                 << " before the plan.await of a collective "
                                    "that accesses "
                                 << toString(theirs) << ", one of them writing";
      error.attachNote(other.getLoc()) << "it starts here";
      return error;
    }
  if (auto start = dyn_cast<StartOp>(step))
    started.push_back(start);
  return success();
}

LogicalResult InFlight::verifyEnd() {
  if (started.empty())
    return success();
  return started.back().emitOpError("has no plan.await");
}

} // namespace tinh::plan
