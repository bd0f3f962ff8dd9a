//===- Probe.h - Runs of a model with other results -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_PROBE_H
#define TINH_COMPILER_QUANTIZATION_PROBE_H

#include "compiler/Pipelines/Compile.h"
#include "dialects/graph/Graph.h"
#include "tinh/runtime.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>

namespace tinh::quantization {

/// A model in phase normalised, and what it is run on.
struct Model {
  mlir::ModuleOp module;
  const std::vector<std::vector<tinh_buffer_t>> &samples;
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

  using Results = std::vector<std::vector<float>>;
  /// Compiles the copy, runs it on all samples, and shows the results of each.
  mlir::LogicalResult run(const std::function<void(const Results &)> &visit);

  mlir::IRMapping copy;
  /// Adds ops at the end of the copy.
  mlir::ImplicitLocOpBuilder b;

private:
  mlir::LogicalResult compile(llvm::StringRef path);
  void setResults();

  const Model &model;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_PROBE_H
