//===- CollectiveOps.cpp - Types of collectives -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tinh;
using namespace tinh::graph;

LogicalResult graph::detail::verifyCollective(Operation *op) {
  Operation *parent = op->getParentOp();
  if (!parent || isa<FunctionOpInterface>(parent))
    return success();
  return op->emitOpError("stands in a branch, a loop or a kernel; all ranks "
                         "have to run it, so it belongs in the function's own "
                         "block");
}

static LogicalResult fail(std::optional<Location> loc, StringRef op,
                          const Twine &why) {
  return emitOptionalError(loc, "'", op, "' op ", why);
}

/// What `kind` and `communication_dtype` ask of the elements.
static LogicalResult checkReduction(std::optional<Location> loc, StringRef op,
                                    ReduceKind kind,
                                    std::optional<Type> communicationDtype,
                                    RankedTensorType x) {
  Type element = x.getElementType();
  if (kind != ReduceKind::Sum && kind != ReduceKind::Mean &&
      kind != ReduceKind::Max)
    return fail(loc, op,
                "reduces over ranks by sum, mean or max, found " +
                    stringifyReduceKind(kind));
  if (kind == ReduceKind::Mean && !isa<FloatType>(element))
    return fail(loc, op, "has a mean of floats, found " + shapeToString(x));
  if (communicationDtype && !(element.isF32() && communicationDtype->isBF16()))
    return fail(loc, op, "sends f32 as bf16 or as it is, nothing else");
  return success();
}

/// A first dimension that can be divided among so many ranks, or repeated.
static LogicalResult checkRanks(std::optional<Location> loc, StringRef op,
                                RankedTensorType x, int64_t ranks,
                                bool divides) {
  if (ranks < 1)
    return fail(loc, op, "expected at least one rank, found " + Twine(ranks));
  if (x.getRank() == 0)
    return fail(loc, op, "expected a tensor with a dimension, found a scalar");
  int64_t extent = x.getDimSize(0);
  if (divides && extent % ranks != 0)
    return fail(loc, op,
                "divides dimension 0 of " + shapeToString(x) + " among " +
                    Twine(ranks) + " ranks, of which it is no multiple");
  if (!divides && extent > std::numeric_limits<int32_t>::max() / ranks)
    return fail(loc, op,
                "repeats dimension 0 of " + shapeToString(x) + " for " +
                    Twine(ranks) + " ranks, which is too much");
  return success();
}

static RankedTensorType withFirst(RankedTensorType x, int64_t extent) {
  SmallVector<int64_t> shape(x.getShape());
  shape[0] = extent;
  return x.clone(shape);
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  types.push_back(x);
  return checkReduction(loc, getOperationName(), adaptor.getKind(),
                        adaptor.getCommunicationDtype(), x);
}

LogicalResult ReduceScatterOp::inferReturnTypes(MLIRContext *,
                                                std::optional<Location> loc,
                                                Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t ranks = adaptor.getRanks();
  if (failed(checkReduction(loc, getOperationName(), adaptor.getKind(),
                            adaptor.getCommunicationDtype(), x)) ||
      failed(checkRanks(loc, getOperationName(), x, ranks, /*divides=*/true)))
    return failure();
  types.push_back(withFirst(x, x.getDimSize(0) / ranks));
  return success();
}

LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t ranks = adaptor.getRanks();
  if (failed(checkRanks(loc, getOperationName(), x, ranks, /*divides=*/false)))
    return failure();
  types.push_back(withFirst(x, x.getDimSize(0) * ranks));
  return success();
}

LogicalResult CollectiveBroadcastOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  if (static_cast<int64_t>(adaptor.getRoot()) < 0)
    return fail(loc, getOperationName(),
                "expected a root that is a rank, found " +
                    Twine(static_cast<int64_t>(adaptor.getRoot())));
  return success();
}
