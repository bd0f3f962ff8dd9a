//===- QuantizationOps.cpp - What quantised tensors have to be --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scales.h"

using namespace mlir;
using namespace tinh::graph;

/// Whether the parameters fit the tensors of floats and of integers.
template <typename Op>
static LogicalResult verifyParameters(Op op, Value floats, Value integers) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value operand : op->getOperands())
    shapes.push_back(cast<RankedTensorType>(operand.getType()).getShape());
  auto shape = broadcastShapes(shapes);
  if (!shape || ArrayRef(*shape) != x.getShape())
    return op.emitOpError("has a scale ")
           << shapeToString(op.getScale().getType())
           << " or a zero point that does not broadcast to "
           << shapeToString(x);
  if (cast<RankedTensorType>(op.getY().getType()).getShape() != x.getShape())
    return op.emitOpError("expected a result of the shape of ")
           << shapeToString(x) << ", found "
           << shapeToString(op.getY().getType());
  if (getElementTypeOrSelf(op.getScale()) != getElementTypeOrSelf(floats))
    return op.emitOpError("expected a scale of ")
           << getElementTypeOrSelf(floats) << ", found "
           << getElementTypeOrSelf(op.getScale());
  Value zero = op.getZeroPoint();
  if (zero && getElementTypeOrSelf(zero) != getElementTypeOrSelf(integers))
    return op.emitOpError("expected a zero point of ")
           << getElementTypeOrSelf(integers) << ", found "
           << getElementTypeOrSelf(zero);
  return success();
}

LogicalResult QuantizeOp::verify() {
  return verifyParameters(*this, getX(), getY());
}

LogicalResult DequantizeOp::verify() {
  return verifyParameters(*this, getY(), getX());
}

LogicalResult UnpackInt4Op::verify() {
  SmallVector<int64_t> shape(getX().getType().getShape());
  int64_t axis = getAxis(), rank = shape.size();
  if (axis < 0 || axis >= rank)
    return emitOpError("expected an axis from 0 to ")
           << rank - 1 << ", found " << axis;
  shape[axis] *= 2;
  if (getY().getType().getShape() != ArrayRef(shape))
    return emitOpError("expected a result with twice the bytes of ")
           << shapeToString(getX().getType()) << " along axis " << axis
           << ", found " << shapeToString(getY().getType());
  return success();
}

bool tinh::graph::isScale(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<ReshapeOp, CastOp>(user))
      return isScale(user->getResult(0));
    return isa<QuantizeOp, DequantizeOp>(user) && use.getOperandNumber() == 1;
  });
}
