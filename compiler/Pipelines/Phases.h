//===- Phases.h - The order of passes, phase by phase -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_PHASES_H
#define TINH_PIPELINES_PHASES_H

#include "compiler/Planning/Buckets.h"
#include "compiler/Support/Interruption.h"
#include "compiler/Transforms/Passes.h"
#include "tinh/compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tinh {

/// The forms that a model goes through; docs/architecture.md says what holds in
/// each. Up to LLVM they are IR.
enum class Phase {
  Graph,
  Normalised,
  Differentiated,
  Optimised,
  Fused,
  Kernels,
  Plan,
  LLVM,
  Ptx,
  Object,
  Library
};

/// "graph", "normalised", … "llvm", "obj", "so".
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// "graph, normalised, … or LAST", for messages.
std::string phaseNames(Phase last);

/// What makes a model one that is trained (compiler/Training).
struct TrainingSteps {
  /// In phase graph: makes weights variables.
  std::function<mlir::LogicalResult(mlir::ModuleOp)> declareVariables;
  /// In phase normalised: what its products are to compute in.
  std::function<mlir::FailureOr<transforms::Precision>(
      mlir::ModuleOp, transforms::Precision asked)>
      precision;
  /// In phase normalised, with products in that precision: makes the functions
  /// of training of @main.
  std::function<mlir::LogicalResult(mlir::ModuleOp,
                                    const transforms::Precision &)>
      differentiate;
  /// The options of graph-compile that say so.
  std::vector<std::string> commandLine;
};

/// What an arena and the variables may take together.
struct MemoryBudget {
  uint64_t bytes = 0;
  /// If it is not 0: of what the largest function takes without a budget.
  double share = 0;
  std::string text; ///< As the user has written it.
};

struct PhaseOptions {
  /// The folder that the model's references to files start from.
  std::string modelDirectory;
  /// Empty: the model is only run.
  std::optional<TrainingSteps> training;
  /// What products compute in; of a model that is trained, what it leaves open
  /// is what its file says.
  transforms::Precision precision;
  /// Makes another one of the model in phase normalised, as quantising it does,
  /// before its precision is set; may be empty.
  std::function<mlir::LogicalResult(mlir::ModuleOp)> quantize;
  /// Compute values again where a function would take more.
  std::optional<MemoryBudget> memoryBudget;
  /// Put ops into kernels together; off: one kernel an op.
  bool fuse = true;
  /// Store variables as their types say, so that programs can give memory for
  /// them, and not as the products want them that read them.
  bool plainVariables = false;
  /// Which of Winograd's algorithms convolutions with 3 × 3 kernels may take on
  /// CPUs: off, accurate or fast.
  std::string winograd = "accurate";
  /// How exact exp, log and the like are on CPUs: accurate or fast
  /// (docs/math.md).
  std::string math = "accurate";
  /// Gives kernels in phase kernels other plans than those that are estimated
  /// to cost least; may be empty.
  std::function<mlir::LogicalResult(mlir::ModuleOp)> choosePlans;
  /// Between the ranks of what is trained data parallel.
  planning::Network network;
  /// Say as remarks why ops were fused or not.
  bool remarks = false;
  /// Threads that compile kernels; 0: as many as there are CPUs.
  unsigned jobs = 0;
  /// Told the module, and the phase that it is in, before each phase that it is
  /// taken to; may be empty.
  std::function<void(mlir::ModuleOp, Phase)> before;
  /// Ends the work between two steps; may be null.
  Interruption *interruption = nullptr;
};

/// Takes `module` from phase `from`, which verifyPhase has checked, to phase
/// `to`, both up to LLVM, and checks what holds after each phase.
mlir::LogicalResult runPhases(mlir::ModuleOp module, Phase from, Phase to,
                              const PhaseOptions &options,
                              CompileReport &report);

/// Whether what docs/architecture.md says of `phase` holds for `module`;
/// reports what does not.
mlir::LogicalResult verifyPhase(mlir::ModuleOp module, Phase phase);

} // namespace tinh

#endif // TINH_PIPELINES_PHASES_H
