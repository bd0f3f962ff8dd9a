//===- Reduction.h - The smallest model that still shows it -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Delta debugging of models: parts are left out of one as long as what is
// looked for, a crash or a wrong result, is still there. Values that nothing
// computes any more become inputs.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_REDUCTION_REDUCTION_H
#define TINH_COMPILER_REDUCTION_REDUCTION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>

namespace tinh::reduction {

/// Whether a candidate, a valid module in phase graph, shows what is looked
/// for. It must leave the candidate as it is. Failure ends the reduction, after
/// a diagnostic.
using IsInteresting =
    std::function<llvm::FailureOr<bool>(mlir::ModuleOp candidate)>;

struct ReduceReport {
  size_t opsBefore = 0, ops = 0; ///< Those that are no constants.
  size_t tested = 0;             ///< Candidates, without the model itself.
};

struct ReduceOptions {
  /// The folder that the module's references to files start from.
  std::string modelDirectory;
  /// Told how far it is after each test; may be empty.
  std::function<void(const ReduceReport &)> progress;
};

/// A smaller model that `isInteresting` holds for, as it does for `module`,
/// which is in phase graph and has the function @main alone. An input that a
/// value has become is called as compiler/Export/GraphNames.h calls that value
/// in `module`; its shape may be smaller. Null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> reduce(mlir::ModuleOp module,
                                         const IsInteresting &isInteresting,
                                         const ReduceOptions &options,
                                         ReduceReport &report);

} // namespace tinh::reduction

#endif // TINH_COMPILER_REDUCTION_REDUCTION_H
