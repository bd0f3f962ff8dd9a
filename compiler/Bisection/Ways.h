//===- Ways.h - Runs of a function ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_BISECTION_WAYS_H
#define TINH_COMPILER_BISECTION_WAYS_H

#include "compiler/Bisection/Prefix.h"
#include "compiler/Pipelines/Compile.h"

namespace tinh::bisection {

/// How functions are compiled and run.
struct RunOptions {
  const CompileOptions &compile;
  uint32_t threads;
};

/// A kernel of an artifact, and the model's nodes that it computes.
struct Kernel {
  std::string name;
  llvm::SmallVector<std::string> nodes;
};

/// What a run gives.
struct Run {
  /// The function's results, those of variables among them.
  std::vector<reference::Tensor> results;
  std::vector<Kernel> kernels; ///< In the order of its steps.
};

/// Compiles a module, which is in `phase` and which that changes, and runs the
/// function `name` on its arguments in `data`; variables begin with their
/// initial values. Fails after a diagnostic.
mlir::FailureOr<Run> runCompiled(mlir::ModuleOp module, Phase phase,
                                 llvm::StringRef name, const Data &data,
                                 const RunOptions &options);

/// The same op by op, for a module with @main alone and no variables.
mlir::FailureOr<Run> runEager(mlir::ModuleOp module, Phase phase,
                              const Data &data, const RunOptions &options);

/// The options for a part of the model in phase graph: patterns of what is kept
/// in f32 that fit nothing there, which is an error, are left out.
CompileOptions optionsOfPart(mlir::ModuleOp part,
                             const CompileOptions &options);

} // namespace tinh::bisection

#endif // TINH_COMPILER_BISECTION_WAYS_H
