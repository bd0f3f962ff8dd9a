//===- Split.h - What gradients keep of the computation ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block with a computation and, after it, its gradients becomes two: the
// computation, which also gives what the gradients read of it (residuals), and
// the gradients. The two may then run at different times: in two regions, or in
// two functions.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRADIENTS_SPLIT_H
#define TINH_COMPILER_GRADIENTS_SPLIT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tinh::gradients {

class Split {
public:
  /// Of `block`, whose ops after `last` (all, if it is null) are gradients.
  /// `results` are what these are to give; the block's terminator reads them.
  /// `repeats`: the block runs again and again, and what does not depend on its
  /// arguments will be computed once.
  Split(mlir::Block &block, mlir::Operation *last, mlir::ValueRange results,
        bool repeats);

  /// The values of the computation, arguments of the block among them, that the
  /// gradients need, in their order. What costs nothing is computed again
  /// instead: constants, views, and in a block that repeats what is the same
  /// each time.
  llvm::ArrayRef<mlir::Value> residuals() const { return kept.getArrayRef(); }

  /// Copies the gradients to where `builder` stands; `mapping` has what takes
  /// the place of each residual. Returns what takes the place of the results.
  llvm::SmallVector<mlir::Value> copyGradients(mlir::OpBuilder &builder,
                                               mlir::IRMapping &mapping) const;
  /// Erases the gradients.
  void eraseGradients();

private:
  void eraseDeadGradients();
  void need(mlir::Value value);
  bool isBefore(mlir::Operation *op) const;

  mlir::Block &block;
  mlir::Operation *last;
  llvm::SmallVector<mlir::Value> results;
  bool repeats;
  llvm::SetVector<mlir::Value> kept;
  llvm::DenseSet<mlir::Operation *> repeated;
  llvm::SmallVector<mlir::Value> pending;
};

} // namespace tinh::gradients

#endif // TINH_COMPILER_GRADIENTS_SPLIT_H
