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
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Phases.h"
#include "compiler/Pipelines/ResourceLimits.h"
#include "tinh/compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tinh {

class KernelCache;

/// GPUs of NVIDIA's, beside the CPU.
struct CudaOptions {
  /// What the artifact has code for: sm_75, …, compute_75, which is PTX for
  /// what comes after it, or "emulated" alone; empty: what the module names, or
  /// what is usual.
  std::vector<std::string> chips;
  /// Products of f32 may read tf32.
  bool allowTf32 = false;
  /// PATTERN=DEVICE: kernels with an op or a node of the model of such a name
  /// go to "cpu" or "cuda"; of several rules the last one that fits counts.
  std::vector<std::string> place;
  /// The CUDA toolkit's folder; empty: where CUDA_HOME says, or a usual place.
  std::string toolkit;
  /// The artifact runs where there is no GPU, too.
  bool alsoCpu = false;
  /// What computes with other ranks: "mpi" with the CPUs' memory, or "nccl"
  /// with that of the GPUs; empty: what the module names, or MPI.
  std::string collectives = {};
};

struct CompileOptions {
  /// The CPU: native, x86-64-v3, x86-64-v4 or a name of LLVM's; empty: the one
  /// that the module names, or native.
  std::string cpu;
  /// Run kernels on GPUs; if there is nothing, what the module says is kept.
  std::optional<CudaOptions> cuda;
  /// The model's name, kept in the artifact; empty: the one that the module
  /// has, which readModel takes from the file's name if nothing else gives it
  /// one.
  std::string modelName;
  PhaseOptions phases;
  enum class Weights { Automatic, Embedded, External };
  /// Automatic: external from 1 GiB on.
  Weights weights = Weights::Automatic;
  /// The artifact can take other weights when it is loaded.
  bool loadableWeights = false;
  /// Where compiled kernels are looked for and kept; may be null.
  KernelCache *cache = nullptr;
  /// Told what is being done, with done and total of that.
  std::function<void(const char *what, size_t done, size_t total)> progress;
  /// Told what is going to be linked; may be empty.
  std::function<void(const artifact::Contents &,
                     llvm::ArrayRef<artifact::Object> kernels)>
      linking;
  /// Where a file is written that reproduces an internal error; may be empty.
  std::string reproducerDirectory;
  ResourceLimits limits;
};

/// From a model in a file, or its IR in phase `from`, to a file in phase `to`.
struct CompileJob {
  std::string model;
  ImportOptions importing;
  Phase from = Phase::Graph, to = Phase::Library;
  std::string output;
};

/// Does all of `job`. Whatever fails, crashes among it where catchCrashes has
/// been called, was reported to the context's diagnostic engine.
CompileStatus compileFile(const CompileJob &job, const CompileOptions &options,
                          mlir::MLIRContext &context, CompileReport &report);

/// Reads a model, or its IR in `phase`, and checks that it is in that phase.
mlir::OwningOpRef<mlir::ModuleOp> readModel(llvm::StringRef path,
                                            const ImportOptions &importing,
                                            Phase phase,
                                            mlir::MLIRContext &context);

/// Records in `module`, which is in `phase`, what its text must say for the
/// phases that follow: the CPU, the GPUs and the model's name. Fails, with a
/// message, for an unknown CPU, or one that comes too late.
mlir::LogicalResult annotateModule(mlir::ModuleOp module, Phase phase,
                                   const CompileOptions &options);

/// Writes the artifact of `module` (phase Plan or LLVM) to `output`.
mlir::LogicalResult writeArtifact(mlir::ModuleOp module, llvm::StringRef output,
                                  const CompileOptions &options,
                                  CompileReport &report);

/// The same as an object file, to be linked into a program.
mlir::LogicalResult writeObject(mlir::ModuleOp module, llvm::StringRef output,
                                const CompileOptions &options,
                                CompileReport &report);

/// Writes `module` as text or, where the name of `output` ends in .mlirbc, as
/// bytecode; "-" is the standard output.
mlir::LogicalResult writeModule(mlir::ModuleOp module, llvm::StringRef output);

} // namespace tinh

#endif // TINH_PIPELINES_COMPILE_H
