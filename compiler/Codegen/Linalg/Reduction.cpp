//===- Reduction.cpp - Reductions and scans as linalg.generic ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction is a fill and one generic that combines in the accumulator's
// type; a mean is a sum and an element-wise generic. argmax is two reductions:
// the extreme, then the lowest (or highest) index that has it. One that carried
// both would not run along vector lanes.
//
// A running sum is a generic over (i, j) that adds x[j] for j ≤ i, and a
// product one that multiplies by it. That is what it means; code for a CPU goes
// along i once (Codegen/CPU/Rows/Scan.h).
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

using graph::ReduceKind;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

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

FailureOr<Value> lowerReduce(graph::ReduceOp op, Emitter &e,
                             ValueRange operands) {
  Value x = operands[0];
  ArrayRef<int64_t> axes = op.getAxes();
  if (axes.empty())
    return x;
  ReduceKind kind = op.getKind();
  Type accumulator = accumulatorType(elementOf(x));
  Scalars outer = e.scalars();
  Reduced reduced = e.reduceAxes(shapeOf(x), x, e.identity(shapeOf(x).size()),
                                 axes, neutral(outer, kind, accumulator),
                                 [&](Scalars &s, ValueRange v) {
                                   Value element = s.convert(v[0], accumulator);
                                   return combine(s, kind, v[1], element);
                                 });
  Value result = reduced.value;
  if (kind == ReduceKind::Mean) {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= shapeOf(x)[axis];
    result = e.divideBy(result, count);
  }
  result = e.convert(result, elementOf(x));
  return e.reshape(result, cast<RankedTensorType>(op.getType()).getShape());
}

//===----------------------------------------------------------------------===//
// argmax, argmin
//===----------------------------------------------------------------------===//

/// Whether `x` is the extreme of a row: NaN if any is.
Value isExtreme(Scalars &s, Value x, Value extreme) {
  Value same = s.equal(x, extreme);
  if (!isa<FloatType>(x.getType()))
    return same;
  // If the extreme is not NaN, no element is.
  return arith::OrIOp::create(s.b, same, s.isNan(x));
}

/// The type that positions along an axis are compared in: half the width of i64
/// is twice the lanes.
Type positionType(Emitter &e, int64_t extent) {
  bool fits = extent <= std::numeric_limits<int32_t>::max();
  return fits ? e.b.getI32Type() : e.b.getI64Type();
}

template <typename Op>
FailureOr<Value> lowerArg(Op op, Emitter &e, ValueRange operands) {
  Value x = operands[0];
  constexpr ReduceKind kind =
      std::is_same_v<Op, graph::ArgmaxOp> ? ReduceKind::Max : ReduceKind::Min;
  ReduceKind side = op.getSelectLastIndex() ? ReduceKind::Max : ReduceKind::Min;
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t axis = op.getAxis();
  AffineMap from = e.identity(shape.size());
  Type type = computeType(elementOf(x));
  Type position = positionType(e, shape[axis]);
  Scalars outer = e.scalars();
  Reduced extreme =
      e.reduceAxes(shape, x, from, axis, neutral(outer, kind, type),
                   [&](Scalars &s, ValueRange v) {
                     return combine(s, kind, v[1], s.convert(v[0], type));
                   });
  Value none = neutral(outer, side, position);
  Reduced result =
      e.reduceAxes(shape, {x, extreme.value}, {from, extreme.map}, axis, none,
                   [&](Scalars &s, ValueRange v) {
                     Value here =
                         s.fromIndex(Emitter::index(s, axis), position);
                     Value hit = isExtreme(s, s.convert(v[0], type), v[1]);
                     return combine(s, side, v[2], s.select(hit, here, none));
                   });
  return e.reshape(e.convert(result.value, e.b.getI64Type()),
                   cast<RankedTensorType>(op.getType()).getShape());
}

//===----------------------------------------------------------------------===//
// cumsum, cumprod
//===----------------------------------------------------------------------===//

template <typename Op, ReduceKind kind>
FailureOr<Value> lowerCumulative(Op op, Emitter &e, ValueRange operands) {
  Type accumulator = accumulatorType(elementOf(operands[0]));
  Value x = e.convert(operands[0], accumulator);
  int64_t rank = shapeOf(x).size(), axis = op.getAxis();
  SmallVector<AffineExpr> from;
  for (int64_t i = 0; i < rank; ++i)
    from.push_back(e.dim(i == axis ? rank : i));
  AffineMap to = e.identity(rank + 1).getSliceMap(0, rank);
  Scalars outer = e.scalars();
  Value init = e.fill(shapeOf(x), neutral(outer, kind, accumulator));
  Value sum = e.reduce(
      init, x, {e.map(rank + 1, from), to}, [&](Scalars &s, ValueRange v) {
        Value i = Emitter::index(s, axis), j = Emitter::index(s, rank);
        if (op.getReverse())
          std::swap(i, j);
        auto predicate = op.getExclusive() ? arith::CmpIPredicate::slt
                                           : arith::CmpIPredicate::sle;
        Value counts = arith::CmpIOp::create(s.b, predicate, j, i);
        Value none = neutral(s, kind, accumulator);
        return combine(s, kind, v[1], s.select(counts, v[0], none));
      });
  return e.convert(sum, elementOf(operands[0]));
}

} // namespace

void attachReductionLowerings(MLIRContext *context) {
  attachLowerings<lowerReduce, lowerArg<graph::ArgmaxOp>,
                  lowerArg<graph::ArgminOp>,
                  lowerCumulative<graph::CumsumOp, ReduceKind::Sum>,
                  lowerCumulative<graph::CumprodOp, ReduceKind::Prod>>(context);
}

} // namespace tinh::codegen
