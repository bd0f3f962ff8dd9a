//===- MemoryAccess.cpp - Where operands' elements lie ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/MemoryAccess.h"

#include "compiler/Codegen/Kernel/Analysis.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::codegen {

int64_t MemoryAccess::coefficient(unsigned dim, unsigned loop) const {
  return loopCoefficient(map.getResult(dim), loop, map.getNumDims());
}

int64_t MemoryAccess::constant(unsigned dim) const {
  SmallVector<AffineExpr> zeros(map.getNumDims(),
                                getAffineConstantExpr(0, map.getContext()));
  return cast<AffineConstantExpr>(
             simplifyAffineExpr(map.getResult(dim).replaceDims(zeros), 0, 0))
      .getValue();
}

bool MemoryAccess::staysInside(ArrayRef<int64_t> extents) const {
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t last = constant(dim);
    if (last != 0)
      return false;
    for (auto [loop, extent] : llvm::enumerate(extents)) {
      int64_t step = coefficient(dim, loop);
      if (step < 0)
        return false;
      last += step * (extent - 1);
    }
    if (last >= shape[dim])
      return false;
  }
  return true;
}

/// Of an argument with these strides, or a reshape of it.
static MemoryAccess accessArgument(Value value, SmallVector<int64_t> strides,
                                   AffineMap map) {
  MemoryAccess access;
  access.argument = reshapedArgument(value);
  access.shape =
      llvm::to_vector(cast<RankedTensorType>(value.getType()).getShape());
  access.strides = std::move(strides);
  access.map = map;
  access.steps.assign(map.getNumDims(), 0);
  for (auto [dim, stride] : llvm::enumerate(access.strides)) {
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      access.steps[loop] += stride * access.coefficient(dim, loop);
    access.offset += stride * access.constant(dim);
  }
  return access;
}

AffineMap beforeExpansion(tensor::ExpandShapeOp op, AffineMap map) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  SmallVector<AffineExpr> exprs;
  for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
    AffineExpr linear = getAffineConstantExpr(0, map.getContext());
    for (int64_t dim : group)
      linear = linear * shape[dim] + map.getResult(dim);
    exprs.push_back(linear);
  }
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

/// What surrounds a tensor, if that is an integer other than zero, or zeros,
/// which are null; nothing if it is anything else.
static std::optional<IntegerAttr> paddingOf(tensor::PadOp pad) {
  Value padding = pad.getConstantPaddingValue();
  IntegerAttr number;
  if (!padding)
    return std::nullopt;
  if (matchPattern(padding, m_AnyZeroFloat()) ||
      matchPattern(padding, m_Zero()))
    return IntegerAttr();
  return matchPattern(padding, m_Constant(&number)) ? std::optional(number)
                                                    : std::nullopt;
}

/// Of what surrounds a tensor with one number.
static std::optional<MemoryAccess> accessPadded(tensor::PadOp pad,
                                                AffineMap map) {
  SmallVector<AffineExpr> exprs;
  SmallVector<MemoryAccess::Bound> bounds;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    int64_t low = pad.getStaticLow()[dim];
    exprs.push_back(expr - low);
    if (low != 0 || pad.getStaticHigh()[dim] != 0)
      bounds.push_back({exprs.back(), pad.getSourceType().getDimSize(dim)});
  }
  auto access =
      accessMemory(pad.getSource(), AffineMap::get(map.getNumDims(), 0, exprs,
                                                   map.getContext()));
  if (!access)
    return std::nullopt;
  std::optional<IntegerAttr> padding = paddingOf(pad);
  bool isOther = !access->bounds.empty() && padding != access->padding;
  if (!padding || isOther)
    access->argument = {};
  else
    access->padding = *padding;
  llvm::append_range(access->bounds, bounds);
  return access;
}

/// Of a slice, such as the queries of a product that gave keys and values, too.
static std::optional<MemoryAccess> accessSlice(tensor::ExtractSliceOp slice,
                                               AffineMap map) {
  if (slice.getSourceType().getRank() != slice.getType().getRank())
    return std::nullopt;
  SmallVector<AffineExpr> exprs;
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    exprs.push_back(expr * slice.getStaticStride(dim) +
                    slice.getStaticOffset(dim));
  auto access =
      accessMemory(slice.getSource(), AffineMap::get(map.getNumDims(), 0, exprs,
                                                     map.getContext()));
  if (access)
    access->isSliced = true;
  return access;
}

/// The input of an element-wise op that has most elements.
static OpOperand *largestInput(linalg::GenericOp op) {
  OpOperand *largest = nullptr;
  int64_t most = -1;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto type = cast<RankedTensorType>(input->get().getType());
    if (type.getNumElements() > most) {
      largest = input;
      most = type.getNumElements();
    }
  }
  return largest;
}

/// Of what is computed element by element. A transposition computes nothing.
static std::optional<MemoryAccess>
accessElements(linalg::GenericOp op, unsigned result, AffineMap map) {
  AffineMap output = outputMap(op, result);
  OpOperand *input = largestInput(op);
  if (!input || !output.isPermutation())
    return std::nullopt;
  auto access =
      accessMemory(input->get(), op.getMatchingIndexingMap(input)
                                     .compose(inversePermutation(output))
                                     .compose(map));
  Value element = op.getBody()->getTerminator()->getOperand(result);
  if (access && element != op.getMatchingBlockArgument(input))
    access->argument = {};
  return access;
}

std::optional<MemoryAccess> accessMemory(Value value, AffineMap map) {
  if (auto strides = stridesInArgument(value))
    return accessArgument(value, std::move(*strides), map);
  Operation *op = value.getDefiningOp();
  if (!op) // An argument of a shape without strides.
    return std::nullopt;
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return accessPadded(pad, map);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return accessSlice(slice, map);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return accessMemory(expand.getSrc(), beforeExpansion(expand, map));
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return accessElements(generic, cast<OpResult>(value).getResultNumber(),
                          map);
  return std::nullopt;
}

} // namespace tinh::codegen
