//===- Scatter.cpp - Scatters as reductions over their updates ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A generic over the elements of the result, which start as those of x, and all
// updates: each element is combined with the updates whose position it is.
//
//   %p = position of each update, i64       y = x
//   for r, b: for i: y[r, b] = p[i] == r ? combine(y[r, b], u[i, b]) : y[r, b]
//
// That is what it means; code for a CPU goes through the updates once
// (Codegen/CPU/Scatter/Scatter.h).
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

using graph::ScatterKind;

/// In the type that formulas on the elements are computed in.
Value combine(Scalars &s, ScatterKind kind, Value old, Value update) {
  Type element = old.getType(), type = computeType(element);
  if (kind == ScatterKind::Assign)
    return update;
  Value a = s.convert(old, type), b = s.convert(update, type), result;
  switch (kind) {
  case ScatterKind::Add:
    result = s.add(a, b);
    break;
  case ScatterKind::Mul:
    result = s.mul(a, b);
    break;
  case ScatterKind::Max:
    result = s.max(a, b);
    break;
  default:
    result = s.min(a, b);
  }
  return s.convert(result, element);
}

/// A scatter: the dimensions of x are the first loops, those of the indices the
/// last ones.
struct ScatterLoops {
  ScatterKind kind;
  Value x, updates;
  AffineMap updatesMap;
  /// Of each update in the dimension of x with the same number here.
  SmallVector<Value> positions;
  SmallVector<int64_t> targets;
  AffineMap positionsMap;
};

Value buildScatter(Emitter &e, const ScatterLoops &scatter) {
  int64_t loops = scatter.updatesMap.getNumDims();
  auto rank = static_cast<int64_t>(shapeOf(scatter.x).size());
  SmallVector<Value> inputs(scatter.positions);
  inputs.push_back(scatter.updates);
  SmallVector<AffineMap> maps(scatter.positions.size(), scatter.positionsMap);
  maps.push_back(scatter.updatesMap);
  maps.push_back(e.identity(loops).getSliceMap(0, rank));
  return e.reduce(scatter.x, inputs, maps, [&](Scalars &s, ValueRange v) {
    Value hit;
    for (auto [i, target] : llvm::enumerate(scatter.targets)) {
      Value here = s.fromIndex(Emitter::index(s, target), v[i].getType());
      Value same = s.equal(v[i], here);
      hit = hit ? arith::AndIOp::create(s.b, hit, same).getResult() : same;
    }
    Value old = v.back(), update = v.drop_back().back();
    return s.select(hit, combine(s, scatter.kind, old, update), old);
  });
}

/// Positions in a dimension of `extent`, of the shape that `map` reads the
/// indices in.
Value positionsOf(Emitter &e, ArrayRef<int64_t> shape, Value indices,
                  AffineMap map, int64_t extent) {
  Type i64 = e.b.getI64Type();
  return e.parallel(shape, i64, indices, map, [&](Scalars &s, ValueRange v) {
    return s.fromIndex(Emitter::validIndex(s, v[0], extent), i64);
  });
}

/// Indices that are a scalar have one loop all the same.
SmallVector<int64_t> atLeastOne(ArrayRef<int64_t> shape) {
  return shape.empty() ? SmallVector<int64_t>{1} : SmallVector<int64_t>(shape);
}

FailureOr<Value> lowerScatter(graph::ScatterOp op, Emitter &e,
                              ValueRange operands) {
  Value x = operands[0];
  int64_t axis = op.getAxis(), rank = shapeOf(x).size();
  SmallVector<int64_t> picked = atLeastOne(shapeOf(operands[1]));
  int64_t loops = rank + static_cast<int64_t>(picked.size());
  ArrayRef<AffineExpr> dims = e.identity(loops).getResults();
  SmallVector<int64_t> shape(shapeOf(x).take_front(axis));
  llvm::append_range(shape, picked);
  llvm::append_range(shape, shapeOf(x).drop_front(axis + 1));
  SmallVector<AffineExpr> exprs(dims.take_front(axis));
  llvm::append_range(exprs, dims.drop_front(rank));
  llvm::append_range(exprs, dims.take_front(rank).drop_front(axis + 1));
  Value indices = e.reshape(operands[1], picked);
  Value positions = positionsOf(e, picked, indices, e.identity(picked.size()),
                                shapeOf(x)[axis]);
  return buildScatter(e, {op.getKind(),
                          x,
                          e.reshape(operands[2], shape),
                          e.map(loops, exprs),
                          {positions},
                          {axis},
                          e.map(loops, dims.drop_front(rank))});
}

/// Indices may cover a part of x alone: what is around them has the position
/// -1, which no element has.
FailureOr<Value> lowerScatterElements(graph::ScatterElementsOp op, Emitter &e,
                                      ValueRange operands) {
  Value x = operands[0], indices = operands[1], updates = operands[2];
  int64_t axis = op.getAxis(), rank = shapeOf(x).size();
  Value positions = positionsOf(e, shapeOf(indices), indices, e.identity(rank),
                                shapeOf(x)[axis]);
  SmallVector<int64_t> none(rank, 0), missing;
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d) {
    missing.push_back(d == axis ? 0 : shapeOf(x)[d] - shapeOf(indices)[d]);
    exprs.push_back(e.dim(d == axis ? rank : d));
  }
  Scalars s = e.scalars();
  positions = e.pad(positions, none, missing, s.integer(e.b.getI64Type(), -1));
  updates = e.pad(updates, none, missing, s.constant(elementOf(updates), 0));
  AffineMap map = e.map(rank + 1, exprs);
  return buildScatter(
      e, {op.getKind(), x, updates, map, {positions}, {axis}, map});
}

FailureOr<Value> lowerScatterNd(graph::ScatterNdOp op, Emitter &e,
                                ValueRange operands) {
  Value x = operands[0];
  int64_t rank = shapeOf(x).size(), width = shapeOf(operands[1]).back();
  SmallVector<int64_t> picked = atLeastOne(shapeOf(operands[1]).drop_back());
  auto count = static_cast<int64_t>(picked.size());
  SmallVector<int64_t> tuples(picked), shape(picked);
  tuples.push_back(width);
  llvm::append_range(shape, shapeOf(x).drop_front(width));
  Value indices = e.reshape(operands[1], tuples);
  ArrayRef<AffineExpr> dims = e.identity(rank + count).getResults();
  SmallVector<AffineExpr> exprs(dims.drop_front(rank));
  llvm::append_range(exprs, dims.take_front(rank).drop_front(width));
  ScatterLoops scatter = {op.getKind(),
                          x,
                          e.reshape(operands[2], shape),
                          e.map(rank + count, exprs),
                          {},
                          {},
                          e.map(rank + count, dims.drop_front(rank))};
  for (int64_t j = 0; j < width; ++j) {
    SmallVector<AffineExpr> part(e.identity(count).getResults());
    part.push_back(e.b.getAffineConstantExpr(j));
    scatter.positions.push_back(
        positionsOf(e, picked, indices, e.map(count, part), shapeOf(x)[j]));
    scatter.targets.push_back(j);
  }
  return buildScatter(e, scatter);
}

} // namespace

void attachScatterLowerings(MLIRContext *context) {
  attachLowerings<lowerScatter, lowerScatterElements, lowerScatterNd>(context);
}

} // namespace tinh::codegen
