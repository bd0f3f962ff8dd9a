//===- Indexing.cpp - Gradients of gathers and scatters -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a gather is the scatter that adds, and the other way round.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

using namespace mlir;

namespace tinh::gradients {

using graph::ComparePredicate;
using graph::ScatterKind;

static NamedAttribute kindOf(GraphOps &ops, ScatterKind kind) {
  return ops.attr("kind",
                  graph::ScatterKindAttr::get(ops.graph.context(), kind));
}

template <typename Op> static int64_t axisOf(Op op) {
  return static_cast<int64_t>(op.getAxis());
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

template <typename Op, typename Scatter>
static void differentiateGather(Vjp<Op> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    Value zeros = zerosLike(ops, vjp.op.getX());
    return ops.create<Scatter>(
        {zeros, vjp.op.getIndices(), vjp.dy()},
        {kindOf(ops, ScatterKind::Add), ops.attr("axis", axisOf(vjp.op))});
  });
}

/// The tuples of gather_nd with the indices of its batch dimensions in front.
static Value wholeTuples(GraphOps &ops, Value indices, int64_t batchDims) {
  Ints shape(GraphOps::shape(indices));
  shape.back() = 1;
  SmallVector<Value> parts;
  for (int64_t axis = 0; axis < batchDims; ++axis) {
    Ints row(shape.size(), 1);
    row[axis] = shape[axis];
    Value numbers = ops.cast(ops.reshape(ops.iota(shape[axis]), row),
                             GraphOps::element(indices));
    parts.push_back(ops.broadcast(numbers, shape));
  }
  parts.push_back(indices);
  return ops.concat(parts, static_cast<int64_t>(shape.size()) - 1);
}

static void differentiateGatherNd(Vjp<graph::GatherNdOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    Value indices = wholeTuples(ops, vjp.op.getIndices(),
                                static_cast<int64_t>(vjp.op.getBatchDims()));
    return ops.create<graph::ScatterNdOp>(
        {zerosLike(ops, vjp.op.getX()), indices, vjp.dy()},
        kindOf(ops, ScatterKind::Add));
  });
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

namespace {

/// Gathers and scatters at the indices of a scatter.
template <typename Op> struct Places {
  static constexpr bool isNd = std::is_same_v<Op, graph::ScatterNdOp>;
  static constexpr bool isElements =
      std::is_same_v<Op, graph::ScatterElementsOp>;

  GraphOps &ops;
  Op op;

  Value gather(Value x) {
    if constexpr (isNd)
      return ops.create<graph::GatherNdOp>({x, op.getIndices()},
                                           ops.attr("batch_dims", 0L));
    else if constexpr (isElements)
      return ops.create<graph::GatherElementsOp>({x, op.getIndices()},
                                                 ops.attr("axis", axisOf(op)));
    else
      return ops.gather(x, op.getIndices(), axisOf(op));
  }
  Value scatter(ScatterKind kind, Value x, Value updates) {
    SmallVector<NamedAttribute> attributes = {kindOf(ops, kind)};
    if constexpr (!isNd)
      attributes.push_back(ops.attr("axis", axisOf(op)));
    return ops.create<Op>({x, op.getIndices(), updates}, attributes);
  }
  Value isLast();
};

} // namespace

/// Which updates stay when updates are assigned in turn, broadcasting to them:
/// each place remembers the number of the last one.
template <typename Op> Value Places<Op>::isLast() {
  Ints numbersShape(GraphOps::shape(op.getIndices())), kept = numbersShape;
  Ints placesShape(GraphOps::shape(op.getX()));
  if constexpr (isNd) {
    placesShape.resize(numbersShape.pop_back_val());
    kept = numbersShape;
    kept.resize(GraphOps::rank(op.getUpdates()), 1);
  } else if constexpr (!isElements) {
    placesShape = {placesShape[axisOf(op)]};
    kept.append(GraphOps::rank(op.getX()) - 1 - axisOf(op), 1);
  }
  Value numbers = ops.reshape(
      ops.iota(*countElements(numbersShape), /*start=*/1), numbersShape);
  if (!numbers)
    return {};
  Value none = ops.broadcast(ops.scalarLike(numbers, 0), placesShape);
  Value last, found;
  if constexpr (isNd || isElements) {
    last = scatter(ScatterKind::Assign, none, numbers);
    found = gather(last);
  } else {
    last = ops.create<Op>(
        {none, op.getIndices(), numbers},
        {kindOf(ops, ScatterKind::Assign), ops.attr("axis", 0L)});
    found = ops.gather(last, op.getIndices(), 0);
  }
  return ops.reshape(ops.compare(ComparePredicate::Equal, found, numbers),
                     kept);
}

template <typename Op> static void differentiateAssign(Vjp<Op> &vjp) {
  GraphOps &ops = vjp.ops;
  Places<Op> places = {ops, vjp.op};
  vjp.give(0, [&] {
    return places.scatter(ScatterKind::Assign, vjp.dy(),
                          zerosLike(ops, vjp.op.getUpdates()));
  });
  vjp.give(2, [&] {
    Value dy = places.gather(vjp.dy());
    return ops.where(places.isLast(), dy, ops.scalarLike(vjp.dy(), 0));
  });
}

/// An update's gradient is made of the other factors of its element: all of
/// them if none is zero, nothing but zeros if another one is.
template <typename Op> static void differentiateScatterMul(Vjp<Op> &vjp) {
  GraphOps &ops = vjp.ops;
  Places<Op> places = {ops, vjp.op};
  Value x = vjp.op.getX(), updates = vjp.op.getUpdates();
  vjp.give(0,
           [&] { return places.scatter(ScatterKind::Mul, vjp.dy(), updates); });
  vjp.give(2, [&] {
    Value zero = ops.scalarLike(updates, 0);
    Value isZero = ops.compare(ComparePredicate::Equal, updates, zero);
    Value factors = ops.where(isZero, ops.scalarLike(updates, 1), updates);
    Value product = places.scatter(ScatterKind::Mul, x, factors);
    Value others = ops.div(places.gather(ops.mul(vjp.dy(), product)), factors);
    Value zeros = ops.cast(isZero, GraphOps::element(updates));
    Value zerosAtPlace =
        places.scatter(ScatterKind::Add, zerosLike(ops, x), zeros);
    Value isOnly = ops.compare(ComparePredicate::Equal,
                               places.gather(zerosAtPlace), zeros);
    return ops.where(isOnly, others, zero);
  });
}

/// max and min: to the update, or element of x, that is the result; equal ones
/// share.
template <typename Op> static void differentiateScatterExtreme(Vjp<Op> &vjp) {
  GraphOps &ops = vjp.ops;
  Places<Op> places = {ops, vjp.op};
  Value x = vjp.op.getX(), updates = vjp.op.getUpdates();
  Type element = GraphOps::element(x);
  Value xWins = ops.compare(ComparePredicate::Equal, x, vjp.y());
  Value updateWins =
      ops.compare(ComparePredicate::Equal, updates, places.gather(vjp.y()));
  Value count = places.scatter(ScatterKind::Add, ops.cast(xWins, element),
                               ops.cast(updateWins, element));
  Value share = ops.div(vjp.dy(), count), zero = ops.scalarLike(x, 0);
  vjp.give(0, [&] { return ops.where(xWins, share, zero); });
  vjp.give(2,
           [&] { return ops.where(updateWins, places.gather(share), zero); });
}

template <typename Op> static void differentiateScatter(Vjp<Op> &vjp) {
  switch (vjp.op.getKind()) {
  case ScatterKind::Assign:
    return differentiateAssign(vjp);
  case ScatterKind::Add:
    vjp.give(0, [&] { return vjp.dy(); });
    vjp.give(2, [&] { return Places<Op>{vjp.ops, vjp.op}.gather(vjp.dy()); });
    return;
  case ScatterKind::Mul:
    return differentiateScatterMul(vjp);
  case ScatterKind::Max:
  case ScatterKind::Min:
    return differentiateScatterExtreme(vjp);
  }
  llvm_unreachable("all kinds are listed");
}

void attachIndexingRules(MLIRContext *context) {
  using namespace graph;
  attachRules<differentiateGather<GatherOp, ScatterOp>,
              differentiateGather<GatherElementsOp, ScatterElementsOp>,
              differentiateGatherNd, differentiateScatter<ScatterOp>,
              differentiateScatter<ScatterElementsOp>,
              differentiateScatter<ScatterNdOp>>(context);
}

} // namespace tinh::gradients
