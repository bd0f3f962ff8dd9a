//===- LaneArithmetic.cpp - Indices of all lanes ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/LaneArithmetic.h"

#include "compiler/Codegen/Kernel/Analysis.h"

#include <numeric>

using namespace mlir;

namespace tinh::codegen {

//===----------------------------------------------------------------------===//
// One index
//===----------------------------------------------------------------------===//

LaneIndex LaneArithmetic::constant(int64_t value) {
  return {index(value), 0, value ? std::abs(value) : kOfZero};
}

LaneIndex LaneArithmetic::sum(const LaneIndex &x, const LaneIndex &y) {
  return {add(x.base, y.base), x.stride + y.stride,
          std::gcd(x.alignment, y.alignment)};
}

LaneIndex LaneArithmetic::scale(const LaneIndex &x, int64_t factor) {
  return {mul(x.base, factor), x.stride * factor,
          x.alignment * std::abs(factor)};
}

LaneIndex LaneArithmetic::shift(const LaneIndex &x, int64_t offset) {
  return {add(x.base, index(offset)), x.stride, std::gcd(x.alignment, offset)};
}

bool LaneArithmetic::staysWithin(const LaneIndex &lane, int64_t extent) const {
  return lanes == 1 || lane.stride == 0 ||
         (lane.stride == 1 && lane.alignment % lanes == 0 &&
          extent % lanes == 0);
}

//===----------------------------------------------------------------------===//
// Those of a tensor, or of loops
//===----------------------------------------------------------------------===//

Indices LaneArithmetic::unravelIndex(Value number, ArrayRef<int64_t> shape,
                                     int64_t vectorLanes) {
  Indices at(shape.size());
  int64_t width = vectorLanes;
  for (size_t i = shape.size(); i-- > 0; width = 1) {
    Value digit = i == 0 ? number : takeDigit(number, shape[i] / width);
    at[i] = {mul(digit, width), width > 1 ? 1 : 0, width};
  }
  return at;
}

FailureOr<LaneIndex> LaneArithmetic::evaluate(AffineExpr expr,
                                              const Indices &dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return constant(value.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  auto lhs = evaluate(binary.getLHS(), dims);
  if (failed(lhs))
    return failure();
  if (expr.getKind() == AffineExprKind::Mul) {
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (!factor)
      return failure();
    return scale(*lhs, factor.getValue());
  }
  auto rhs = evaluate(binary.getRHS(), dims);
  if (failed(rhs) || expr.getKind() != AffineExprKind::Add)
    return failure();
  return sum(*lhs, *rhs);
}

FailureOr<Indices> LaneArithmetic::apply(AffineMap map, const Indices &dims) {
  Indices result;
  for (AffineExpr expr : map.getResults()) {
    auto lane = evaluate(expr, dims);
    if (failed(lane))
      return failure();
    result.push_back(*lane);
  }
  return result;
}

FailureOr<Indices> LaneArithmetic::loopIndices(linalg::GenericOp op,
                                               const Indices &output) {
  AffineMap map = outputMap(op);
  Indices dims(op.getNumLoops());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return failure();
    dims[dim.getPosition()] = output[i];
  }
  return dims;
}

Indices LaneArithmetic::merge(const Indices &indices, ArrayRef<int64_t> shape,
                              ArrayRef<ReassociationIndices> groups) {
  Indices merged;
  for (ArrayRef<int64_t> group : groups) {
    LaneIndex linear = constant(0);
    for (int64_t dim : group)
      if (shape[dim] != 1) // Else its index is zero, a multiple of anything.
        linear = sum(scale(linear, shape[dim]), indices[dim]);
    merged.push_back(linear);
  }
  return merged;
}

//===----------------------------------------------------------------------===//
// Those of an op's source
//===----------------------------------------------------------------------===//

FailureOr<Indices> LaneArithmetic::sourceOf(tensor::ExtractSliceOp op,
                                            const Indices &indices) {
  if (op.getSourceType().getRank() != op.getType().getRank())
    return failure();
  Indices source;
  for (auto [i, lane] : llvm::enumerate(indices))
    source.push_back(
        shift(scale(lane, op.getStaticStride(i)), op.getStaticOffset(i)));
  return source;
}

FailureOr<Indices> LaneArithmetic::sourceOf(tensor::ExpandShapeOp op,
                                            const Indices &indices) {
  return merge(indices, op.getResultType().getShape(),
               op.getReassociationIndices());
}

FailureOr<Indices> LaneArithmetic::sourceOf(tensor::CollapseShapeOp op,
                                            const Indices &indices) {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  Indices source(shape.size());
  for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
    LaneIndex rest = indices[g];
    for (size_t k = group.size(); k-- > 0;) {
      int64_t dim = group[k], extent = shape[dim];
      bool first = llvm::all_of(ArrayRef(group).take_front(k),
                                [&](int64_t d) { return shape[d] == 1; });
      if (first) {
        source[dim] = rest;
        rest = constant(0);
        continue;
      }
      if (extent == 1) {
        source[dim] = constant(0);
        continue;
      }
      // The lanes must stay within one run of this dimension.
      if (!staysWithin(rest, extent))
        return failure();
      Value quotient = rest.base;
      source[dim] = {takeDigit(quotient, extent), rest.stride,
                     std::gcd(rest.alignment, extent)};
      rest = {quotient, 0,
              rest.alignment % extent == 0 ? rest.alignment / extent : 1};
    }
  }
  return source;
}

} // namespace tinh::codegen
