//===- Probe.h - Runs of a model with other results -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_CALIBRATION_PROBE_H
#define TINH_COMPILER_CALIBRATION_PROBE_H

#include "compiler/Pipelines/Compile.h"
#include "dialects/graph/Graph.h"
#include "tinh/runtime.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tinh::calibration {

/// The inputs of each run, in the order of the model's.
using Samples = std::vector<std::vector<tinh_buffer_t>>;
/// Elements of each result of a run.
using Results = std::vector<std::vector<float>>;

/// Compiles a module in phase `from` whose results are of f32, which changes
/// it, runs it on all samples, and shows the results of each.
mlir::LogicalResult
runOnSamples(mlir::ModuleOp module, Phase from, const Samples &samples,
             const CompileOptions &options,
             llvm::function_ref<void(const Results &)> visit);

/// A model in phase normalised, and what it is run on.
struct Model {
  mlir::ModuleOp module;
  const Samples &samples;
  const CompileOptions &options;

  mlir::func::FuncOp main() const;
  /// For what is about the model as a whole.
  mlir::Location location() const {
    return mlir::UnknownLoc::get(mlir::ModuleOp(module).getContext());
  }
};

/// A copy of a model whose results are others, all of f32.
class Probe {
public:
  explicit Probe(const Model &model);

  mlir::Value operator[](mlir::Value original) const {
    return copy.lookup(original);
  }
  /// Adds a result.
  void give(mlir::Value value);

  /// Compiles the copy, runs it on all samples, and shows the results of each.
  mlir::LogicalResult run(llvm::function_ref<void(const Results &)> visit);

  mlir::IRMapping copy;
  /// Adds ops at the end of the copy.
  mlir::ImplicitLocOpBuilder b;

private:
  void setResults();

  const Model &model;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace tinh::calibration

#endif // TINH_COMPILER_CALIBRATION_PROBE_H
