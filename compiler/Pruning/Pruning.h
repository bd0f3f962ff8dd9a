//===- Pruning.h - A model becomes a smaller one ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Channels, features and heads that are worth least are removed from a model,
// with all that reads or adds to them (Coupling.cpp says what goes together),
// until it is as small or as fast as is asked. What is left has the names that
// it had.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_PRUNING_H
#define TINH_COMPILER_PRUNING_PRUNING_H

#include "compiler/Calibration/Probe.h"
#include "compiler/Pipelines/Compile.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tinh::pruning {

using calibration::Samples;

enum class Score { Magnitude, Taylor };

struct PruneOptions {
  Score score = Score::Magnitude;
  /// Shares of what the model takes that may be left: of its multiplications,
  /// of the time that a run is estimated to take, of the bytes of its weights.
  std::optional<double> maxMacs, maxTime, maxBytes;
  /// What widths that are cut become multiples of; the lanes of the CPU's
  /// vectors if there is nothing.
  std::optional<int64_t> multiple;
  /// Patterns of the names of layers whose outputs stay.
  std::vector<std::string> keep;
  /// For Score::Taylor: the loss of the first output and a target, and what
  /// reads samples of all inputs of a module.
  std::string loss;
  std::function<mlir::FailureOr<Samples>(mlir::ModuleOp)> readSamples;
};

/// A product or convolution with constant weights.
struct LayerReport {
  std::string name, op;
  int64_t inputs = 0, outputs = 0;         ///< Channels,
  int64_t inputsLeft = 0, outputsLeft = 0; ///< and what is left of them.
  /// Why its outputs stay; empty: they may be cut.
  std::string kept;
};

/// What a model takes.
struct ModelCosts {
  double macs = 0, bytes = 0;
  double cycles = 0; ///< Of one core, as estimated.
};

struct PruneReport {
  std::vector<LayerReport> layers;
  ModelCosts before, after;
};

/// A smaller form of `module`, which is in phase graph. Null after a
/// diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> prune(mlir::ModuleOp module,
                                        const PruneOptions &options,
                                        const CompileOptions &compile,
                                        PruneReport &report);

/// What a layer would keep and save if of every four weights that follow one
/// another, of an output's inputs, the two largest stayed.
struct SparsityReport {
  std::string name, op;
  double energy = 0; ///< The share of the sum of squares that is kept.
  double bytes = 0, sparseBytes = 0;
};

/// That of all layers of a module in phase graph.
mlir::FailureOr<std::vector<SparsityReport>>
reportSparsity(mlir::ModuleOp module, const std::string &modelDirectory);

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_PRUNING_H
