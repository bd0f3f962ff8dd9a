//===- Scatter.cpp - Elements put at computed places ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Windows.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

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

/// Each maximum at its index in the tensor that was pooled, among zeros.
Results maxUnpool(NodeBuilder &b) {
  Value x = b.input(0), indices = b.input(1);
  auto w = readWindows(b, x, {});
  if (!w)
    return {Value()};
  size_t rank = w->kernel.size();
  Ints pooled(b.shape(x));
  for (size_t i = 0; i < rank; ++i)
    pooled[2 + i] = (pooled[2 + i] - 1) * w->strides[i] + w->kernel[i] -
                    w->padding[i] - w->padding[rank + i];
  auto count = countElements(pooled);
  if (!count || b.shape(indices) != b.shape(x))
    return {b.fail("the maxima " + graph::shapeToString(x.getType()) +
                   " with the indices " +
                   graph::shapeToString(indices.getType()) +
                   " cannot stem from " + formatShape(pooled))};
  int64_t given = b.type(x).getNumElements();
  Value zero = b.scalarLike(x, 0);
  auto assign = graph::ScatterKindAttr::get(b.graph.context(),
                                            graph::ScatterKind::Assign);
  Value y = b.create<graph::ScatterElementsOp>(
      {b.broadcast(zero, *count), b.reshape(indices, given),
       b.reshape(x, given)},
      {b.attr("kind", assign), b.attr("axis", int64_t(0))});
  y = b.reshape(y, pooled);
  if (!b.has(2))
    return {y};
  auto wanted = b.ints(2, "output_shape");
  if (!wanted)
    return {Value()};
  Ints low(pooled.size(), 0), high(low);
  for (size_t i = 0; i < pooled.size() && wanted->size() == pooled.size(); ++i)
    high[i] = (*wanted)[i] - pooled[i];
  if (wanted->size() != pooled.size() ||
      llvm::any_of(high, [](int64_t more) { return more < 0; }))
    return {b.fail("expected an output_shape of " + formatShape(pooled) +
                   " or more, found " + formatShape(*wanted))};
  return {b.pad(y, zero, low, high)};
}

} // namespace

OpFamily scatterOps() {
  return {{"MaxUnpool", maxUnpool},
          {"Scatter", scatterElements},
          {"ScatterElements", scatterElements},
          {"ScatterND", scatterNd},
          {"TensorScatter", tensorScatter}};
}

} // namespace tinh::onnx
