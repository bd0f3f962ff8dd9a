//===- Reduction.cpp - Reductions and scans as linalg.generic ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction is a fill and one generic that combines in the accumulator's
// type; a mean is a sum and an element-wise generic. argmax carries value and
// index in a generic with two results.
//
// A running sum is a generic over (i, j) that adds x[j] for j ≤ i: n² additions
// instead of n, but independent for each i.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/Models.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

using graph::ReduceKind;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// The dimensions of `rank` that are not in `axes`.
SmallVector<int64_t> keptDimensions(int64_t rank, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(axes, i))
      kept.push_back(i);
  return kept;
}

AffineMap projection(Emitter &e, int64_t rank, ArrayRef<int64_t> kept) {
  SmallVector<AffineExpr> exprs;
  for (int64_t i : kept)
    exprs.push_back(e.dim(i));
  return e.map(rank, exprs);
}

SmallVector<int64_t> extentsOf(Value x, ArrayRef<int64_t> dimensions) {
  return llvm::map_to_vector(dimensions,
                             [&](int64_t i) { return shapeOf(x)[i]; });
}

Value combine(Scalars &s, ReduceKind kind, Value sum, Value x) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return s.add(sum, x);
  case ReduceKind::Prod:
    return s.mul(sum, x);
  case ReduceKind::Max:
    return s.max(sum, x);
  case ReduceKind::Min:
    return s.min(sum, x);
  }
  llvm_unreachable("all kinds are listed");
}

Value neutral(Scalars &s, ReduceKind kind, Type type) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return s.constant(type, 0);
  case ReduceKind::Prod:
    return s.constant(type, 1);
  case ReduceKind::Max:
    return s.lowest(type);
  case ReduceKind::Min:
    return s.highest(type);
  }
  llvm_unreachable("all kinds are listed");
}

/// Divides each element by the same count.
Value divideBy(Emitter &e, Value sum, int64_t count) {
  Type type = elementOf(sum);
  return e.elementwise(shapeOf(sum), type, sum, [&](Scalars &s, ValueRange v) {
    if (isa<FloatType>(type))
      return s.mul(v[0], s.constant(type, 1.0 / count));
    return s.div(v[0], s.constant(type, count));
  });
}

FailureOr<Value> lowerReduce(graph::ReduceOp op, Emitter &e,
                             ValueRange operands) {
  Value x = operands[0];
  ArrayRef<int64_t> axes = op.getAxes();
  if (axes.empty())
    return x;
  int64_t rank = shapeOf(x).size();
  SmallVector<int64_t> kept = keptDimensions(rank, axes);
  ReduceKind kind = op.getKind();
  Type accumulator = accumulatorType(elementOf(x));
  Scalars outer = e.scalars();
  Value init = e.fill(extentsOf(x, kept), neutral(outer, kind, accumulator));
  Value result =
      e.reduce(init, x, {e.identity(rank), projection(e, rank, kept)},
               [&](Scalars &s, ValueRange v) {
                 Value element = s.convert(v[0], accumulator);
                 return combine(s, kind, v[1], element);
               });
  if (kind == ReduceKind::Mean) {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= shapeOf(x)[axis];
    result = divideBy(e, result, count);
  }
  result = e.convert(result, elementOf(x));
  return e.reshape(result, cast<RankedTensorType>(op.getType()).getShape());
}

//===----------------------------------------------------------------------===//
// argmax, argmin
//===----------------------------------------------------------------------===//

/// Whether `x`, met after `best`, replaces it. Once `best` is NaN, only a later
/// NaN does, and only if the last extreme counts.
Value replaces(Scalars &s, Value x, Value best, bool largest, bool last) {
  Value low = largest ? best : x, high = largest ? x : best;
  Value better = last ? s.lessEqual(low, high) : s.less(low, high);
  if (!isa<FloatType>(x.getType()))
    return better;
  Value nan = s.isNan(x);
  if (!last) {
    Value bestIsNumber =
        arith::CmpFOp::create(s.b, arith::CmpFPredicate::ORD, best, best);
    nan = arith::AndIOp::create(s.b, nan, bestIsNumber);
  }
  return arith::OrIOp::create(s.b, better, nan);
}

template <typename Op>
FailureOr<Value> lowerArg(Op op, Emitter &e, ValueRange operands) {
  Value x = operands[0];
  constexpr bool largest = std::is_same_v<Op, graph::ArgmaxOp>;
  bool last = op.getSelectLastIndex();
  int64_t axis = op.getAxis(), rank = shapeOf(x).size();
  SmallVector<int64_t> kept = keptDimensions(rank, axis);
  SmallVector<int64_t> shape = extentsOf(x, kept);
  Type type = computeType(elementOf(x));
  Scalars outer = e.scalars();
  Value worst = largest ? outer.lowest(type) : outer.highest(type);
  Value first = outer.integer(e.b.getI64Type(), 0);
  SmallVector<Value> inits{e.fill(shape, worst), e.fill(shape, first)};
  SmallVector<Value> results = e.reduceAll(
      inits, x, {e.identity(rank), projection(e, rank, kept)},
      [&](Scalars &s, ValueRange v) -> SmallVector<Value> {
        Value element = s.convert(v[0], type);
        Value take = replaces(s, element, v[1], largest, last);
        Value here = s.fromIndex(Emitter::index(s, axis), s.b.getI64Type());
        return {s.select(take, element, v[1]), s.select(take, here, v[2])};
      });
  return e.reshape(results[1], cast<RankedTensorType>(op.getType()).getShape());
}

//===----------------------------------------------------------------------===//
// cumsum
//===----------------------------------------------------------------------===//

FailureOr<Value> lowerCumsum(graph::CumsumOp op, Emitter &e,
                             ValueRange operands) {
  Value x = operands[0];
  int64_t rank = shapeOf(x).size(), axis = op.getAxis();
  Type accumulator = accumulatorType(elementOf(x));
  SmallVector<AffineExpr> from;
  for (int64_t i = 0; i < rank; ++i)
    from.push_back(e.dim(i == axis ? rank : i));
  AffineMap to = e.map(rank + 1, e.identity(rank + 1).getResults().drop_back());
  Value init = e.fill(shapeOf(x), e.scalars().constant(accumulator, 0));
  Value sum = e.reduce(
      init, x, {e.map(rank + 1, from), to}, [&](Scalars &s, ValueRange v) {
        Value i = Emitter::index(s, axis), j = Emitter::index(s, rank);
        if (op.getReverse())
          std::swap(i, j);
        auto predicate = op.getExclusive() ? arith::CmpIPredicate::slt
                                           : arith::CmpIPredicate::sle;
        Value counts = arith::CmpIOp::create(s.b, predicate, j, i);
        Value element = s.convert(v[0], accumulator);
        return s.add(v[1], s.select(counts, element, s.like(element, 0)));
      });
  return e.convert(sum, elementOf(x));
}

} // namespace

void attachReductionLowerings(MLIRContext *context) {
  attachLowering<graph::ReduceOp, lowerReduce>(context);
  attachLowering<graph::ArgmaxOp, lowerArg<graph::ArgmaxOp>>(context);
  attachLowering<graph::ArgminOp, lowerArg<graph::ArgminOp>>(context);
  attachLowering<graph::CumsumOp, lowerCumsum>(context);
}

} // namespace tinh::codegen
