//===- MemoryAccess.cpp - Where operands' elements lie ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Library/MemoryAccess.h"

#include "compiler/Codegen/CUDA/Contraction/Contraction.h"

using namespace mlir;

namespace tinh::cuda {

/// Whether a generic op only moves elements of its one input.
static bool isCopy(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         op.getBody()->getTerminator()->getOperand(0) ==
             op.getBody()->getArgument(0) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation();
}

/// Whether zeros are put around the source.
static bool padsWithZeros(tensor::PadOp pad) {
  Value value = pad.getConstantPaddingValue();
  return value && matchPattern(value, m_AnyZeroFloat()) &&
         !ShapedType::isDynamicShape(pad.getStaticLow()) &&
         !ShapedType::isDynamicShape(pad.getStaticHigh());
}

static AffineMap minus(AffineMap map, ArrayRef<int64_t> offsets) {
  SmallVector<AffineExpr> exprs;
  for (auto [expr, offset] : llvm::zip_equal(map.getResults(), offsets))
    exprs.push_back(expr - offset);
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

std::optional<MemoryAccess> accessMemory(Value value, AffineMap map) {
  if (auto strides = stridesInArgument(value)) {
    Value argument = value;
    while (Operation *reshape = argument.getDefiningOp())
      argument = reshape->getOperand(0);
    auto type = cast<RankedTensorType>(value.getType());
    return MemoryAccess{cast<BlockArgument>(argument).getArgNumber(),
                        llvm::to_vector(type.getShape()), *strides, map};
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return padsWithZeros(pad)
               ? accessMemory(pad.getSource(), minus(map, pad.getStaticLow()))
               : std::nullopt;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return accessMemory(expand.getSrc(), beforeExpansion(expand, map));
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !isCopy(generic))
    return std::nullopt;
  AffineMap output =
      generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  OpOperand *input = generic.getDpsInputOperand(0);
  return accessMemory(input->get(), generic.getMatchingIndexingMap(input)
                                        .compose(inversePermutation(output))
                                        .compose(map));
}

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

SmallVector<int64_t> MemoryAccess::steps() const {
  SmallVector<int64_t> steps(map.getNumDims(), 0);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    for (unsigned loop = 0; loop < steps.size(); ++loop)
      steps[loop] += strides[dim] * coefficient(dim, loop);
  return steps;
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

} // namespace tinh::cuda
