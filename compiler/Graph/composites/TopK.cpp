//===- TopK.cpp - The first elements in an order ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/Composites.h"

#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace tinh {

using Kind = graph::ReduceKind;
using Predicate = graph::ComparePredicate;

namespace {

/// The order that elements are taken in: the largest first, or the smallest.
struct Order {
  GraphOps &b;
  bool largest;

  Value isBefore(Value x, Value y) {
    return b.compare(largest ? Predicate::Greater : Predicate::Less, x, y);
  }

  Value isSame(Value x, Value y) { return b.compare(Predicate::Equal, x, y); }

  Value isBeforeOrSame(Value x, Value y) {
    return b.compare(largest ? Predicate::GreaterEqual : Predicate::LessEqual,
                     x, y);
  }

  /// What comes first in x, along the last dimension, which stays with
  /// extent 1.
  Value first(Value x) {
    return b.reduce(largest ? Kind::Max : Kind::Min, x, b.rank(x) - 1,
                    /*keepdims=*/true);
  }

  /// A scalar that nothing comes after.
  Value last(Type element) {
    if (isa<FloatType>(element))
      return infinity(element, !largest);
    auto integer = cast<IntegerType>(element);
    unsigned bits = integer.getWidth();
    int64_t low = 0, high = -1; // All bits, of an unsigned type of any width.
    if (!integer.isUnsigned() && bits > 1) {
      low = llvm::minIntN(bits);
      high = llvm::maxIntN(bits);
    }
    return b.cast(b.constantInts({}, {largest ? low : high}), element);
  }

  /// x with the infinity that comes first for NaN, which has no place in order.
  Value withoutNan(Value x) {
    Type element = GraphOps::element(x);
    if (!isa<FloatType>(element))
      return x;
    Value isNan = b.create<graph::IsNanOp>({x});
    return b.where(isNan, infinity(element, largest), x);
  }

private:
  Value infinity(Type element, bool positive) {
    double infinity = std::numeric_limits<double>::infinity();
    return b.scalar(element, positive ? infinity : -infinity);
  }
};

/// The indices of the first `count` elements along the last dimension, one
/// after another: the first value of those that come after the one taken last,
/// then the lowest index where it is. Each is one reduction, in which what
/// leads to it is computed, and all steps have the same two kernels.
Value takeOneByOne(Order order, Value x, int64_t count) {
  GraphOps &b = order.b;
  int64_t axis = b.rank(x) - 1, extent = b.shape(x)[axis];
  Type i32 = b.graph.raw().getI32Type(), i64 = b.graph.raw().getI64Type();
  Value position = b.cast(b.iota(extent), i32);
  Value last = order.last(b.element(x)), none = b.scalar(i32, extent);
  Value value = order.first(x), after = b.scalar(i32, -1);
  SmallVector<Value> indices;
  while (true) {
    Value hit = b.create<graph::AndOp>(
        {order.isSame(x, value),
         b.compare(Predicate::Greater, position, after)});
    Value index = b.reduce(Kind::Min, b.where(hit, position, none), axis, true);
    indices.push_back(index);
    if (b.failed() || static_cast<int64_t>(indices.size()) == count)
      break;
    // Left are elements further in the order, or as far and behind this one.
    Value isBehind = b.create<graph::AndOp>(
        {order.isBeforeOrSame(value, x),
         b.compare(Predicate::Greater, position, index)});
    Value isLeft = b.create<graph::OrOp>({order.isBefore(value, x), isBehind});
    Value next = order.first(b.where(isLeft, x, last));
    after = b.where(order.isSame(next, value), index, b.scalar(i32, -1));
    value = next;
  }
  return b.cast(b.concat(indices, axis), i64);
}

/// How many elements come before each, along the last dimension: of equal ones
/// those with a lower index. Pairs are compared, so that all elements are
/// ranked at the same time.
Value rankElements(Order order, Value x) {
  GraphOps &b = order.b;
  Ints row(b.shape(x)), column(row);
  int64_t extent = row.back();
  column.push_back(1);
  row.insert(row.end() - 1, 1);
  Value mine = b.reshape(x, column), other = b.reshape(x, row);
  Value isEarlier = b.compare(Predicate::Less, b.iota(extent),
                              b.reshape(b.iota(extent), {extent, 1}));
  Value isBefore = b.create<graph::OrOp>(
      {order.isBefore(other, mine),
       b.create<graph::AndOp>({order.isSame(other, mine), isEarlier})});
  Value ones = b.cast(isBefore, b.graph.raw().getI32Type());
  return b.reduce(Kind::Sum, ones, static_cast<int64_t>(row.size()) - 1, false);
}

/// The index of the element of each rank below `count`.
Value indicesOfRanks(GraphOps &b, Value ranks, int64_t count) {
  Ints row(b.shape(ranks));
  int64_t extent = row.back();
  row.insert(row.end() - 1, 1);
  Type i32 = b.graph.raw().getI32Type(), i64 = b.graph.raw().getI64Type();
  Value wanted = b.reshape(b.cast(b.iota(count), i32), {count, 1});
  Value hit = b.compare(Predicate::Equal, b.reshape(ranks, row), wanted);
  Value index = b.where(hit, b.iota(extent), b.scalar(i64, 0));
  return b.reduce(Kind::Sum, index, static_cast<int64_t>(row.size()) - 1,
                  false);
}

/// As `x`, along the last dimension, with what comes last up to an extent.
Value padLast(Order order, Value x, int64_t extent) {
  GraphOps &b = order.b;
  Ints missing(b.shape(x));
  missing.back() = extent - missing.back();
  if (missing.back() == 0)
    return x;
  Value last = b.broadcast(order.last(b.element(x)), missing);
  return b.concat({x, last}, b.rank(x) - 1);
}

Value takeFirst(Order order, Value x, int64_t count);

/// The indices of the first `count` elements, which are among the first so many
/// of each block. What fills the last block comes after all elements: it is
/// last in the order, and of equal elements the one behind is taken later.
Value takeFromBlocks(Order order, Value x, int64_t count, int64_t block) {
  GraphOps &b = order.b;
  int64_t axis = b.rank(x) - 1;
  int64_t blocks = llvm::divideCeil(b.shape(x)[axis], block);
  Value padded = padLast(order, x, blocks * block);
  Ints shape(b.shape(x)), candidates(shape);
  shape.back() = blocks;
  shape.push_back(block);
  candidates.back() = blocks * count;
  Value found = takeFirst(order, b.reshape(padded, shape), count);
  Value starts = b.reshape(b.iota(blocks, 0, block), {blocks, 1});
  Value indices = b.reshape(b.add(found, starts), candidates);
  auto gather = [&](Value from, Value at) {
    return b.create<graph::GatherElementsOp>({from, at},
                                             {b.attr("axis", axis)});
  };
  return gather(indices, takeFirst(order, gather(padded, indices), count));
}

/// The indices of the first `count` elements along the last dimension.
Value takeFirst(Order order, Value x, int64_t count) {
  constexpr int64_t kMostSteps = 16, kWorthStep = 4, kMostRanked = 65536;
  // Each element is compared with those of its block.
  constexpr int64_t kLeastBlock = 256, kBlockOverCount = 4, kWorthBlocks = 2;
  if (order.b.failed())
    return {};
  int64_t extent = GraphOps::shape(x).back();
  if (count >= 1 && count <= kMostSteps && count * kWorthStep <= extent)
    return takeOneByOne(order, x, count);
  int64_t block = std::max<int64_t>(kLeastBlock, kBlockOverCount * count);
  if (count >= 1 && extent >= kWorthBlocks * block)
    return takeFromBlocks(order, x, count, block);
  if (extent > kMostRanked)
    return order.b.fail("cannot take the first " + Twine(count) + " of " +
                        Twine(extent) + " elements: of more than " +
                        Twine(kMostRanked) + ", at most an eighth is taken");
  return indicesOfRanks(order.b, rankElements(order, x), count);
}

} // namespace

Value topK(GraphOps &b, Value x, int64_t axis, int64_t count, bool largest) {
  int64_t rank = b.rank(x);
  if (count < 0 || count > b.shape(x)[axis])
    return b.fail("cannot take the first " + Twine(count) + " of " +
                  Twine(b.shape(x)[axis]) + " elements");
  Ints permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[axis], permutation[rank - 1]);
  bool isLast = axis == rank - 1;
  Order order{b, largest};
  Value rows = order.withoutNan(isLast ? x : b.transpose(x, permutation));
  if (!rows)
    return {};
  // What is used is a part of each block, too.
  if (b.graph.isBounded(x, axis))
    rows = fillPadding(b, rows, order.last(b.element(x)));
  Value indices = takeFirst(order, rows, count);
  return isLast ? indices : b.transpose(indices, permutation);
}

} // namespace tinh
