//===- Pooling.cpp - Gradients of pooling ---------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

#include <limits>

using namespace mlir;

namespace tinh::gradients {

namespace {

/// Windows that move over the spatial dimensions of x.
struct Windows {
  Ints x, y, kernel, strides, padding, dilations;
  graph::Layout layout;

  template <typename Op>
  Windows(Op op, Value x, Value y)
      : x(GraphOps::shape(x)), y(GraphOps::shape(y)), kernel(op.getKernel()),
        strides(op.getStrides()), padding(op.getPadding()),
        dilations(op.getDilations()), layout(op.getLayout()) {}

  size_t rank() const { return kernel.size(); }
  bool channelsFirst() const { return layout == graph::Layout::ChannelsFirst; }
  int64_t axis(size_t i) const {
    return static_cast<int64_t>(i) + (channelsFirst() ? 2 : 1);
  }
  int64_t channels() const { return channelsFirst() ? x[1] : x.back(); }
  SmallVector<NamedAttribute> attributes(GraphOps &ops) const {
    return {ops.attr("strides", strides), ops.attr("padding", padding),
            ops.attr("dilations", dilations),
            ops.attr("layout",
                     graph::LayoutAttr::get(ops.graph.context(), layout))};
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// max_pool
//===----------------------------------------------------------------------===//

static void differentiateMaxPool(Vjp<graph::MaxPoolOp> &vjp) {
  graph::MaxPoolOp op = vjp.op;
  Windows w(op, op.getX(), op.getY());
  vjp.give(0, [&] {
    SmallVector<NamedAttribute> attributes = w.attributes(vjp.ops);
    attributes.push_back(vjp.ops.attr("kernel", w.kernel));
    return vjp.ops.create<graph::MaxPoolGradientOp>({op.getX(), vjp.dy()},
                                                    attributes);
  });
}

/// The elements under each window of x, or `outside`, in a last dimension of
/// their own: y's shape, then the taps.
static Value elementsOfWindows(GraphOps &ops, const Windows &w, Value x,
                               double outside) {
  size_t rank = w.rank();
  Ints low(w.x.size(), 0), high(low), shape, permutation, taps;
  for (size_t i = 0; i < rank; ++i) {
    low[w.axis(i)] = w.padding[i];
    high[w.axis(i)] = w.padding[rank + i];
  }
  x = ops.pad(x, ops.scalarLike(x, outside), low, high);
  for (size_t i = 0; i < rank; ++i) {
    Ints indices;
    for (int64_t window = 0; window < w.y[w.axis(i)]; ++window)
      for (int64_t tap = 0; tap < w.kernel[i]; ++tap)
        indices.push_back(window * w.strides[i] + tap * w.dilations[i]);
    x = ops.gather(x, indices, w.axis(i));
  }
  // Each spatial dimension holds windows and, within them, taps.
  int64_t all = 1;
  for (size_t d = 0; d < w.y.size(); ++d) {
    permutation.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(w.y[d]);
    int64_t i = static_cast<int64_t>(d) - w.axis(0);
    if (i < 0 || i >= static_cast<int64_t>(rank))
      continue;
    taps.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(w.kernel[i]);
    all *= w.kernel[i];
  }
  llvm::append_range(permutation, taps);
  Ints result(w.y);
  result.push_back(all);
  return ops.reshape(ops.transpose(ops.reshape(x, shape), permutation), result);
}

/// max_pool_gradient moves each element of dy to the place of its window's
/// largest element: what is asked for is what lies there.
static void differentiateMaxPoolGradient(Vjp<graph::MaxPoolGradientOp> &vjp) {
  graph::MaxPoolGradientOp op = vjp.op;
  GraphOps &ops = vjp.ops;
  Windows w(op, op.getX(), op.getDy());
  vjp.give(1, [&] {
    double lowest = -std::numeric_limits<double>::infinity();
    Value elements = elementsOfWindows(ops, w, op.getX(), lowest);
    Value moved = elementsOfWindows(ops, w, vjp.dy(), 0);
    int64_t axis = static_cast<int64_t>(w.y.size());
    Value largest = ops.create<graph::ArgmaxOp>(
        {elements}, {ops.attr("axis", axis), ops.unit("keepdims")});
    Value found = ops.create<graph::GatherElementsOp>({moved, largest},
                                                      {ops.attr("axis", axis)});
    return ops.reshape(found, w.y);
  });
}

//===----------------------------------------------------------------------===//
// avg_pool
//===----------------------------------------------------------------------===//

/// By how many elements the sum of each window along dimension i is divided:
/// all those of x, and of the padding that counts.
static Ints countElements(graph::AvgPoolOp op, const Windows &w, size_t i) {
  int64_t begin = -w.padding[i];
  int64_t counted = op.getCountIncludePad() ? begin : 0;
  int64_t end = w.x[w.axis(i)];
  if (op.getCountIncludePad())
    end += w.padding[w.rank() + i] -
           (op.getCeilPadding().empty() ? 0 : op.getCeilPadding()[i]);
  Ints counts(w.y[w.axis(i)], 0);
  for (auto [window, count] : llvm::enumerate(counts))
    for (int64_t tap = 0; tap < w.kernel[i]; ++tap) {
      int64_t at = begin + static_cast<int64_t>(window) * w.strides[i] +
                   tap * w.dilations[i];
      count += counted <= at && at < end;
    }
  return counts;
}

/// dy divided by the count of each window's elements.
static Value divideByCounts(GraphOps &ops, graph::AvgPoolOp op,
                            const Windows &w, Value dy) {
  double common = 1;
  for (size_t i = 0; i < w.rank(); ++i) {
    Ints counts = countElements(op, w, i);
    if (llvm::all_equal(counts)) {
      common *= counts.empty() ? 1. : std::max<double>(counts[0], 1);
      continue;
    }
    SmallVector<double> factors;
    for (int64_t count : counts)
      factors.push_back(1. / std::max<double>(count, 1));
    Ints shape(w.y.size() - w.axis(i), 1);
    shape[0] = static_cast<int64_t>(factors.size());
    dy = ops.mul(dy, ops.constantFloats(GraphOps::element(dy), shape, factors));
  }
  return common == 1 ? dy : ops.mul(dy, ops.scalarLike(dy, 1 / common));
}

/// Whether each element of x lies in exactly one window.
static bool isTiling(const Windows &w) {
  for (size_t i = 0; i < w.rank(); ++i)
    if (w.padding[i] || w.padding[w.rank() + i] ||
        (w.kernel[i] > 1 && w.dilations[i] != 1) ||
        w.y[w.axis(i)] * w.kernel[i] != w.x[w.axis(i)] ||
        (w.y[w.axis(i)] > 1 && w.strides[i] != w.kernel[i]))
      return false;
  return true;
}

/// Each element of dy, repeated for all places of its window, which tile x.
static Value repeatInTiles(GraphOps &ops, const Windows &w, Value dy) {
  Ints single, repeated;
  for (size_t d = 0; d < w.y.size(); ++d) {
    single.push_back(w.y[d]);
    repeated.push_back(w.y[d]);
    int64_t i = static_cast<int64_t>(d) - w.axis(0);
    if (i < 0 || i >= static_cast<int64_t>(w.rank()))
      continue;
    if (w.y[d] > 1) { // Else the dimension itself is repeated.
      single.push_back(1);
      repeated.push_back(1);
    }
    repeated.back() = w.kernel[i];
  }
  return ops.reshape(ops.broadcast(ops.reshape(dy, single), repeated), w.x);
}

/// Each element of dy, added to all places of its window.
static Value addToWindows(GraphOps &ops, const Windows &w, Value dy) {
  Ints shape{w.channels(), 1}, extra;
  llvm::append_range(shape, w.kernel);
  for (size_t i = 0; i < w.rank(); ++i) {
    int64_t covered = (w.y[w.axis(i)] - 1) * w.strides[i] +
                      (w.kernel[i] - 1) * w.dilations[i] + 1 - w.padding[i] -
                      w.padding[w.rank() + i];
    extra.push_back(w.x[w.axis(i)] - covered);
  }
  Value ones = ops.broadcast(ops.scalarLike(dy, 1), shape);
  SmallVector<NamedAttribute> attributes = w.attributes(ops);
  attributes.push_back(ops.attr("output_padding", extra));
  attributes.push_back(ops.attr("groups", w.channels()));
  return ops.create<graph::ConvTransposeOp>({dy, ones}, attributes);
}

static void differentiateAvgPool(Vjp<graph::AvgPoolOp> &vjp) {
  graph::AvgPoolOp op = vjp.op;
  Windows w(op, op.getX(), op.getY());
  vjp.give(0, [&] {
    Value dy = divideByCounts(vjp.ops, op, w, vjp.dy());
    return isTiling(w) ? repeatInTiles(vjp.ops, w, dy)
                       : addToWindows(vjp.ops, w, dy);
  });
}

void attachPoolingRules(MLIRContext *context) {
  attachRules<differentiateMaxPool, differentiateMaxPoolGradient,
              differentiateAvgPool>(context);
}

} // namespace tinh::gradients
