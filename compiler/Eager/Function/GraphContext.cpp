//===- GraphContext.cpp - Where traced graphs live --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/GraphContext.h"

#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/Registration.h"
#include "tinh/runtime.hpp"

using namespace mlir;

namespace tinh::eager {

static DialectRegistry allDialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

GraphContext::GraphContext() : context(allDialects()) {
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      messages += "\n" + formatDiagnostic(diagnostic);
    return success();
  });
}

void GraphContext::fail(const std::string &what) {
  throw Error(TINH_INVALID_ARGUMENT, what + std::exchange(messages, ""));
}

} // namespace tinh::eager
