//===- Compile.h - From a model to an artifact ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_COMPILE_H
#define TINH_PIPELINES_COMPILE_H

#include "compiler/Artifact/Artifact.h"
#include "compiler/Pipelines/Phases.h"
#include "tinh/compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tinh {

class KernelCache;

struct CompileOptions {
  /// The CPU: native, x86-64-v3, x86-64-v4 or a name of LLVM's.
  std::string cpu = "native";
  /// The model's name, kept in the artifact, and the folder that its references
  /// to files start from.
  std::string modelName, modelDirectory;
  PhaseOptions phases;
  /// Threads that compile kernels; 0: as many as there are CPUs.
  unsigned jobs = 0;
  enum class Weights { Automatic, Embedded, External };
  /// Automatic: external from 1 GiB on.
  Weights weights = Weights::Automatic;
  /// Where compiled kernels are looked for and kept; may be null.
  KernelCache *cache = nullptr;
  /// Told what is being done, with done and total of that.
  std::function<void(const char *what, size_t done, size_t total)> progress;
};

/// Sets what the phases read of the options in `module`. Fails, with a message,
/// for an unknown CPU.
mlir::LogicalResult setTarget(mlir::ModuleOp module,
                              const CompileOptions &options);

/// What an artifact of `module` (phase Kernels) holds before its functions: the
/// target and the layout of the weights.
mlir::FailureOr<artifact::Contents>
startContents(mlir::ModuleOp module, const CompileOptions &options);

/// Compiles the kernels that `contents` names, and writes the artifact with the
/// weights that the module's @init computes.
mlir::LogicalResult writeContents(mlir::ModuleOp module,
                                  const artifact::Contents &contents,
                                  llvm::StringRef output,
                                  const CompileOptions &options,
                                  CompileReport &report);

/// Writes the artifact of `module` (phase Kernels) to `output`.
mlir::LogicalResult writeArtifact(mlir::ModuleOp module, llvm::StringRef output,
                                  const CompileOptions &options,
                                  CompileReport &report);

} // namespace tinh

#endif // TINH_PIPELINES_COMPILE_H
