//===- NormalizationOps.cpp - Shapes of softmax, norms and attention ------===//
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

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= x.getRank())
    return emitOptionalError(loc, getOperationName(), ": axis ", axis,
                             " is outside the dimensions of ",
                             shapeToString(x));
  ArrayRef<int64_t> normalised = x.getShape().drop_front(axis);
  for (Value parameter : {adaptor.getScale(), adaptor.getBias()}) {
    if (!parameter)
      continue;
    auto type = cast<RankedTensorType>(parameter.getType());
    auto shape = broadcastShapes({normalised, type.getShape()});
    if (!shape || ArrayRef<int64_t>(*shape) != normalised ||
        type.getElementType() != x.getElementType())
      return emitOptionalError(
          loc, getOperationName(), ": scale or bias ", shapeToString(type),
          " does not broadcast to the normalised dimensions of ",
          shapeToString(x), " from axis ", axis);
  }
  types.push_back(x);
  return success();
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  bool first = adaptor.getLayout() == Layout::ChannelsFirst;
  if (x.getRank() < (first ? 2 : 1))
    return emitOptionalError(loc, getOperationName(), ": ", shapeToString(x),
                             " has no channel dimension");
  int64_t channels = x.getDimSize(first ? 1 : x.getRank() - 1);
  for (Value parameter : adaptor.getOperands().drop_front()) {
    auto type = cast<RankedTensorType>(parameter.getType());
    if (type.getRank() != 1 || type.getDimSize(0) != channels)
      return emitOptionalError(loc, getOperationName(), ": expected ", channels,
                               " scales, biases, means and variances for ",
                               shapeToString(x), ", found ",
                               shapeToString(type));
  }
  types.push_back(x);
  return success();
}

LogicalResult LrnOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> loc,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto size = static_cast<int64_t>(adaptor.getSize());
  constexpr int64_t kLargestSize = int64_t(1) << 31;
  if (x.getRank() < 2 || size < 1 || size > kLargestSize)
    return emitOptionalError(loc, getOperationName(),
                             ": expected a channel dimension and a size from 1 "
                             "to ",
                             kLargestSize, ", found ", shapeToString(x),
                             " and ", size);
  types.push_back(x);
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto q = cast<RankedTensorType>(adaptor.getQuery().getType());
  auto k = cast<RankedTensorType>(adaptor.getKey().getType());
  auto v = cast<RankedTensorType>(adaptor.getValue().getType());
  auto fail = [&](const Twine &what) {
    return emitOptionalError(loc, "graph.attention: ", what, ": query ",
                             shapeToString(q), ", key ", shapeToString(k),
                             ", value ", shapeToString(v));
  };
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return fail("expected [batch, heads, length, width] tensors");
  if (k.getDimSize(0) != q.getDimSize(0) || v.getDimSize(0) != q.getDimSize(0))
    return fail("batches differ");
  if (k.getDimSize(1) != v.getDimSize(1) || k.getDimSize(1) == 0 ||
      q.getDimSize(1) % k.getDimSize(1))
    return fail("heads of query must be a multiple of those of key and value");
  if (k.getDimSize(2) != v.getDimSize(2))
    return fail("lengths of key and value differ");
  if (q.getDimSize(3) != k.getDimSize(3))
    return fail("widths of query and key differ");
  if (Value mask = adaptor.getMask()) {
    auto type = cast<RankedTensorType>(mask.getType());
    SmallVector<int64_t> scores = {q.getDimSize(0), q.getDimSize(1),
                                   q.getDimSize(2), k.getDimSize(2)};
    auto shape = broadcastShapes({scores, type.getShape()});
    if (!shape || *shape != scores)
      return fail("mask " + Twine(shapeToString(type)) +
                  " does not broadcast to [batch, heads, queries, keys]");
  }
  types.push_back(RankedTensorType::get(
      {q.getDimSize(0), q.getDimSize(1), q.getDimSize(2), v.getDimSize(3)},
      q.getElementType()));
  return success();
}
