//===- Reduction.cpp - Gradients of reductions and scans ------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

using namespace mlir;

namespace tinh::gradients {

using graph::ComparePredicate;
using graph::ReduceKind;

namespace {

/// What a reduction of `x` over `axes` gives, and its opposite.
struct Reduced {
  GraphOps &ops;
  Value x;
  ArrayRef<int64_t> axes;

  /// A result, with the reduced dimensions as 1.
  Value kept(Value result) {
    Ints shape(GraphOps::shape(x));
    for (int64_t axis : axes)
      shape[axis] = 1;
    return ops.reshape(result, shape);
  }
  /// Number of elements that one result is made of.
  double count() {
    double count = 1;
    for (int64_t axis : axes)
      count *= static_cast<double>(GraphOps::shape(x)[axis]);
    return count;
  }
  Value spread(Value result) {
    return ops.broadcast(kept(result), GraphOps::shape(x));
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// prod
//===----------------------------------------------------------------------===//

/// `x` moved by `distance` along `axis`, with `behind` where it was.
static Value shift(GraphOps &ops, Value x, int64_t axis, int64_t distance,
                   double behind) {
  Ints low(GraphOps::rank(x), 0), high(low);
  low[axis] = distance;
  high[axis] = -distance;
  return ops.pad(x, ops.scalarLike(x, behind), low, high);
}

/// The product of all elements before each one along the last dimension, or
/// after it: with twice as many factors in each step.
static Value productOfOthers(GraphOps &ops, Value x, bool before) {
  int64_t count = GraphOps::shape(x).back(), sign = before ? 1 : -1;
  int64_t axis = GraphOps::rank(x) - 1;
  Value product = shift(ops, x, axis, sign, 1);
  for (int64_t distance = 1; distance < count; distance *= 2)
    product = ops.mul(product, shift(ops, product, axis, sign * distance, 1));
  return product;
}

/// The product of the other factors of each element. It is not y / x, which
/// would be of no use where x is 0.
static Value slopeOfProduct(Reduced &reduced) {
  GraphOps &ops = reduced.ops;
  Ints order, inverse(GraphOps::rank(reduced.x));
  for (int64_t axis = 0; axis < GraphOps::rank(reduced.x); ++axis)
    if (!llvm::is_contained(reduced.axes, axis))
      order.push_back(axis);
  llvm::append_range(order, reduced.axes);
  for (auto [to, from] : llvm::enumerate(order))
    inverse[from] = static_cast<int64_t>(to);

  Value moved = ops.transpose(reduced.x, order);
  Ints shape(GraphOps::shape(moved));
  auto count = static_cast<int64_t>(reduced.count());
  Ints rows(shape.begin(), shape.end() - reduced.axes.size());
  rows.push_back(count);
  Value x = ops.reshape(moved, rows);
  Value others = ops.mul(productOfOthers(ops, x, /*before=*/true),
                         productOfOthers(ops, x, /*before=*/false));
  return ops.transpose(ops.reshape(others, shape), inverse);
}

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

/// max and min: to the element that is the result; equal ones share.
static Value gradientOfExtreme(Reduced &reduced, Value y, Value dy) {
  GraphOps &ops = reduced.ops;
  Value x = reduced.x;
  Value isResult = ops.compare(ComparePredicate::Equal, x, reduced.kept(y));
  Value count =
      ops.reduce(ReduceKind::Sum, ops.cast(isResult, GraphOps::element(x)),
                 reduced.axes, /*keepdims=*/true);
  return ops.where(isResult, ops.div(reduced.kept(dy), count),
                   ops.scalarLike(x, 0));
}

static Value gradientOfReduce(Vjp<graph::ReduceOp> &vjp) {
  GraphOps &ops = vjp.ops;
  Reduced reduced = {ops, vjp.op.getX(), vjp.op.getAxes()};
  if (reduced.axes.empty())
    return vjp.dy();
  switch (vjp.op.getKind()) {
  case ReduceKind::Sum:
    return reduced.spread(vjp.dy());
  case ReduceKind::Mean: {
    Value share = ops.scalarLike(reduced.x, 1 / reduced.count());
    return reduced.spread(ops.mul(vjp.dy(), share));
  }
  case ReduceKind::Prod:
    return ops.mul(reduced.kept(vjp.dy()), slopeOfProduct(reduced));
  case ReduceKind::Max:
  case ReduceKind::Min:
    return gradientOfExtreme(reduced, vjp.y(), vjp.dy());
  }
  llvm_unreachable("all kinds are listed");
}

static void differentiateReduce(Vjp<graph::ReduceOp> &vjp) {
  vjp.give(0, [&] { return gradientOfReduce(vjp); });
}

/// dx = dy · 2 (x - mean x) / n.
static void differentiateVariance(Vjp<graph::VarianceOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    Value x = vjp.op.getX();
    Reduced reduced = {ops, x, vjp.op.getAxes()};
    // As norms have it, with which it becomes one.
    Value mean = reduced.kept(ops.reduce(ReduceKind::Mean, x, reduced.axes,
                                         /*keepdims=*/false));
    Value scale =
        ops.mul(reduced.kept(vjp.dy()), ops.scalarLike(x, 2 / reduced.count()));
    return ops.mul(ops.sub(x, mean), scale);
  });
}

/// The sum of what each element was added to, which runs the other way.
static void differentiateCumsum(Vjp<graph::CumsumOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    SmallVector<NamedAttribute> attributes = {
        ops.attr("axis", static_cast<int64_t>(vjp.op.getAxis()))};
    if (vjp.op.getExclusive())
      attributes.push_back(ops.unit("exclusive"));
    if (!vjp.op.getReverse())
      attributes.push_back(ops.unit("reverse"));
    return ops.create<graph::CumsumOp>({vjp.dy()}, attributes);
  });
}

/// dx[i] = Π_{j < i} x[j] · s[i], where s[i] = dy[i] + x[i + 1] · s[i + 1] is
/// summed in steps of twice as many terms each. y / x[i] would be of no use
/// where that is 0.
static void differentiateCumprod(Vjp<graph::CumprodOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    Value x = vjp.op.getX();
    auto axis = static_cast<int64_t>(vjp.op.getAxis());
    int64_t extent = GraphOps::shape(x)[axis];
    if (extent == 0)
      return vjp.dy();
    int64_t next = vjp.op.getReverse() ? 1 : -1;
    SmallVector<NamedAttribute> attributes = {ops.attr("axis", axis),
                                              ops.unit("exclusive")};
    if (vjp.op.getReverse())
      attributes.push_back(ops.unit("reverse"));
    Value sum =
        vjp.op.getExclusive() ? shift(ops, vjp.dy(), axis, next, 0) : vjp.dy();
    Value factor = shift(ops, x, axis, next, 0);
    for (int64_t distance = 1; distance < extent; distance *= 2) {
      int64_t far = next * distance;
      sum = ops.add(sum, ops.mul(factor, shift(ops, sum, axis, far, 0)));
      factor = ops.mul(factor, shift(ops, factor, axis, far, 0));
    }
    Value before = ops.create<graph::CumprodOp>({x}, attributes);
    return ops.mul(before, sum);
  });
}

void attachReductionRules(MLIRContext *context) {
  attachRules<differentiateReduce, differentiateVariance, differentiateCumsum,
              differentiateCumprod>(context);
}

} // namespace tinh::gradients
