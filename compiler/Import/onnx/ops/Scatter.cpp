//===- Scatter.cpp - ScatterElements, ScatterND, TensorScatter --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

using Predicate = graph::ComparePredicate;

/// How updates combine with what is there.
NamedAttribute readKind(NodeBuilder &b) {
  std::string reduction = b.stringAttribute("reduction", "none");
  auto kind =
      graph::symbolizeScatterKind(reduction == "none" ? "assign" : reduction);
  if (!kind || reduction == "assign") {
    b.fail("attribute reduction: unknown value \"" + reduction + "\"");
    kind = graph::ScatterKind::Assign;
  }
  return b.attr("kind", graph::ScatterKindAttr::get(b.graph.context(), *kind));
}

Results scatterElements(NodeBuilder &b) {
  Value data = b.input(0), indices = b.input(1), updates = b.input(2);
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(data));
  NamedAttribute kind = readKind(b);
  if (b.failed())
    return {Value()};
  return {b.create<graph::ScatterElementsOp>({data, indices, updates},
                                             {kind, b.attr("axis", *axis)})};
}

Results scatterNd(NodeBuilder &b) {
  Value data = b.input(0), indices = b.input(1), updates = b.input(2);
  return {b.create<graph::ScatterNdOp>({data, indices, updates}, readKind(b))};
}

/// The cache with an update in each sequence from an index on.
Results tensorScatter(NodeBuilder &b) {
  Value cache = b.input(0), update = b.input(1);
  auto axis = b.axis(b.intAttribute("axis", -2), b.rank(cache));
  if (!axis)
    return {Value()};
  std::string mode = b.stringAttribute("mode", "linear");
  Ints expected(b.shape(cache));
  int64_t extent = expected[*axis];
  if (b.rank(update) == b.rank(cache))
    expected[*axis] = b.shape(update)[*axis];
  int64_t length = expected[*axis];
  if (b.shape(update) != ArrayRef<int64_t>(expected) || length > extent ||
      length < 1 || *axis == 0 || (mode != "linear" && mode != "circular"))
    return {b.fail("the update " + graph::shapeToString(update.getType()) +
                   " or the mode \"" + mode + "\" does not fit the cache " +
                   graph::shapeToString(cache.getType()))};
  Type i64 = b.graph.raw().getI64Type();
  Ints along(b.rank(cache), 1), batch(along);
  along[*axis] = extent;
  batch[0] = b.shape(cache)[0];
  Value at = b.reshape(b.iota(extent), along);
  if (b.has(2))
    at = b.sub(at, b.reshape(b.cast(b.input(2), i64), batch));
  if (mode == "circular")
    at = b.create<graph::ModOp>({at, b.scalar(i64, extent)});
  Value isNew = b.create<graph::AndOp>(
      {b.compare(Predicate::GreaterEqual, at, b.scalar(i64, 0)),
       b.compare(Predicate::Less, at, b.scalar(i64, length))});
  Value clamped = b.min(b.max(at, b.scalar(i64, 0)), b.scalar(i64, length - 1));
  Value value = b.create<graph::GatherElementsOp>(
      {update, b.broadcast(clamped, b.shape(cache))}, {b.attr("axis", *axis)});
  return {b.where(isNew, value, cache)};
}

} // namespace

ArrayRef<OpEntry> scatterOps() {
  static const OpEntry entries[] = {
      {"Scatter", 9, 3, 3, scatterElements},
      {"ScatterElements", 11, 3, 3, scatterElements},
      {"ScatterND", 11, 3, 3, scatterNd},
      {"TensorScatter", 24, 2, 3, tensorScatter},
  };
  return entries;
}

} // namespace tinh::onnx
