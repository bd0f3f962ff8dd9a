//===- OpFacts.cpp - What each op says of itself --------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpFacts.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace tinh::graph {

namespace table {
using enum FusionRole;
using enum PrecisionClass;
#define GET_OpFactsTable_IMPL
#include "dialects/graph/GraphFacts.inc"
} // namespace table

ArrayRef<OpFacts> allFacts() { return table::OpFactsTable; }

const OpFacts *findFacts(OperationName op) {
  static const llvm::StringMap<const OpFacts *> byName = [] {
    llvm::StringMap<const OpFacts *> map;
    for (const OpFacts &facts : allFacts())
      map[facts.name] = &facts;
    return map;
  }();
  if (op.getDialectNamespace() != GraphDialect::getDialectNamespace())
    return nullptr;
  return byName.lookup(op.stripDialect());
}

const OpFacts &factsOf(Operation *op) {
  if (const OpFacts *facts = findFacts(op->getName()))
    return *facts;
  llvm::reportFatalInternalError("no op of the graph dialect: " +
                                 op->getName().getStringRef());
}

bool hasRole(Operation *op, FusionRole role) {
  const OpFacts *facts = findFacts(op->getName());
  return facts && facts->fusionRole == role;
}

} // namespace tinh::graph
