//===- TracedViews.cpp - Views of values ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TracedViews.h"

using namespace mlir;

namespace tinh::eager {

Value applyView(GraphOps &ops, const View &view, const Dims &sizes,
                Value source) {
  switch (view.kind) {
  case View::Slice:
    return ops.create<graph::SliceOp>(
        {source}, {ops.attr("starts", toArrayRef(view.starts)),
                   ops.attr("sizes", toArrayRef(sizes)),
                   ops.attr("steps", toArrayRef(view.steps))});
  case View::Transpose:
    return ops.transpose(source, toArrayRef(view.permutation));
  case View::Reshape:
    return ops.reshape(source, toArrayRef(sizes));
  case View::Broadcast:
    return ops.broadcast(source, toArrayRef(sizes));
  }
  llvm_unreachable("no such view");
}

namespace {

/// Replaces a box of a tensor, a dimension at a time.
class SliceWriter {
public:
  SliceWriter(GraphOps &ops, const View &view, const Dims &sizes)
      : ops(ops), view(view), sizes(sizes) {}

  /// `source`, whose dimensions before `axis` are those of the box already,
  /// with the box replaced by `value`.
  Value write(Value source, Value value, uint32_t axis) {
    while (axis < sizes.size() && isWhole(source, axis))
      ++axis;
    if (axis == sizes.size())
      return value;
    int64_t start = view.starts[axis], step = view.steps[axis];
    int64_t count = sizes[axis], extent = ops.shape(source)[axis];
    Value part =
        write(slice(source, axis, start, count, step), value, axis + 1);
    if (step > 1 && count > 1)
      return spread(source, part, axis);
    SmallVector<Value> pieces;
    if (start > 0)
      pieces.push_back(slice(source, axis, 0, start, 1));
    pieces.push_back(part);
    if (start + count < extent)
      pieces.push_back(
          slice(source, axis, start + count, extent - start - count, 1));
    return ops.concat(pieces, axis);
  }

private:
  bool isWhole(Value source, uint32_t axis) {
    return sizes[axis] == ops.shape(source)[axis];
  }

  Value slice(Value source, uint32_t axis, int64_t start, int64_t count,
              int64_t step) {
    Ints starts(ops.rank(source), 0), extents(ops.shape(source));
    Ints steps(ops.rank(source), 1);
    starts[axis] = start;
    extents[axis] = count;
    steps[axis] = step;
    return ops.create<graph::SliceOp>({source}, {ops.attr("starts", starts),
                                                 ops.attr("sizes", extents),
                                                 ops.attr("steps", steps)});
  }

  /// Each position along the axis takes its element of `part`, or keeps its
  /// own.
  Value spread(Value source, Value part, uint32_t axis) {
    int64_t extent = ops.shape(source)[axis];
    Ints from(extent, 0), maskShape(ops.rank(source), 1);
    SmallVector<bool> isTaken(extent, false);
    maskShape[axis] = extent;
    for (int64_t i = 0; i < sizes[axis]; ++i) {
      int64_t position = view.starts[axis] + i * view.steps[axis];
      from[position] = i;
      isTaken[position] = true;
    }
    auto maskType =
        RankedTensorType::get(maskShape, ops.graph.raw().getI1Type());
    Value mask = ops.graph.constant(
        DenseElementsAttr::get(maskType, ArrayRef<bool>(isTaken)));
    return ops.where(mask, ops.gather(part, ArrayRef<int64_t>(from), axis),
                     source);
  }

  GraphOps &ops;
  const View &view;
  const Dims &sizes;
};

} // namespace

Value undoView(GraphOps &ops, const View &view, const Dims &sizes, Value source,
               Value value) {
  switch (view.kind) {
  case View::Slice:
    return llvm::is_contained(toArrayRef(sizes), 0)
               ? source
               : SliceWriter(ops, view, sizes).write(source, value, 0);
  case View::Transpose: {
    Ints inverse(view.permutation.size());
    for (auto [i, dim] : llvm::enumerate(toArrayRef(view.permutation)))
      inverse[dim] = static_cast<int64_t>(i);
    return ops.transpose(value, inverse);
  }
  case View::Reshape:
    return ops.reshape(value, ops.shape(source));
  case View::Broadcast:
    if (ops.type(value).getNumElements() == ops.type(source).getNumElements())
      return ops.reshape(value, ops.shape(source));
    return ops.fail(
        "a view of an expanded tensor is written; clone() it first");
  }
  llvm_unreachable("no such view");
}

} // namespace tinh::eager
