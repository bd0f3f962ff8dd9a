//===- Layouts.h - Where the values of a function lie -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In phase `kernels` the ops between dispatches are views. The result of a
// reshape or a slice lies in the memory of its operand. A concatenation has
// memory of its own, in which the dispatches or concatenations that its
// operands are results of, maybe reshaped, lie.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_LAYOUTS_H
#define TINH_CODEGEN_LAYOUTS_H

#include "dialects/graph/Strides.h"

namespace tinh::codegen {

/// `value` without the reshapes that it is a result of.
mlir::Value withoutReshapes(mlir::Value value);

/// The value whose elements `value` has, or some of them: without the reshapes
/// and slices that it is a result of.
mlir::Value withoutViews(mlir::Value value);

/// Whether `check` holds for all operands that `value`, or a view of it, is.
bool allUses(mlir::Value value,
             llvm::function_ref<bool(mlir::OpOperand &)> check);

/// Whether all of `user` comes before `op` in the block that both lie in, maybe
/// within other ops.
bool comesBefore(mlir::Operation *user, mlir::Operation *op);

/// Where a value lies: in the memory of `whole`, which is dense, its first
/// element at `offset`, with these strides; all in elements.
struct Layout {
  mlir::Value whole;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

class Layouts {
public:
  /// Makes operand `index` of `concat` a part of its result, if it may be one:
  /// what a dispatch or a concatenation computes and no concatenation has yet.
  bool place(graph::ConcatOp concat, unsigned index);
  void remove(mlir::Value part) { places.erase(part); }

  /// The result of a concatenation that `value` is a part of, or null.
  mlir::Value placedIn(mlir::Value value) const;

  /// Nothing if no strides say where `value` lies: it reshapes what is not
  /// contiguous, or its elements are not rows of bytes.
  std::optional<Layout> of(mlir::Value value) const;

private:
  std::optional<Layout> find(mlir::Value value) const;
  std::optional<Layout> ofPart(mlir::Value value) const;

  struct Place {
    graph::ConcatOp concat;
    unsigned index;
    int64_t start; ///< Where it begins along the axis.
  };
  int64_t startOf(graph::ConcatOp concat, unsigned index) const;
  llvm::DenseMap<mlir::Value, Place> places;
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_LAYOUTS_H
