//===- Refusals.cpp - Ops that a format cannot express ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Refusals.h"

using namespace mlir;

namespace tinh {

void Refusals::add(Operation *op, StringRef node, const Twine &why) {
  nodes[(op->getName().getStringRef() + " (" + why + ")").str()].push_back(
      node.str());
}

LogicalResult Refusals::report(ModuleOp module, StringRef format) const {
  if (empty())
    return success();
  size_t count = countNodes(nodes);
  return module.emitError()
         << "the model has " << count << (count == 1 ? " op" : " ops")
         << " that " << format << " cannot express:" << listNodes(nodes);
}

} // namespace tinh
