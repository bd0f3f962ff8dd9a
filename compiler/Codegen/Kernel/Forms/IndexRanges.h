//===- IndexRanges.h - Where a kernel's indices lie -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code for a kernel reads and writes where its indices say, without a check.
// Affine maps are checked by linalg; what bodies compute is bounded here, by
// interval arithmetic on their integers. What is read from a tensor may be any
// number.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_FORMS_INDEXRANGES_H
#define TINH_CODEGEN_KERNEL_FORMS_INDEXRANGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace tinh::codegen {

class IndexRanges {
public:
  explicit IndexRanges(mlir::func::FuncOp kernel);

  /// The numbers that `value`, an integer or an index, may be.
  mlir::ConstantIntRanges of(mlir::Value value) const;
  /// Whether `value` is surely an index of a dimension of `extent`.
  bool isWithin(mlir::Value value, int64_t extent) const;

private:
  /// A value of which more is known where a condition holds.
  struct Assumption {
    mlir::Value value;
    mlir::ConstantIntRanges range;
  };
  mlir::IntegerValueRange under(const Assumption &assumption, mlir::Value value,
                                unsigned depth) const;
  mlir::IntegerValueRange
  infer(mlir::Operation *op,
        llvm::function_ref<mlir::IntegerValueRange(mlir::Value)> of) const;
  mlir::IntegerValueRange inferSelect(mlir::Operation *op) const;
  mlir::IntegerValueRange lookup(mlir::Value value) const;

  llvm::DenseMap<mlir::Value, mlir::IntegerValueRange> ranges;
};

/// Whether all elements that `kernel` extracts from tensors exist, as far as
/// their indices are computed; an error if that is not certain.
llvm::LogicalResult verifyIndices(mlir::func::FuncOp kernel);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_FORMS_INDEXRANGES_H
