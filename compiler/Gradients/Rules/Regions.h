//===- Regions.h - Gradients of ops with regions ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rules of branches and loops have in common: a region is copied,
// differentiated, and split into what it computes and its gradients.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRADIENTS_RULES_REGIONS_H
#define TINH_COMPILER_GRADIENTS_RULES_REGIONS_H

#include "compiler/Gradients/Split.h"
#include "dialects/graph/Graph.h"

namespace tinh::gradients {

using Gradients = llvm::FailureOr<llvm::SmallVector<mlir::Value>>;

/// Zeros of a type, as a constant.
mlir::Value zeros(mlir::OpBuilder &builder, mlir::Location location,
                  mlir::Type type);

/// A copy of a region's block, with gradients at its end.
class RegionCopy {
public:
  explicit RegionCopy(mlir::Block &original);

  /// The copy of a value of the region; the value itself, if from above.
  mlir::Value lookup(mlir::Value value) const {
    return merged.lookupOrDefault(mapping.lookupOrDefault(value));
  }
  /// A further argument, for what gradients begin with.
  mlir::Value addArgument(mlir::Type type, mlir::Location location) {
    return copy->addArgument(type, location);
  }
  mlir::OpBuilder atEnd() { return mlir::OpBuilder::atBlockEnd(copy.get()); }

  /// Adds the gradients of Σ outputs · seeds, where there is a seed, by
  /// `inputs`: values of the copy or from above.
  mlir::LogicalResult differentiate(mlir::ValueRange outputs,
                                    llvm::ArrayRef<mlir::Value> seeds,
                                    mlir::ValueRange inputs);
  /// By input; null where there is none.
  llvm::SmallVector<mlir::Value> gradients;

  /// Splits the copy; `gradients` are final.
  void split(bool repeats);
  llvm::ArrayRef<mlir::Value> residuals() const { return halves->residuals(); }
  /// Copies the gradients that are not null to where `builder` stands;
  /// `map` has what takes the place of residuals.
  llvm::SmallVector<mlir::Value> copyGradients(mlir::OpBuilder &builder,
                                               mlir::IRMapping &map) const {
    return halves->copyGradients(builder, map);
  }
  /// Makes a region of what the copy computes, without the arguments that were
  /// added; it yields `yielded`.
  void moveTo(mlir::Region &region, mlir::ValueRange yielded);

private:
  void mergeLoops();

  std::unique_ptr<mlir::Block> copy;
  mlir::IRMapping mapping;
  mlir::IRMapping merged; // What took the place of values of the copy.
  unsigned numArguments;
  mlir::Operation *last; // Of the computation.
  std::optional<Split> halves;
};

/// The gradients of all that a scan reads.
Gradients differentiateScan(graph::ScanOp op, mlir::OpBuilder &builder,
                            llvm::ArrayRef<mlir::Value> resultGradients,
                            llvm::ArrayRef<bool> wanted);

/// A scan that gives what the loop gives, where `builder` stands; null, after a
/// diagnostic, if nothing bounds the number of its iterations.
graph::ScanOp buildBoundedScan(graph::WhileOp op, mlir::OpBuilder &builder);

} // namespace tinh::gradients

#endif // TINH_COMPILER_GRADIENTS_RULES_REGIONS_H
