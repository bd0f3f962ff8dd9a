//===- Refusals.h - Ops that a format cannot express ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_EXPORT_REFUSALS_H
#define TINH_COMPILER_EXPORT_REFUSALS_H

#include "compiler/Import/NodesByOp.h"

#include "mlir/IR/BuiltinOps.h"

namespace tinh {

/// Collects what is refused, so that a user sees all of it at once.
class Refusals {
public:
  /// `why` is said of all nodes of this op that have the same one.
  void add(mlir::Operation *op, llvm::StringRef node, const llvm::Twine &why);
  bool empty() const { return nodes.empty(); }
  /// Emits an error with each op, why, how many nodes have it, and their names.
  mlir::LogicalResult report(mlir::ModuleOp module,
                             llvm::StringRef format) const;

private:
  NodesByOp nodes;
};

} // namespace tinh

#endif // TINH_COMPILER_EXPORT_REFUSALS_H
