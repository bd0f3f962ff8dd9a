//===- ElementwiseOps.cpp - Shapes of element-wise ops ----------*- C++ -*-===//
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

namespace {

/// The broadcast of `operands` with element type `element`, or a message.
LogicalResult inferBroadcast(std::optional<Location> loc, StringRef op,
                             ValueRange operands, Type element,
                             SmallVectorImpl<Type> &types) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value operand : operands)
    shapes.push_back(cast<RankedTensorType>(operand.getType()).getShape());
  auto shape = broadcastShapes(shapes);
  if (!shape) {
    std::string list;
    for (Value operand : operands)
      list += (list.empty() ? "" : " and ") + shapeToString(operand.getType());
    return emitOptionalError(loc, op, ": shapes ", list,
                             " do not broadcast: from the last dimension "
                             "backwards, extents must be equal or 1");
  }
  types.push_back(RankedTensorType::get(*shape, element));
  return success();
}

LogicalResult checkSameElement(std::optional<Location> loc, StringRef op,
                               Value a, Value b) {
  if (getElementTypeOrSelf(a) == getElementTypeOrSelf(b))
    return success();
  return emitOptionalError(loc, op, ": element types ", getElementTypeOrSelf(a),
                           " and ", getElementTypeOrSelf(b),
                           " differ; insert a cast");
}

LogicalResult inferBinary(std::optional<Location> loc, StringRef op, Value a,
                          Value b, SmallVectorImpl<Type> &types) {
  if (failed(checkSameElement(loc, op, a, b)))
    return failure();
  return inferBroadcast(loc, op, {a, b}, getElementTypeOrSelf(a), types);
}

Type withElement(Value x, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(x.getType()).getShape(),
                               element);
}

} // namespace

LogicalResult CastOp::verify() {
  Type from = getElementTypeOrSelf(getX()), to = getElementTypeOrSelf(getY());
  if (getSaturate() && !isStorageFloat(to))
    return emitOpError("only casts to floats of 8 or 4 bits saturate, found ")
           << to;
  if (getRounding() != Rounding::Nearest && !isa<Float8E8M0FNUType>(to))
    return emitOpError("only casts to f8E8M0FNU round ")
           << stringifyRounding(getRounding()) << ", found " << to;
  if (getContract() && (isStorageFloat(from) || isStorageFloat(to)))
    return emitOpError(
               "floats of 8 and 4 bits are rounded where they are made, found "
               "a cast from ")
           << from << " to " << to << " that may contract";
  return success();
}

LogicalResult BitcastOp::verify() {
  Type from = getElementTypeOrSelf(getX()), to = getElementTypeOrSelf(getY());
  if (from.isInteger(1) || to.isInteger(1))
    return emitOpError("booleans have no bits to read, found ")
           << from << " and " << to << "; a cast converts them";
  if (from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError("expected element types of as many bits, found ")
           << from << " and " << to;
  return success();
}

#define UNARY_OP(NAME, ...)                                                    \
  LogicalResult NAME##Op::inferReturnTypes(                                    \
      MLIRContext *, std::optional<Location>, Adaptor adaptor,                 \
      SmallVectorImpl<Type> &types) {                                          \
    types.push_back(adaptor.getX().getType());                                 \
    return success();                                                          \
  }
#define UNARY_TEST(NAME, ...)                                                  \
  LogicalResult NAME##Op::inferReturnTypes(                                    \
      MLIRContext *context, std::optional<Location>, Adaptor adaptor,          \
      SmallVectorImpl<Type> &types) {                                          \
    types.push_back(                                                           \
        withElement(adaptor.getX(), IntegerType::get(context, 1)));            \
    return success();                                                          \
  }
#define BINARY_OP(NAME, ...)                                                   \
  LogicalResult NAME##Op::inferReturnTypes(                                    \
      MLIRContext *, std::optional<Location> loc, Adaptor adaptor,             \
      SmallVectorImpl<Type> &types) {                                          \
    return inferBinary(loc, getOperationName(), adaptor.getA(),                \
                       adaptor.getB(), types);                                 \
  }
#include "dialects/graph/ElementwiseOps.inc"

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  Value a = adaptor.getA(), b = adaptor.getB();
  if (failed(checkSameElement(loc, getOperationName(), a, b)))
    return failure();
  return inferBroadcast(loc, getOperationName(), {a, b},
                        IntegerType::get(context, 1), types);
}

LogicalResult WhereOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  Value a = adaptor.getA(), b = adaptor.getB();
  if (failed(checkSameElement(loc, getOperationName(), a, b)))
    return failure();
  return inferBroadcast(loc, getOperationName(), {adaptor.getCondition(), a, b},
                        getElementTypeOrSelf(a), types);
}
