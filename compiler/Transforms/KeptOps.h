//===- KeptOps.h - What stays in f32 by its name ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_KEPTOPS_H
#define TINH_COMPILER_TRANSFORMS_KEPTOPS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/GlobPattern.h"

#include <string>

namespace tinh::transforms {

/// Ops that stay in f32 because a pattern fits their name, or that of a node of
/// the model which they compute. `texts` have to outlive it.
class KeptOps {
public:
  /// Fails, with a message, if one is no pattern.
  llvm::LogicalResult parse(mlir::ModuleOp module,
                            llvm::ArrayRef<std::string> texts);
  bool contains(mlir::Operation *op);
  /// Whether each pattern has fitted an op; says which has not.
  llvm::LogicalResult checkUse(mlir::ModuleOp module) const;

private:
  struct Pattern {
    llvm::StringRef text;
    llvm::GlobPattern glob;
    bool fitsSome = false;
  };
  llvm::SmallVector<Pattern> patterns;
};

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_KEPTOPS_H
