//===- TraceMovement.cpp - Movement of elements as ops ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Function/TracedViews.h"
#include "compiler/Graph/Composites.h"

#include <limits>

using namespace mlir;

namespace tinh::eager {

void TraceBackend::concat(std::span<const TensorImpl *const> inputs,
                          int64_t axis, TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    SmallVector<Value> parts;
    for (const TensorImpl *input : inputs)
      parts.push_back(trace.read(*input));
    return ops.concat(parts, axis);
  });
}

void TraceBackend::pad(const TensorImpl &x, const Dims &low, const Dims &high,
                       PadMode mode, const Scalar &value, TensorImpl &out,
                       const Call &call) {
  static constexpr graph::PadMode kModes[] = {
      graph::PadMode::Constant, graph::PadMode::Edge, graph::PadMode::Reflect,
      graph::PadMode::Wrap};
  write(out, call, [&](GraphOps &ops) {
    Value input = trace.read(x);
    auto kind = graph::PadModeAttr::get(trace.context(),
                                        kModes[static_cast<size_t>(mode)]);
    Value filling = mode == PadMode::Constant ? buildScalar(ops, value)
                                              : ops.scalarLike(input, 0);
    return ops.create<graph::PadOp>({input, filling},
                                    {ops.attr("low", toArrayRef(low)),
                                     ops.attr("high", toArrayRef(high)),
                                     ops.attr("mode", kind)});
  });
}

void TraceBackend::flip(const TensorImpl &x, std::span<const int64_t> axes,
                        TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    Ints starts(x.rank(), 0), steps(x.rank(), 1);
    for (int64_t axis : axes) {
      starts[axis] = x.sizes[axis] - 1;
      steps[axis] = -1;
    }
    return ops.create<graph::SliceOp>({trace.read(x)},
                                      {ops.attr("starts", starts),
                                       ops.attr("sizes", toArrayRef(x.sizes)),
                                       ops.attr("steps", steps)});
  });
}

//===----------------------------------------------------------------------===//
// By index. The graph clamps what is out of bounds.
//===----------------------------------------------------------------------===//

void TraceBackend::gather(const TensorImpl &x, const TensorImpl &indices,
                          int64_t axis, TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.gather(trace.read(x), trace.read(indices), axis);
  });
}

void TraceBackend::gatherElements(const TensorImpl &x,
                                  const TensorImpl &indices, int64_t axis,
                                  TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.create<graph::GatherElementsOp>(
        {trace.read(x), trace.read(indices)}, {ops.attr("axis", axis)});
  });
}

void TraceBackend::gatherNd(const TensorImpl &x, const TensorImpl &indices,
                            TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.create<graph::GatherNdOp>({trace.read(x), trace.read(indices)},
                                         {ops.attr("batch_dims", int64_t(0))});
  });
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

void TraceBackend::scatterElements(ScatterOp op, const TensorImpl &indices,
                                   const TensorImpl &updates, int64_t axis,
                                   TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.create<graph::ScatterElementsOp>(
        {trace.read(out), trace.read(indices), trace.read(updates)},
        {kindOf(op, ops), ops.attr("axis", axis)});
  });
}

void TraceBackend::scatterNd(ScatterOp op, const TensorImpl &indices,
                             const TensorImpl &updates, TensorImpl &out,
                             const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.create<graph::ScatterNdOp>(
        {trace.read(out), trace.read(indices), trace.read(updates)},
        kindOf(op, ops));
  });
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

void TraceBackend::sort(const TensorImpl &x, int64_t axis, bool descending,
                        TensorImpl *values, TensorImpl *indices,
                        const Call &call) {
  int64_t count = values ? values->sizes[axis] : indices->sizes[axis];
  Value input = trace.read(x);
  Value order = trace.add(call, [&](GraphOps &ops) {
    return topK(ops, descending ? input : withNanAsInfinity(ops, input), axis,
                count, /*largest=*/descending);
  });
  if (values)
    write(*values, call, [&](GraphOps &ops) {
      return ops.create<graph::GatherElementsOp>({input, order},
                                                 {ops.attr("axis", axis)});
    });
  if (indices)
    trace.write(*indices, order);
}

} // namespace tinh::eager
