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
  nodes[(op->getName().getStringRef() + ": " + why).str()].push_back(
      node.str());
}

LogicalResult Refusals::report(ModuleOp module, StringRef format) const {
  if (empty())
    return success();
  size_t count = 0;
  for (const auto &entry : nodes)
    count += entry.second.size();
  InFlightDiagnostic error = module.emitError();
  error << "the model has " << count << (count == 1 ? " op" : " ops")
        << " that " << format << " cannot express:";
  constexpr size_t kShown = 10;
  for (const auto &[what, names] : nodes) {
    error << "\n  " << what << "; " << names.size()
          << (names.size() == 1 ? " node: " : " nodes: ");
    for (size_t i = 0; i < names.size() && i < kShown; ++i)
      error << (i ? ", \"" : "\"") << names[i] << "\"";
    if (names.size() > kShown)
      error << " and " << names.size() - kShown << " more";
  }
  return error;
}

} // namespace tinh
