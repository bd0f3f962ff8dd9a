//===- Scatter.h - Scatters among reductions --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linalg has no scatter: what is lowered to it combines each element with all
// updates whose position it is. This form is recognised here, so that
// strategies go to the positions instead of looking for them.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_FORMS_SCATTER_H
#define TINH_CODEGEN_KERNEL_FORMS_SCATTER_H

#include "compiler/Codegen/Kernel/Pull.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::codegen {

struct Scatter {
  mlir::linalg::GenericOp op;
  mlir::Value initial; // What the updates are combined with.
  /// Where updates are for, and in which dimension that is.
  llvm::SmallVector<mlir::OpOperand *> positions;
  llvm::SmallVector<unsigned> targets;
  llvm::SmallVector<int64_t> extents; // Of all loops.
  unsigned rank;                      // Of the result: the first loops.

  bool isTarget(unsigned dim) const { return llvm::is_contained(targets, dim); }
  unsigned last() const { return rank - 1; }
  /// The indices in the result of those of all loops.
  Indices place(const Indices &dims) const {
    return Indices(llvm::ArrayRef(dims).take_front(rank));
  }
  /// Stores what the result starts as, at `dims`.
  mlir::LogicalResult storeInitial(Pull &pull, const Buffer &result,
                                   const Indices &dims) const;
  /// Combines the element of `result` at `dims` with the update there.
  mlir::LogicalResult update(Pull &pull, const Buffer &result,
                             const Indices &dims) const;
};

/// The scatter that `kernel` is, if it is one.
std::optional<Scatter> matchScatter(mlir::func::FuncOp kernel);

/// Whether `argument` is what the updates of the scatter in `kernel` are
/// combined with, if there is one: each element is read before it is written.
bool isScatteredInto(mlir::func::FuncOp kernel, mlir::BlockArgument argument);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_FORMS_SCATTER_H
