//===- TransposeMatch.cpp - Recognising transposes --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Transpose/Transpose.h"

using namespace mlir;

namespace tinh::cpu {

/// The generic that a kernel's only result is a reshape of.
static linalg::GenericOp returnedGeneric(func::FuncOp kernel) {
  if (kernel.getNumResults() != 1)
    return {};
  Value value = returnedValues(kernel)[0];
  while (value.getDefiningOp<tensor::ExpandShapeOp>() ||
         value.getDefiningOp<tensor::CollapseShapeOp>())
    value = value.getDefiningOp()->getOperand(0);
  return value.getDefiningOp<linalg::GenericOp>();
}

Match<Transpose> TransposeStrategy::match(func::FuncOp kernel) {
  linalg::GenericOp op = returnedGeneric(kernel);
  auto order = op ? permutationOf(op) : std::nullopt;
  if (!order || kernel.getNumArguments() != 1 ||
      !reshapedArgument(op.getDpsInputs()[0]))
    return NoMatch{"does more than to reorder the dimensions of an operand"};
  auto source = cast<RankedTensorType>(op.getDpsInputs()[0].getType());
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getResult(0).getType()).getShape();
  auto inArgument = stridesInArgument(op.getDpsInputs()[0]);
  auto inResult = stridesInResult(kernel, 0, op.getResult(0));
  if (!inArgument || !inResult || llvm::is_contained(shape, 0))
    return NoMatch{"has an operand or a result without strides or elements"};
  SmallVector<int64_t> from = *inArgument, to = *inResult;
  SmallVector<TransposedDimension> dims;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    if (extent == 1)
      continue;
    int64_t stride = from[llvm::find(*order, i) - order->begin()];
    // Neighbours in both are one dimension.
    if (!dims.empty() && dims.back().from == stride * extent &&
        dims.back().to == to[i] * extent) {
      dims.back() = {dims.back().extent * extent, stride, to[i]};
      continue;
    }
    dims.push_back({extent, stride, to[i]});
  }
  auto isColumns = [](const TransposedDimension &dim) { return dim.from == 1; };
  if (dims.size() < 2 || dims.back().from == 1 || dims.back().to != 1 ||
      llvm::none_of(dims, isColumns))
    return NoMatch{"leaves the last dimension where it is"};
  Transpose t;
  t.kernel = kernel;
  t.element = memoryType(source.getElementType());
  t.rows = dims.pop_back_val();
  for (const TransposedDimension &dim : dims)
    if (isColumns(dim))
      t.columns = dim;
    else
      t.outer.push_back(dim);
  return t;
}

} // namespace tinh::cpu
