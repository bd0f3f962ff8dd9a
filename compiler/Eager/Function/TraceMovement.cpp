//===- TraceMovement.cpp - Movement of elements as ops ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TracePrimitives.h"
#include "compiler/Eager/Function/TracedViews.h"
#include "compiler/Graph/Composites.h"

#include <limits>

using namespace mlir;

namespace tinh::eager {

Values traced::concat(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::Concat>().axis;
  SmallVector<Value> parts;
  for (const Input &input : primitive.inputs)
    parts.push_back(trace.read(*input.tensor));
  return ops.concat(parts, axis);
}

Values traced::pad(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const auto &[low, high, mode, value] = primitive.get<primitives::Pad>();
  const TensorImpl &x = primitive.input(0);
  static constexpr graph::PadMode kModes[] = {
      graph::PadMode::Constant, graph::PadMode::Edge, graph::PadMode::Reflect,
      graph::PadMode::Wrap};
  Value input = trace.read(x);
  auto kind = graph::PadModeAttr::get(trace.context(),
                                      kModes[static_cast<size_t>(mode)]);
  Value filling = mode == PadMode::Constant ? buildScalar(ops, value)
                                            : ops.scalarLike(input, 0);
  return ops.create<graph::PadOp>({input, filling},
                                  {ops.attr("low", toArrayRef(low)),
                                   ops.attr("high", toArrayRef(high)),
                                   ops.attr("mode", kind)});
}

Values traced::flip(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const Dims &axes = primitive.get<primitives::Flip>().axes;
  const TensorImpl &x = primitive.input(0);
  Ints starts(x.rank(), 0), steps(x.rank(), 1);
  for (int64_t axis : axes) {
    starts[axis] = x.sizes[axis] - 1;
    steps[axis] = -1;
  }
  return ops.create<graph::SliceOp>({trace.read(x)},
                                    {ops.attr("starts", starts),
                                     ops.attr("sizes", toArrayRef(x.sizes)),
                                     ops.attr("steps", steps)});
}

//===----------------------------------------------------------------------===//
// By index. The graph clamps what is out of bounds.
//===----------------------------------------------------------------------===//

Values traced::gather(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::Gather>().axis;
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  return ops.gather(trace.read(x), trace.read(indices), axis);
}

Values traced::gatherElements(GraphOps &ops, Trace &trace,
                              const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::GatherElements>().axis;
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  return ops.create<graph::GatherElementsOp>(
      {trace.read(x), trace.read(indices)}, {ops.attr("axis", axis)});
}

Values traced::gatherNd(GraphOps &ops, Trace &trace,
                        const Primitive &primitive) {
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  return ops.create<graph::GatherNdOp>({trace.read(x), trace.read(indices)},
                                       {ops.attr("batch_dims", int64_t(0))});
}

static NamedAttribute kindOf(ScatterOp op, GraphOps &ops) {
  static constexpr graph::ScatterKind kKinds[] = {
      graph::ScatterKind::Assign, graph::ScatterKind::Add,
      graph::ScatterKind::Mul, graph::ScatterKind::Max,
      graph::ScatterKind::Min};
  return ops.attr("kind",
                  graph::ScatterKindAttr::get(ops.graph.context(),
                                              kKinds[static_cast<size_t>(op)]));
}

Values traced::scatterElements(GraphOps &ops, Trace &trace,
                               const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::ScatterElements>();
  const TensorImpl &indices = primitive.input(1), &updates = primitive.input(2);
  return ops.create<graph::ScatterElementsOp>(
      {trace.read(primitive.input(0)), trace.read(indices),
       trace.read(updates)},
      {kindOf(op, ops), ops.attr("axis", axis)});
}

Values traced::scatterNd(GraphOps &ops, Trace &trace,
                         const Primitive &primitive) {
  ScatterOp op = primitive.get<primitives::ScatterNd>().op;
  const TensorImpl &indices = primitive.input(1), &updates = primitive.input(2);
  return ops.create<graph::ScatterNdOp>({trace.read(primitive.input(0)),
                                         trace.read(indices),
                                         trace.read(updates)},
                                        kindOf(op, ops));
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Ascending, NaN is the last of all, where topK would take it first.
static Value withNanAsInfinity(GraphOps &ops, Value x) {
  if (!isa<FloatType>(ops.element(x)))
    return x;
  double infinity = std::numeric_limits<double>::infinity();
  return ops.where(ops.create<graph::IsNanOp>({x}), ops.scalarLike(x, infinity),
                   x);
}

Values traced::sort(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const auto &[axis, descending, hasValues] = primitive.get<primitives::Sort>();
  Value x = trace.read(primitive.input(0));
  Value order = topK(ops, descending ? x : withNanAsInfinity(ops, x), axis,
                     primitive.output().sizes[axis], /*largest=*/descending);
  Values results;
  if (primitive.values())
    results.push_back(ops.create<graph::GatherElementsOp>(
        {x, order}, {ops.attr("axis", axis)}));
  if (primitive.indices())
    results.push_back(order);
  return results;
}

} // namespace tinh::eager
