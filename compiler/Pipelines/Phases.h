//===- Phases.h - The order of passes, phase by phase -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_PHASES_H
#define TINH_PIPELINES_PHASES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tinh {

/// The forms that a model goes through; docs/architecture.md says what holds in
/// each.
enum class Phase { Graph, Normalised, Optimised, Fused, Kernels };

/// "graph", "normalised", …
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

struct PhaseOptions {
  /// Put ops into kernels together; off: one kernel an op.
  bool fuse = true;
  /// Say as remarks why ops were fused or not.
  bool remarks = false;
};

/// Takes `module` from phase `from` to phase `to`.
mlir::LogicalResult runPhases(mlir::ModuleOp module, Phase from, Phase to,
                              const PhaseOptions &options);

} // namespace tinh

#endif // TINH_PIPELINES_PHASES_H
