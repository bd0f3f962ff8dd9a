//===- GraphContext.h - Where traced graphs live ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_GRAPHCONTEXT_H
#define TINH_EAGER_FUNCTION_GRAPHCONTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace tinh::eager {

/// An MLIR context that collects what is said in it.
class GraphContext {
public:
  GraphContext();

  mlir::MLIRContext *get() { return &context; }
  /// Throws a tinh::Error with the messages so far, after `what`.
  [[noreturn]] void fail(const std::string &what);

private:
  mlir::MLIRContext context;
  std::string messages;
};

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_GRAPHCONTEXT_H
