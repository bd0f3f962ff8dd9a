//===- DimensionSizes.h - Sizes of dimensions, by value ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared between resolve-dimension-sizes, which walks the graph, and its rules.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_DIMENSIONSIZES_DIMENSIONSIZES_H
#define TINH_COMPILER_TRANSFORMS_DIMENSIONSIZES_DIMENSIONSIZES_H

#include "dialects/graph/Graph.h"

namespace tinh::transforms {

/// How much of the dimensions of values is used: a tensor<i64>, or null for all
/// of a dimension.
class DimensionSizes {
public:
  mlir::Value get(mlir::Value value, int64_t dimension) const {
    auto it = sizes.find(value);
    return it == sizes.end() ? mlir::Value() : it->second[dimension];
  }
  bool has(mlir::Value value) const { return sizes.contains(value); }
  void set(mlir::Value value, int64_t dimension, mlir::Value size) {
    if (!size)
      return;
    auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
    auto &all = sizes[value];
    all.resize(type.getRank());
    all[dimension] = size;
  }
  /// Gives a value of the same rank the same sizes.
  void copy(mlir::Value from, mlir::Value to) {
    if (auto it = sizes.find(from); it != sizes.end()) {
      auto all = it->second;
      sizes[to] = std::move(all);
    }
  }
  /// Of an op that is erased: another value may have its address next.
  void forget(mlir::Operation *op) {
    for (mlir::Value result : op->getResults())
      sizes.erase(result);
  }

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 4>> sizes;
};

/// Whether two sizes are the same value, or the same ops on the same values.
bool isSameSize(mlir::Value a, mlir::Value b);

/// Makes an op on whole tensors of `op`, which has operands of which a part is
/// used, and notes the sizes of its result. Fails, after a diagnostic, if there
/// is no rule for a dimension.
mlir::LogicalResult applySizeRule(mlir::Operation *op, DimensionSizes &sizes);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_DIMENSIONSIZES_DIMENSIONSIZES_H
