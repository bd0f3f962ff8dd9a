//===- Families.h - The op families of the interpreter ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function for each of the dialect's files. Each gives the result of an op
// of its family, not rounded yet, and nothing for another op.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_REFERENCE_FAMILIES_H
#define TINH_COMPILER_REFERENCE_FAMILIES_H

#include "compiler/Reference/Tensor.h"
#include "dialects/graph/Graph.h"

#include <optional>

namespace tinh::reference {

using Operands = llvm::ArrayRef<const Tensor *>;

std::optional<Tensor> evaluateElementwise(mlir::Operation *op, Operands in);
std::optional<Tensor> evaluateContraction(mlir::Operation *op, Operands in);
std::optional<Tensor> evaluateMovement(mlir::Operation *op, Operands in);
std::optional<Tensor> evaluateReduction(mlir::Operation *op, Operands in);
std::optional<Tensor> evaluateNormalization(mlir::Operation *op, Operands in);
std::optional<Tensor> evaluateQuantization(mlir::Operation *op, Operands in);

/// What a collective gives each rank, of a tensor of each; nothing for another
/// number of ranks than the op is for.
std::optional<std::vector<Tensor>> evaluateCollective(mlir::Operation *op,
                                                      Operands ranks);

/// `x` with its dimensions in another order.
Tensor transpose(const Tensor &x, llvm::ArrayRef<int64_t> permutation);

/// `x` with so many elements, of the integer `value`, before and after each
/// dimension.
Tensor padded(const Tensor &x, llvm::ArrayRef<int64_t> low,
              llvm::ArrayRef<int64_t> high, int64_t value = 0);

/// The product of matrices, NumPy's matmul: leading dimensions broadcast.
Tensor matrixProduct(const Tensor &a, const Tensor &b, mlir::Type result);

/// A tensor seen as [outer, extent, inner] around one of its dimensions.
struct AxisView {
  int64_t outer = 1, extent, inner = 1;

  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis) : extent(shape[axis]) {
    for (int64_t before : shape.take_front(axis))
      outer *= before;
    for (int64_t after : shape.drop_front(axis + 1))
      inner *= after;
  }
  int64_t at(int64_t o, int64_t i, int64_t rest) const {
    return (o * extent + i) * inner + rest;
  }
};

/// What a maximum or a minimum starts from.
template <typename T> T lowest(mlir::Type element);
template <typename T> T highest(mlir::Type element);
template <> double lowest<double>(mlir::Type element);
template <> double highest<double>(mlir::Type element);
template <> Integer lowest<Integer>(mlir::Type element);
template <> Integer highest<Integer>(mlir::Type element);

/// The larger or smaller of two; NaN if either is.
inline bool isNan(double x) { return x != x; }
inline bool isNan(Integer) { return false; }
template <typename T> T larger(T a, T b) { return isNan(a) || a > b ? a : b; }
template <typename T> T smaller(T a, T b) { return isNan(a) || a < b ? a : b; }

} // namespace tinh::reference

#endif // TINH_COMPILER_REFERENCE_FAMILIES_H
