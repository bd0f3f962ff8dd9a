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
  /// The CPU: native, x86-64-v3, x86-64-v4 or a name of LLVM's; empty: the one
  /// that the module names, or native.
  std::string cpu;
  /// The model's name, kept in the artifact, and the folder that its references
  /// to files start from.
  std::string modelName, modelDirectory;
  PhaseOptions phases;
  enum class Weights { Automatic, Embedded, External };
  /// Automatic: external from 1 GiB on.
  Weights weights = Weights::Automatic;
  /// Where compiled kernels are looked for and kept; may be null.
  KernelCache *cache = nullptr;
  /// Told what is being done, with done and total of that.
  std::function<void(const char *what, size_t done, size_t total)> progress;
};

/// Records in `module`, which is in `phase`, what its text must say for the
/// phases that follow: the CPU and the model's name, if it has none. Fails,
/// with a message, for an unknown CPU, or one that comes too late.
mlir::LogicalResult annotateModule(mlir::ModuleOp module, Phase phase,
                                   const CompileOptions &options);

/// Writes the artifact of `module` (phase Plan or LLVM) to `output`.
mlir::LogicalResult writeArtifact(mlir::ModuleOp module, llvm::StringRef output,
                                  const CompileOptions &options,
                                  CompileReport &report);

/// Writes an object file with the artifact's tables and kernels, but without
/// its weights, to `output`.
mlir::LogicalResult writeObject(mlir::ModuleOp module, llvm::StringRef output,
                                const CompileOptions &options,
                                CompileReport &report);

/// Writes `module` as text or, where the name of `output` ends in .mlirbc, as
/// bytecode; "-" is the standard output.
mlir::LogicalResult writeModule(mlir::ModuleOp module, llvm::StringRef output);

} // namespace tinh

#endif // TINH_PIPELINES_COMPILE_H
