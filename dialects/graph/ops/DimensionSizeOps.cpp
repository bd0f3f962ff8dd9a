//===- DimensionSizeOps.cpp - Types of ops on dimension sizes ---*- C++ -*-===//
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

LogicalResult
SetDimensionSizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                     Adaptor adaptor,
                                     SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  types.push_back(x);
  return checkAxis(loc, getOperationName(), x, adaptor.getDimension());
}

LogicalResult DimensionSizeOp::inferReturnTypes(MLIRContext *context,
                                                std::optional<Location> loc,
                                                Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  types.push_back(countType(context));
  return checkAxis(loc, getOperationName(), x, adaptor.getDimension());
}
