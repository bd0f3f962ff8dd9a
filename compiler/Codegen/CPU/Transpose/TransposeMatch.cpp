//===- TransposeMatch.cpp - Recognising transposes --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Transpose/Transpose.h"

#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

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

/// What `value` is made of by a conversion to other floats; else itself.
static Value beforeConversion(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op.getNumReductionLoops() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return value;
  Operation *made =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  bool converts = isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(made) &&
                  made->getOperand(0) == op.getBody()->getArgument(0);
  return converts ? op.getDpsInputs()[0] : value;
}

/// The argument that `value` is made of by reshapes and at most one conversion.
static BlockArgument sourceOf(Value value) {
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  value = beforeConversion(value);
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  return generic ? BlockArgument() : reshapedArgument(value);
}

/// How it lies in memory; nothing if that has no strides.
static std::optional<SmallVector<int64_t>> stridesInSource(Value value) {
  if (reshapedArgument(value))
    return stridesInArgument(value);
  BlockArgument source = sourceOf(value);
  auto kernel = cast<func::FuncOp>(source.getOwner()->getParentOp());
  if (kernel.getArgAttr(source.getArgNumber(), graph::names::kStrides))
    return std::nullopt;
  return computeStrides(cast<RankedTensorType>(value.getType()).getShape());
}

/// Neighbours in both that are as wide as a lane of some vector together are
/// one element.
static void mergeNeighbours(Transpose &t,
                            SmallVector<TransposedDimension> &dims) {
  const TransposedDimension &last = dims.back();
  int64_t bytes = last.extent * graph::elementSize(t.element);
  if (dims.size() < 3 || last.from != 1 || last.to != 1 ||
      (bytes != 4 && bytes != 8))
    return;
  t.together = last.extent;
  dims.pop_back();
}

Match<Transpose> TransposeStrategy::match(func::FuncOp kernel) {
  linalg::GenericOp op = returnedGeneric(kernel);
  auto order = op ? permutationOf(op) : std::nullopt;
  if (!order || kernel.getNumArguments() != 1 ||
      !sourceOf(op.getDpsInputs()[0]))
    return NoMatch{"does more than to reorder the dimensions of an operand, or "
                   "to convert it"};
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getResult(0).getType()).getShape();
  auto inArgument = stridesInSource(op.getDpsInputs()[0]);
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
  Transpose t;
  t.kernel = kernel;
  t.source = memoryType(
      getElementTypeOrSelf(sourceOf(op.getDpsInputs()[0]).getType()));
  t.element = memoryType(getElementTypeOrSelf(op.getResult(0).getType()));
  mergeNeighbours(t, dims);
  auto isColumns = [&](const TransposedDimension &dim) {
    return dim.from == t.together;
  };
  if (dims.size() < 2 || isColumns(dims.back()) ||
      dims.back().to != t.together || llvm::none_of(dims, isColumns))
    return NoMatch{"leaves the last dimension where it is"};
  t.rows = dims.pop_back_val();
  for (const TransposedDimension &dim : dims)
    if (isColumns(dim))
      t.columns = dim;
    else
      t.outer.push_back(dim);
  return t;
}

} // namespace tinh::cpu
