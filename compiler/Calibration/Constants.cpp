//===- Constants.cpp - The values of a model's constants ------ -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Calibration/Constants.h"

#include "compiler/Reference/Interpreter.h"
#include "compiler/Transforms/Constants/Constants.h"

using namespace mlir;

namespace tinh::calibration {

static FailureOr<reference::Tensor> constantTensor(graph::ConstantOp op,
                                                   MappedFiles &files) {
  TypedAttr value = graph::elementsOf(op.getValue());
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return reference::fromAttribute(dense);
  auto bytes = files.read(cast<graph::ExternalAttr>(value));
  if (!bytes)
    return op.emitError(llvm::toString(bytes.takeError()));
  return reference::fromBytes(transforms::tensorType(op.getY()), *bytes);
}

static FailureOr<reference::Tensor> evaluateTensor(Value value,
                                                   MappedFiles &files) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return constantTensor(constant, files);
  std::vector<reference::Tensor> operands;
  SmallVector<const reference::Tensor *> pointers;
  for (Value operand : op->getOperands()) {
    auto tensor = evaluateTensor(operand, files);
    if (failed(tensor))
      return failure();
    operands.push_back(std::move(*tensor));
  }
  for (const reference::Tensor &operand : operands)
    pointers.push_back(&operand);
  auto result = reference::evaluateOp(op, pointers);
  if (!result)
    return op->emitError("cannot be computed of constants");
  return std::move(*result);
}

FailureOr<std::vector<float>> evaluate(Value value, MappedFiles &files) {
  auto tensor = evaluateTensor(value, files);
  if (failed(tensor))
    return failure();
  return std::vector<float>(tensor->floats.begin(), tensor->floats.end());
}

Value createFloats(OpBuilder &builder, Location location,
                   ArrayRef<int64_t> shape, ArrayRef<float> values) {
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  return graph::ConstantOp::create(builder, location, type,
                                   DenseElementsAttr::get(type, values));
}

} // namespace tinh::calibration
