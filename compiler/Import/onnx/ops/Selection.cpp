//===- Selection.cpp - The largest, the chosen, the reversed ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/Composites.h"
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

Results topK(NodeBuilder &b) {
  Value x = b.input(0);
  auto axis = b.axis(b.intAttribute("axis", -1), b.rank(x));
  std::optional<Extents> count = Extents{{b.intAttribute("k", -1)}, {Value()}};
  if (b.opset() >= 10)
    count = b.extents(1, "k");
  if (!axis || !count)
    return {Value()};
  if (count->bounds.size() != 1)
    return {
        b.fail("k must be one number, found " + Twine(count->bounds.size()))};
  int64_t most = count->bounds.front();
  if (b.graph.isBounded(x, *axis))
    most = std::min(most, b.shape(x)[*axis]);
  Value indices =
      tinh::topK(b, x, *axis, most, b.intAttribute("largest", 1) != 0);
  if (Value size = count->sizes.front(); size && indices)
    indices = b.setDimensionSize(indices, *axis, size);
  Value values =
      b.create<graph::GatherElementsOp>({x, indices}, {b.attr("axis", *axis)});
  return {values, indices};
}

//===----------------------------------------------------------------------===//
// Selections by what the run computes: it decides how much they select
//===----------------------------------------------------------------------===//

Value compressByRun(NodeBuilder &b, Value x, Value condition, int64_t axis) {
  if (b.rank(condition) != 1 || !b.element(condition).isInteger(1) ||
      b.shape(condition)[0] > b.shape(x)[axis])
    return b.fail("expected a condition of at most " + Twine(b.shape(x)[axis]) +
                  " booleans, found " +
                  graph::shapeToString(condition.getType()));
  if (b.graph.isBounded(x, axis)) { // What is padding is not chosen.
    Value isUsed = b.compare(Predicate::Less, b.iota(b.shape(condition)[0]),
                             b.dimensionSize(x, axis));
    condition = b.create<graph::AndOp>({condition, isUsed});
  }
  return b.gather(x, indicesOfTrue(b, condition), axis);
}

/// The coordinates of flat indices: along a dimension, how often the elements
/// behind it fit into an index, modulo the dimension.
Value nonZeroByRun(NodeBuilder &b, Value x) {
  if (b.rank(x) == 0)
    x = b.reshape(x, {1});
  Type i64 = b.graph.raw().getI64Type();
  Type element = b.element(x);
  Value isNonZero = element.isInteger(1)
                        ? x
                        : b.compare(Predicate::NotEqual, x, b.scalarLike(x, 0));
  int64_t elements = b.type(x).getNumElements();
  Value indices = indicesOfTrue(b, b.reshape(isNonZero, {elements}));
  if (b.failed())
    return {};
  elements = b.shape(indices)[0];
  SmallVector<Value> rows(b.rank(x));
  for (int64_t d = b.rank(x); indices && d-- > 0;) {
    Value extent = b.max(b.dimensionSize(x, d), b.scalar(i64, 1));
    Value row = d == 0 ? indices : b.create<graph::ModOp>({indices, extent});
    rows[d] = b.reshape(row, {1, elements});
    indices = d == 0 ? indices : b.div(indices, extent);
  }
  return b.failed() ? Value() : b.concat(rows, 0);
}

//===----------------------------------------------------------------------===//
// Selections by constants: their results' shapes are fixed
//===----------------------------------------------------------------------===//

Results compress(NodeBuilder &b) {
  Value x = b.input(0), chosenByRun = b.input(1);
  bool isFlat = !b.hasAttribute("axis");
  if (isFlat)
    x = b.reshape(x, {b.type(x).getNumElements()});
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(x));
  if (!axis)
    return {Value()};
  if (!b.graph.constantOf(chosenByRun))
    return {compressByRun(b, x, chosenByRun, *axis)};
  auto condition = b.ints(1, "the condition");
  if (!condition)
    return {Value()};
  Ints chosen;
  for (auto [i, isChosen] : llvm::enumerate(*condition))
    if (isChosen)
      chosen.push_back(static_cast<int64_t>(i));
  if (static_cast<int64_t>(condition->size()) > b.shape(x)[*axis])
    return {b.fail("the condition has " + Twine(condition->size()) +
                   " elements, the axis " + Twine(b.shape(x)[*axis]))};
  return {b.gather(x, chosen, *axis)};
}

Results nonZero(NodeBuilder &b) {
  if (Value x = b.input(0); x && !b.graph.constantOf(x))
    return {nonZeroByRun(b, x)};
  auto values = b.numbers(0, "the input");
  if (!values)
    return {Value()};
  ArrayRef<int64_t> shape = b.shape(b.input(0));
  SmallVector<Ints> columns(shape.size());
  int64_t count = 0;
  for (auto [i, value] : llvm::enumerate(*values)) {
    if (value == 0)
      continue;
    ++count;
    auto rest = static_cast<int64_t>(i);
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      columns[d].push_back(rest % shape[d]);
  }
  Ints all;
  for (const Ints &column : columns)
    all.append(column);
  return {b.constantInts({static_cast<int64_t>(shape.size()), count}, all)};
}

/// The slices of a tensor along its first dimension, numbers of one type, in
/// classes of equal ones: the first slice of each, and the class of each.
struct Classes {
  Ints first, of;
};

/// In the order of the slices or, if `sorted`, of the numbers in them; a NaN is
/// after all others, and equal to another.
template <typename T>
Classes classesOf(ArrayRef<T> numbers, int64_t slices, bool sorted) {
  auto size =
      static_cast<int64_t>(numbers.size()) / std::max<int64_t>(slices, 1);
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < size; ++i) {
      T x = numbers[a * size + i], y = numbers[b * size + i];
      bool isLess = x < y || (x == x && y != y);
      if (isLess || y < x || (y == y && x != x))
        return isLess ? -1 : 1;
    }
    return 0;
  };
  Ints order = llvm::to_vector(llvm::seq<int64_t>(slices));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
  });
  Classes classes{{}, Ints(slices, 0)};
  for (auto [i, slice] : llvm::enumerate(order)) {
    if (i == 0 || compare(order[i - 1], slice) != 0)
      classes.first.push_back(slice);
    classes.of[slice] = static_cast<int64_t>(classes.first.size()) - 1;
  }
  if (sorted)
    return classes;
  Ints ranks = llvm::to_vector(
      llvm::seq<int64_t>(static_cast<int64_t>(classes.first.size())));
  llvm::sort(ranks, [&](int64_t a, int64_t b) {
    return classes.first[a] < classes.first[b];
  });
  Classes inOrder{{}, classes.of};
  Ints place(ranks.size(), 0);
  for (auto [i, rank] : llvm::enumerate(ranks)) {
    inOrder.first.push_back(classes.first[rank]);
    place[rank] = static_cast<int64_t>(i);
  }
  for (int64_t &of : inOrder.of)
    of = place[of];
  return inOrder;
}

Results unique(NodeBuilder &b) {
  Value x = b.input(0);
  auto axis =
      b.axis(b.intAttribute("axis", 0), std::max<int64_t>(b.rank(x), 1));
  if (!axis)
    return {Value()};
  bool isFlat = !b.hasAttribute("axis");
  if (isFlat || b.rank(x) == 0)
    x = b.reshape(x, {b.type(x).getNumElements()});
  int64_t slices = b.shape(x)[*axis], inner = 1;
  for (int64_t extent : b.shape(x).drop_front(*axis + 1))
    inner *= extent;
  // The numbers slice by slice.
  auto inSlices = [&](const auto &numbers) {
    std::decay_t<decltype(numbers)> result(numbers.size());
    auto each =
        static_cast<int64_t>(numbers.size()) / std::max<int64_t>(slices, 1);
    for (int64_t i = 0; i < static_cast<int64_t>(numbers.size()); ++i) {
      int64_t outer = i / (slices * inner), slice = i / inner % slices;
      result[slice * each + outer * inner + i % inner] = numbers[i];
    }
    return result;
  };
  bool sorted = b.intAttribute("sorted", 1);
  Classes classes;
  if (isa<IntegerType>(b.element(x))) {
    auto numbers = b.ints(0, "the input");
    if (!numbers)
      return {Value()};
    classes = classesOf<int64_t>(inSlices(*numbers), slices, sorted);
  } else {
    auto numbers = b.numbers(0, "the input");
    if (!numbers)
      return {Value()};
    classes = classesOf<double>(inSlices(*numbers), slices, sorted);
  }
  auto count = static_cast<int64_t>(classes.first.size());
  Ints counts(count, 0);
  for (int64_t of : classes.of)
    ++counts[of];
  return {b.gather(x, classes.first, *axis),
          b.constantInts(count, classes.first),
          b.constantInts(slices, classes.of), b.constantInts(count, counts)};
}

//===----------------------------------------------------------------------===//
// ReverseSequence
//===----------------------------------------------------------------------===//

Results reverseSequence(NodeBuilder &b) {
  Value x = b.input(0), lengths = b.input(1);
  auto time = b.axis(b.intAttribute("time_axis", 0), b.rank(x));
  auto batch = b.axis(b.intAttribute("batch_axis", 1), b.rank(x));
  if (!time || !batch)
    return {Value()};
  if (*time == *batch || b.rank(lengths) != 1 ||
      b.shape(lengths)[0] != b.shape(x)[*batch])
    return {b.fail("expected a length for each of " +
                   Twine(b.shape(x)[*batch]) + " sequences, found " +
                   graph::shapeToString(lengths.getType()))};
  Type i64 = b.graph.raw().getI64Type();
  Ints alongTime(b.rank(x), 1), alongBatch(alongTime);
  alongTime[*time] = b.shape(x)[*time];
  alongBatch[*batch] = b.shape(x)[*batch];
  Value at = b.reshape(b.iota(b.shape(x)[*time]), alongTime);
  Value length = b.reshape(b.cast(lengths, i64), alongBatch);
  Value mirrored = b.sub(b.sub(length, b.scalar(i64, 1)), at);
  Value index = b.where(b.compare(Predicate::Less, at, length), mirrored, at);
  return {b.create<graph::GatherElementsOp>({x, b.broadcast(index, b.shape(x))},
                                            {b.attr("axis", *time)})};
}

} // namespace

OpFamily selectionOps() {
  return {{"Compress", compress},
          {"NonZero", nonZero},
          {"ReverseSequence", reverseSequence},
          {"TopK", topK},
          {"Unique", unique}};
}

} // namespace tinh::onnx
