//===- ReductionOps.cpp - Shapes of reductions and scans --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tinh::graph;

/// The shape of `x` with `axes` reduced.
static SmallVector<int64_t>
reducedShape(RankedTensorType x, ArrayRef<int64_t> axes, bool keepdims) {
  SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(x.getShape())) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      shape.push_back(extent);
    else if (keepdims)
      shape.push_back(1);
  }
  return shape;
}

template <typename Adaptor>
static LogicalResult inferReduction(StringRef op, std::optional<Location> loc,
                                    Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (failed(checkAxis(loc, op, x, axis)))
      return failure();
    if (i && axes[i - 1] >= axis)
      return emitOptionalError(loc, op,
                               ": axes must be ascending and distinct");
  }
  types.push_back(RankedTensorType::get(
      reducedShape(x, axes, adaptor.getKeepdims()), x.getElementType()));
  return success();
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferReduction(getOperationName(), loc, adaptor, types);
}

LogicalResult VarianceOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  return inferReduction(getOperationName(), loc, adaptor, types);
}

template <typename Adaptor>
static LogicalResult inferArg(MLIRContext *context, StringRef op,
                              std::optional<Location> loc, Adaptor adaptor,
                              SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, op, x, axis)))
    return failure();
  types.push_back(
      RankedTensorType::get(reducedShape(x, axis, adaptor.getKeepdims()),
                            IntegerType::get(context, 64)));
  return success();
}

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferArg(context, getOperationName(), loc, adaptor, types);
}

LogicalResult ArgminOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferArg(context, getOperationName(), loc, adaptor, types);
}
