//===- CheckDialect.cpp - Functions that passes can change ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/CheckDialect.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

LogicalResult checkDialect(func::FuncOp function) {
  WalkResult walk = function.getBody().walk([&](Operation *op) {
    if (isa<func::ReturnOp>(op) ||
        isa_and_present<graph::GraphDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitError() << "'" << op->getName()
                    << "' is no op of the graph dialect, as this pass needs";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

} // namespace tinh::transforms
