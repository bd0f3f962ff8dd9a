//===- Scatter.cpp - Updates at computed places -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each element of the result asks which updates are for it, since elements are
// computed where they are needed, in any order:
//
//   hit[i, j] = indices[j] == i
//   none:  y[i] = the last update j with hit[i, j], else data[i]
//   add:   y[i] = data[i] + Σ_j (hit[i, j] ? updates[j] : 0)
//
// That is as many comparisons as there are pairs (i, j): fine for the few
// updates that models have, refused for many.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Composites.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tinh {

using Kind = graph::ReduceKind;
using Predicate = graph::ComparePredicate;

namespace {

constexpr int64_t kMostPairs = int64_t(1) << 28;

bool checkPairs(GraphOps &b, int64_t elements, int64_t updates) {
  if (updates == 0 || elements <= kMostPairs / updates)
    return true;
  b.fail(Twine(updates) + " updates for each of " + Twine(elements) +
         " elements are too many");
  return false;
}

Value asIndex(GraphOps &b, Value indices, int64_t extent) {
  Type i64 = b.graph.raw().getI64Type();
  Value index = b.cast(indices, i64);
  Value isNegative = b.compare(Predicate::Less, index, b.scalar(i64, 0));
  return b.where(isNegative, b.add(index, b.scalar(i64, extent)), index);
}

Value combine(GraphOps &b, Kind kind, Value x, Value y) {
  switch (kind) {
  case Kind::Sum:
    return b.add(x, y);
  case Kind::Prod:
    return b.mul(x, y);
  case Kind::Max:
    return b.max(x, y);
  default:
    return b.min(x, y);
  }
}

/// The number of the last update that hits, along the last dimension; -1 if
/// none does.
Value lastHit(GraphOps &b, Value hit) {
  Type i64 = b.graph.raw().getI64Type();
  int64_t last = b.rank(hit) - 1;
  Value number = b.iota(b.shape(hit)[last]);
  Value numbered = b.where(hit, number, b.scalar(i64, -1));
  return b.reduce(Kind::Max, numbered, last, false);
}

} // namespace

Combination combinationOf(Kind kind, Type element) {
  double infinity = std::numeric_limits<double>::infinity();
  double low = -infinity, high = infinity;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    int bits = static_cast<int>(integer.getWidth());
    bool isUnsigned = integer.isUnsigned() || bits == 1;
    low = isUnsigned ? 0 : -std::ldexp(1.0, bits - 1);
    high = std::ldexp(1.0, isUnsigned ? bits : bits - 1) - 1;
  }
  switch (kind) {
  case Kind::Prod:
    return {kind, 1};
  case Kind::Max:
    return {kind, low};
  case Kind::Min:
    return {kind, high};
  default:
    return {kind, 0};
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The part of `data` that the indices' shape covers, all of the axis.
static Value coveredPart(GraphOps &b, Value data, ArrayRef<int64_t> shape,
                         int64_t axis) {
  Ints starts(b.rank(data), 0), sizes(shape), steps(b.rank(data), 1);
  sizes[axis] = b.shape(data)[axis];
  if (b.shape(data) == ArrayRef<int64_t>(sizes))
    return data;
  return b.create<graph::SliceOp>({data}, {b.attr("starts", starts),
                                           b.attr("sizes", sizes),
                                           b.attr("steps", steps)});
}

/// `part` in the place where coveredPart took it from.
static Value putBack(GraphOps &b, Value data, Value part) {
  for (int64_t d = 0; part && d < b.rank(data); ++d) {
    int64_t covered = b.shape(part)[d], missing = b.shape(data)[d] - covered;
    if (missing == 0)
      continue;
    Ints starts(b.rank(data), 0), sizes(b.shape(part)), steps(b.rank(data), 1);
    starts[d] = covered;
    sizes[d] = missing;
    Value rest = b.create<graph::SliceOp>({data}, {b.attr("starts", starts),
                                                   b.attr("sizes", sizes),
                                                   b.attr("steps", steps)});
    part = b.concat({part, rest}, d);
  }
  return part;
}

static Value moveToLast(GraphOps &b, Value x, int64_t axis, bool back = false) {
  int64_t rank = b.rank(x);
  Ints permutation;
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      permutation.push_back(d);
  permutation.push_back(axis);
  if (back)
    for (int64_t d = 0; d < rank; ++d)
      permutation[d] = d < axis ? d : d == axis ? rank - 1 : d - 1;
  return axis == rank - 1 ? x : b.transpose(x, permutation);
}

/// A dimension of 1 before the last.
static Value spread(GraphOps &b, Value x) {
  if (!x)
    return {};
  Ints shape(b.shape(x));
  shape.insert(shape.end() - 1, 1);
  return b.reshape(x, shape);
}

Value scatterElements(GraphOps &b, Value data, Value indices, Value updates,
                      int64_t axis, std::optional<Combination> combination) {
  ArrayRef<int64_t> shape = b.shape(indices);
  bool fits = b.rank(indices) == b.rank(data) && b.shape(updates) == shape;
  for (int64_t d = 0; fits && d < b.rank(data); ++d)
    fits = d == axis || shape[d] <= b.shape(data)[d];
  if (!fits)
    return b.fail("indices " + graph::shapeToString(indices.getType()) +
                  " and updates " + graph::shapeToString(updates.getType()) +
                  " do not fit the data " +
                  graph::shapeToString(data.getType()));
  int64_t extent = b.shape(data)[axis];
  if (b.type(indices).getNumElements() == 0)
    return data;
  if (!checkPairs(b, extent, b.type(indices).getNumElements()))
    return {};
  Value part = moveToLast(b, coveredPart(b, data, shape, axis), axis);
  Value index = spread(b, moveToLast(b, asIndex(b, indices, extent), axis));
  Value update = moveToLast(b, updates, axis);
  Value hit = b.compare(Predicate::Equal, index,
                        b.reshape(b.iota(extent), {extent, 1}));
  Value y;
  if (combination) {
    Value neutral = b.scalarLike(data, combination->neutral);
    Value mine = b.where(hit, spread(b, update), neutral);
    y = combine(b, combination->kind, part,
                b.reduce(combination->kind, mine, b.rank(data), false));
  } else {
    Type i64 = b.graph.raw().getI64Type();
    Value last = lastHit(b, hit), zero = b.scalar(i64, 0);
    Value value = b.create<graph::GatherElementsOp>(
        {update, b.max(last, zero)}, {b.attr("axis", b.rank(data) - 1)});
    y = b.where(b.compare(Predicate::Less, last, zero), part, value);
  }
  return putBack(b, data, y ? moveToLast(b, y, axis, /*back=*/true) : y);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Tuples of indices as the number of the slice in row-major order, [updates].
static Value linearIndices(GraphOps &b, Value indices,
                           ArrayRef<int64_t> extents) {
  Type i64 = b.graph.raw().getI64Type();
  auto width = static_cast<int64_t>(extents.size());
  int64_t count = b.type(indices).getNumElements() / width;
  Value tuples = b.reshape(indices, {count, width}), result;
  int64_t stride = 1;
  for (int64_t d = width - 1; d >= 0; --d) {
    Value index = b.reshape(b.sliceAxis(tuples, 1, d, 1), {count});
    Value offset = b.mul(asIndex(b, index, extents[d]), b.scalar(i64, stride));
    result = result ? b.add(result, offset) : offset;
    stride *= extents[d];
  }
  return result;
}

Value scatterNd(GraphOps &b, Value data, Value indices, Value updates,
                std::optional<Combination> combination) {
  ArrayRef<int64_t> shape = b.shape(data);
  int64_t width = b.rank(indices) ? b.shape(indices).back() : 0;
  if (width < 1 || width > b.rank(data))
    return b.fail("indices " + graph::shapeToString(indices.getType()) +
                  " do not fit the data " +
                  graph::shapeToString(data.getType()));
  Ints expected(b.shape(indices).drop_back());
  expected.append(shape.begin() + width, shape.end());
  if (b.shape(updates) != ArrayRef<int64_t>(expected))
    return b.fail("expected updates " + formatShape(expected) + ", found " +
                  graph::shapeToString(updates.getType()));
  if (b.type(updates).getNumElements() == 0)
    return data;
  int64_t slices = *countElements(shape.take_front(width));
  int64_t size = *countElements(shape.drop_front(width));
  int64_t count = b.type(indices).getNumElements() / width;
  if (!checkPairs(b, slices * (combination ? size : 1), count))
    return {};
  Value index = linearIndices(b, indices, shape.take_front(width));
  Value rows = b.reshape(data, {slices, size});
  Value update = b.reshape(updates, {count, size});
  Value hit = b.compare(Predicate::Equal, b.reshape(index, {1, count}),
                        b.reshape(b.iota(slices), {slices, 1}));
  Value y;
  if (combination) {
    Value mine = b.where(b.reshape(hit, {slices, count, 1}),
                         b.reshape(update, {1, count, size}),
                         b.scalarLike(data, combination->neutral));
    y = combine(b, combination->kind, rows,
                b.reduce(combination->kind, mine, int64_t(1), false));
  } else {
    Value last = lastHit(b, hit);
    Value zero = b.scalar(b.graph.raw().getI64Type(), 0);
    Value isNone = b.compare(Predicate::Less, last, zero);
    Value value = b.gather(update, b.max(last, zero), 0);
    y = b.where(b.reshape(isNone, {slices, 1}), rows, value);
  }
  return b.reshape(y, shape);
}

} // namespace tinh
