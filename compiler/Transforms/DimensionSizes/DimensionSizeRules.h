//===- DimensionSizeRules.h - What ops make of padding ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared between the files of rules: those of what is computed along a
// dimension (DimensionSizeRules.cpp) and of what moves elements
// (DimensionSizeMoves.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_DIMENSIONSIZES_DIMENSIONSIZERULES_H
#define TINH_COMPILER_TRANSFORMS_DIMENSIONSIZES_DIMENSIONSIZERULES_H

#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/DimensionSizes/DimensionSizes.h"
#include "dialects/graph/Dimensions.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tinh::transforms {

using graph::Neutral;

mlir::Attribute neutralValue(Neutral neutral, mlir::Type element);

/// Applies the rule of one op.
class SizeRules {
public:
  SizeRules(mlir::Operation *op, DimensionSizes &sizes)
      : op(op), sizes(sizes), b(op->getLoc(), op) {}

  llvm::LogicalResult apply();

private:
  //===--- What rules are made of -----------------------------------------===//

  mlir::Value constant(mlir::TypedAttr value) {
    return graph::ConstantOp::create(b, value.getType(), value);
  }
  mlir::Value scalar(mlir::Type element, mlir::Attribute value) {
    return constant(mlir::DenseElementsAttr::get(
        mlir::RankedTensorType::get({}, element), value));
  }
  mlir::Value count(int64_t value) {
    return scalar(b.getI64Type(), b.getI64IntegerAttr(value));
  }
  mlir::Value castTo(mlir::Value x, mlir::Type element) {
    mlir::RankedTensorType type = tensorType(x);
    return type.getElementType() == element
               ? x
               : graph::CastOp::create(b, type.clone(element), x);
  }
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
    return reshapeTo(b, op->getLoc(), x, shape);
  }
  mlir::Value iota(int64_t extent) {
    return graph::IotaOp::create(
        b, mlir::RankedTensorType::get({extent}, b.getI64Type()), 0, 1);
  }
  mlir::Value compare(graph::ComparePredicate predicate, mlir::Value x,
                      mlir::Value y) {
    return graph::CompareOp::create(b, predicate, x, y);
  }
  mlir::Value isLess(mlir::Value x, mlir::Value y) {
    return compare(graph::ComparePredicate::Less, x, y);
  }
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis) {
    return graph::GatherOp::create(b, x, indices, axis);
  }
  int64_t extent(mlir::Value x, int64_t d) {
    return tensorType(x).getDimSize(d);
  }
  /// The size of a dimension, also one that is used as a whole.
  mlir::Value sizeOf(mlir::Value x, int64_t d) {
    mlir::Value size = sizes.get(x, d);
    return size ? size : count(extent(x, d));
  }
  /// Where along dimension `d` of `x` its elements are used; broadcasts to x.
  mlir::Value isUsed(mlir::Value x, int64_t d, mlir::Value size) {
    llvm::SmallVector<int64_t> shape(tensorType(x).getRank(), 1);
    shape[d] = extent(x, d);
    return reshape(isLess(iota(extent(x, d)), size), shape);
  }
  /// `x` with a scalar in the place of what is behind `size` along `d`.
  mlir::Value masked(mlir::Value x, int64_t d, mlir::Value size,
                     mlir::Value scalar) {
    mlir::Value y = graph::WhereOp::create(b, isUsed(x, d, size), x, scalar);
    sizes.copy(x, y);
    return y;
  }
  /// Masks dimension `d` of an operand behind `size`, which may be null.
  void mask(unsigned operand, int64_t d, mlir::Value size, Neutral neutral) {
    handle(operand, d);
    mlir::Value x = op->getOperand(operand);
    mlir::Type element = tensorType(x).getElementType();
    if (size)
      op->setOperand(
          operand,
          masked(x, d, size, scalar(element, neutralValue(neutral, element))));
  }
  void mask(unsigned operand, int64_t d, Neutral neutral) {
    mask(operand, d, size(operand, d), neutral);
  }
  void handle(unsigned operand, int64_t d) { handled.insert({operand, d}); }
  mlir::Value size(unsigned operand, int64_t d) {
    return sizes.get(op->getOperand(operand), d);
  }
  /// Negative indices along a dimension of which a part is used count from its
  /// size.
  mlir::Value countedFrom(mlir::Value indices, mlir::Value size) {
    mlir::Type element = tensorType(indices).getElementType();
    mlir::Value zero = scalar(element, neutralValue(Neutral::Zero, element));
    mlir::Value fromEnd =
        graph::AddOp::create(b, indices, castTo(size, element));
    mlir::Value y =
        graph::WhereOp::create(b, isLess(indices, zero), fromEnd, indices);
    sizes.copy(indices, y);
    return y;
  }

  //===--- Rules ----------------------------------------------------------===//

  void apply(graph::ReduceOp op);
  llvm::LogicalResult variance(graph::VarianceOp op);
  template <typename OpTy> void extreme(OpTy op, Neutral neutral);
  void apply(graph::AlongAxisOpInterface op);
  void apply(graph::MatmulOp op);
  void apply(graph::ReshapeOp op);
  void divideRun(graph::ReshapeOp op, const graph::ReshapedRun &run);
  void reshapeRun(graph::ReshapeOp op, const graph::ReshapedRun &run);
  mlir::Value compact(mlir::Value x, const graph::ReshapedRun &run);
  void apply(graph::ConcatOp op);
  void apply(graph::SliceOp op);
  void apply(graph::PadOp op);
  template <typename OpTy> void gatherAlong(OpTy op);
  void apply(graph::GatherNdOp op);
  template <typename OpTy> void scatterAlong(OpTy op);
  void apply(graph::ScatterNdOp op);
  mlir::Value indexOrBehind(mlir::Value indices, mlir::Value behind);
  mlir::Value tuplesFrom(mlir::Value x, mlir::Value indices, int64_t first);
  void scatterBehind(int64_t axis, mlir::Value indices);
  bool hasUnusedIndices();

  llvm::LogicalResult applyOwn();
  llvm::LogicalResult propagate();
  llvm::LogicalResult fail(unsigned operand, int64_t d, const llvm::Twine &why);

  mlir::Operation *op;
  DimensionSizes &sizes;
  mlir::ImplicitLocOpBuilder b;
  /// Dimensions of operands that the rule has dealt with.
  llvm::SmallDenseSet<std::pair<unsigned, int64_t>> handled;
  /// What the op's result has become, where another op has taken its place.
  mlir::Value replacement;
};

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_DIMENSIONSIZES_DIMENSIONSIZERULES_H
