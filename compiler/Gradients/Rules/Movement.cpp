//===- Movement.cpp - Gradients of ops that move elements -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

using namespace mlir;

namespace tinh::gradients {

using graph::PadMode;
using graph::ReduceKind;

static Value pad(GraphOps &ops, Value x, Value value, ArrayRef<int64_t> low,
                 ArrayRef<int64_t> high) {
  if (llvm::all_of(low, [](int64_t n) { return n == 0; }) &&
      llvm::all_of(high, [](int64_t n) { return n == 0; }))
    return x;
  return ops.pad(x, value, low, high);
}

/// Zeros before and after one dimension; negative amounts cut.
static Value padAxis(GraphOps &ops, Value x, int64_t axis, int64_t low,
                     int64_t high) {
  if (!x)
    return {};
  Ints before(GraphOps::rank(x), 0), after(before);
  before[axis] = low;
  after[axis] = high;
  return pad(ops, x, ops.scalarLike(x, 0), before, after);
}

/// The dimension in the opposite order.
static Value reverse(GraphOps &ops, Value x, int64_t axis) {
  if (!x)
    return {};
  Ints starts(GraphOps::rank(x), 0), sizes(GraphOps::shape(x)),
      steps(GraphOps::rank(x), 1);
  starts[axis] = std::max<int64_t>(sizes[axis] - 1, 0);
  steps[axis] = -1;
  return ops.create<graph::SliceOp>({x}, {ops.attr("starts", starts),
                                          ops.attr("sizes", sizes),
                                          ops.attr("steps", steps)});
}

//===----------------------------------------------------------------------===//
// reshape, broadcast, transpose, concat
//===----------------------------------------------------------------------===//

static void differentiateReshape(Vjp<graph::ReshapeOp> &vjp) {
  vjp.give(0, [&] {
    return vjp.ops.reshape(vjp.dy(), GraphOps::shape(vjp.op.getX()));
  });
}

static void differentiateBroadcast(Vjp<graph::BroadcastOp> &vjp) {
  vjp.give(0, [&] { return vjp.dy(); });
}

static void differentiateTranspose(Vjp<graph::TransposeOp> &vjp) {
  Ints inverse(vjp.op.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(vjp.op.getPermutation()))
    inverse[from] = static_cast<int64_t>(to);
  vjp.give(0, [&] { return vjp.ops.transpose(vjp.dy(), inverse); });
}

static void differentiateConcat(Vjp<graph::ConcatOp> &vjp) {
  auto axis = static_cast<int64_t>(vjp.op.getAxis());
  int64_t start = 0;
  for (auto [i, input] : llvm::enumerate(vjp.op.getInputs())) {
    int64_t size = GraphOps::shape(input)[axis];
    vjp.give(i, [&] { return vjp.ops.sliceAxis(vjp.dy(), axis, start, size); });
    start += size;
  }
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

/// `x` with step - 1 zeros after each element of a dimension.
static Value dilate(GraphOps &ops, Value x, int64_t axis, int64_t step) {
  if (!x || step == 1)
    return x;
  Ints apart(GraphOps::shape(x)), together(apart);
  apart.insert(apart.begin() + axis + 1, 1);
  together[axis] *= step;
  return ops.reshape(padAxis(ops, ops.reshape(x, apart), axis + 1, 0, step - 1),
                     together);
}

/// Puts what was sliced back among zeros.
static void differentiateSlice(Vjp<graph::SliceOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    ArrayRef<int64_t> extents = GraphOps::shape(vjp.op.getX());
    Value dx = vjp.dy();
    Ints low(vjp.op.getStarts()), high;
    for (auto [i, size] : llvm::enumerate(vjp.op.getSizes())) {
      auto axis = static_cast<int64_t>(i);
      int64_t step = vjp.op.getSteps()[i];
      if (step < 0) {
        low[i] += (size - 1) * step;
        dx = reverse(ops, dx, axis);
      }
      dx = dilate(ops, dx, axis, std::abs(step));
      if (size == 0)
        low[i] = 0;
      high.push_back(extents[i] - low[i] - size * std::abs(step));
    }
    return dx ? pad(ops, dx, ops.scalarLike(dx, 0), low, high) : Value();
  });
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

/// What the `size` elements from `start` on, which repeat elements of x, give
/// to these, as a tensor of the extent that x has: edges are summed up,
/// reflections turned round; `to` is where the first of x's elements lies.
static Value foldBack(GraphOps &ops, Value dy, PadMode mode, int64_t axis,
                      int64_t start, int64_t size, int64_t to, int64_t extent) {
  Value part = ops.sliceAxis(dy, axis, start, size);
  if (mode == PadMode::Edge)
    part = ops.reduce(ReduceKind::Sum, part, axis, /*keepdims=*/true);
  if (mode == PadMode::Reflect)
    part = reverse(ops, part, axis);
  int64_t length = mode == PadMode::Edge ? 1 : size;
  return padAxis(ops, part, axis, to, extent - to - length);
}

/// The gradient before one dimension of extent `extent` was padded.
static Value unpad(GraphOps &ops, Value dy, PadMode mode, int64_t axis,
                   int64_t extent, int64_t low, int64_t high) {
  Value dx = padAxis(ops, dy, axis, -low, -high);
  if (mode == PadMode::Constant)
    return dx;
  // The first elements that repeat some of x, and the last ones.
  int64_t size = GraphOps::shape(dy)[axis];
  int64_t before = std::min(low, size), after = std::max(low + extent, 0L);
  int64_t firstTo = mode == PadMode::Edge      ? 0
                    : mode == PadMode::Reflect ? low - before + 1
                                               : extent - low;
  int64_t lastTo = mode == PadMode::Edge      ? extent - 1
                   : mode == PadMode::Reflect ? extent - 1 - high
                                              : after - low - extent;
  if (before > 0)
    dx = ops.add(dx, foldBack(ops, dy, mode, axis, 0, before, firstTo, extent));
  if (size > after)
    dx = ops.add(
        dx, foldBack(ops, dy, mode, axis, after, size - after, lastTo, extent));
  return dx;
}

static void differentiatePad(Vjp<graph::PadOp> &vjp) {
  GraphOps &ops = vjp.ops;
  Value x = vjp.op.getX();
  PadMode mode = vjp.op.getMode();
  ArrayRef<int64_t> low = vjp.op.getLow(), high = vjp.op.getHigh();
  vjp.give(0, [&] {
    Value dx = vjp.dy();
    for (int64_t axis = 0; axis < GraphOps::rank(x) && dx; ++axis)
      if (low[axis] || high[axis])
        dx = unpad(ops, dx, mode, axis, GraphOps::shape(x)[axis], low[axis],
                   high[axis]);
    return dx;
  });
  vjp.give(1, [&] {
    if (mode != PadMode::Constant)
      return Value();
    Value isPadding =
        pad(ops, zerosLike(ops, x), ops.scalarLike(x, 1), low, high);
    // Broadcasting a scalar to y is what is summed up.
    return ops.mul(vjp.dy(), isPadding);
  });
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void attachMovementRules(MLIRContext *context) {
  attachRules<differentiateReshape, differentiateBroadcast,
              differentiateTranspose, differentiateConcat, differentiateSlice,
              differentiatePad>(context);
}

} // namespace tinh::gradients
