//===- Contraction.cpp - Gradients of products and convolutions -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is a contraction again. conv, conv_transpose and conv_weight_gradient
// are one trilinear form of images, weights and windows, seen from its three
// sides: the gradients of one are the other two.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

using namespace mlir;

namespace tinh::gradients {

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

namespace {

/// A factor of a product: a matrix, or a stack of them, maybe transposed.
struct Factor {
  Value value;
  bool transposed;

  Factor transpose() const { return {value, !transposed}; }
};

} // namespace

static Value product(GraphOps &ops, Factor a, Factor b) {
  SmallVector<NamedAttribute> attributes;
  if (a.transposed)
    attributes.push_back(ops.unit("transpose_a"));
  if (b.transposed)
    attributes.push_back(ops.unit("transpose_b"));
  return ops.create<graph::MatmulOp>({a.value, b.value}, attributes);
}

/// The gradient of the left factor in y = a · b, in a's own orientation.
static Value productByLeft(GraphOps &ops, Factor a, Factor b, Value dy) {
  return a.transposed ? product(ops, b, Factor{dy, true})
                      : product(ops, Factor{dy, false}, b.transpose());
}

static Value productByRight(GraphOps &ops, Factor a, Factor b, Value dy) {
  return b.transposed ? product(ops, Factor{dy, true}, a)
                      : product(ops, a.transpose(), Factor{dy, false});
}

/// A stack of matrices as one matrix of all their rows.
static Value stackRows(GraphOps &ops, Value x) {
  ArrayRef<int64_t> shape = GraphOps::shape(x);
  int64_t rows = 1;
  for (int64_t extent : shape.drop_back())
    rows *= extent;
  return ops.reshape(x, {rows, shape.back()});
}

/// y with its vectors' dimensions, which matmul drops, and all of its batch.
static Ints matrixShape(graph::MatmulOp op) {
  Ints shape(op.getType().getShape());
  if (GraphOps::rank(op.getB()) == 1)
    shape.push_back(1);
  if (GraphOps::rank(op.getA()) == 1)
    shape.insert(shape.end() - 1, 1);
  return shape;
}

static void differentiateMatmul(Vjp<graph::MatmulOp> &vjp) {
  GraphOps &ops = vjp.ops;
  graph::MatmulOp op = vjp.op;
  ArrayRef<int64_t> as = GraphOps::shape(op.getA());
  ArrayRef<int64_t> bs = GraphOps::shape(op.getB());
  Factor a{as.size() == 1 ? ops.reshape(op.getA(), {1, as[0]}) : op.getA(),
           op.getTransposeA()};
  Factor b{bs.size() == 1 ? ops.reshape(op.getB(), {bs[0], 1}) : op.getB(),
           op.getTransposeB()};
  Value dy = ops.reshape(vjp.dy(), matrixShape(op));
  // One matrix for all rows of a stack: its gradient sums over the stack, which
  // one product does.
  if (GraphOps::rank(b.value) == 2 && !a.transposed &&
      GraphOps::rank(a.value) > 2) {
    a.value = stackRows(ops, a.value);
    dy = stackRows(ops, dy);
  }
  vjp.give(0, [&] {
    Value da = productByLeft(ops, a, b, dy);
    return ops.reshape(sumToShape(ops, da, GraphOps::shape(a.value)), as);
  });
  vjp.give(1, [&] {
    Value db = productByRight(ops, a, b, dy);
    return ops.reshape(sumToShape(ops, db, GraphOps::shape(b.value)), bs);
  });
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

namespace {

/// How windows of `kernel` move over images: what the three ops have in common.
struct Windows {
  Ints kernel, strides, padding, dilations;
  int64_t groups;
  graph::Layout layout;

  template <typename Op>
  Windows(Op op, ArrayRef<int64_t> kernel)
      : kernel(kernel), strides(op.getStrides()), padding(op.getPadding()),
        dilations(op.getDilations()), groups(op.getGroups()),
        layout(op.getLayout()) {}

  int64_t axis(size_t i) const {
    return static_cast<int64_t>(i) +
           (layout == graph::Layout::ChannelsFirst ? 2 : 1);
  }
  /// What `count` windows cover of dimension i, without the padding.
  int64_t covered(size_t i, int64_t count) const {
    return (count - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 -
           padding[i] - padding[kernel.size() + i];
  }
  SmallVector<NamedAttribute> attributes(GraphOps &ops) const {
    return {ops.attr("strides", strides), ops.attr("padding", padding),
            ops.attr("dilations", dilations), ops.attr("groups", groups),
            ops.attr("layout",
                     graph::LayoutAttr::get(ops.graph.context(), layout))};
  }
};

} // namespace

static Value convolve(GraphOps &ops, const Windows &w, Value images,
                      Value weights) {
  return ops.create<graph::ConvOp>({images, weights}, w.attributes(ops));
}

/// The images, of this shape, to which each window adds its weighted kernel.
static Value spread(GraphOps &ops, const Windows &w, Value windows,
                    Value weights, ArrayRef<int64_t> images) {
  Ints extra;
  for (size_t i = 0; i < w.kernel.size(); ++i)
    extra.push_back(images[w.axis(i)] -
                    w.covered(i, GraphOps::shape(windows)[w.axis(i)]));
  SmallVector<NamedAttribute> attributes = w.attributes(ops);
  attributes.push_back(ops.attr("output_padding", extra));
  return ops.create<graph::ConvTransposeOp>({windows, weights}, attributes);
}

static Value correlate(GraphOps &ops, const Windows &w, Value images,
                       Value windows) {
  SmallVector<NamedAttribute> attributes = w.attributes(ops);
  attributes.push_back(ops.attr("kernel", w.kernel));
  return ops.create<graph::ConvWeightGradientOp>({images, windows}, attributes);
}

static void differentiateConv(Vjp<graph::ConvOp> &vjp) {
  graph::ConvOp op = vjp.op;
  Value x = op.getX(), weights = op.getWeights();
  Windows w(op, GraphOps::shape(weights).drop_front(2));
  vjp.give(0, [&] {
    return spread(vjp.ops, w, vjp.dy(), weights, GraphOps::shape(x));
  });
  vjp.give(1, [&] { return correlate(vjp.ops, w, x, vjp.dy()); });
}

/// An output_padding of a stride or more makes room for another window, which
/// there is none for: leaves that room out of the images.
static Value leaveOutRoom(GraphOps &ops, Windows &w, Value images,
                          ArrayRef<int64_t> windows) {
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    int64_t extent = GraphOps::shape(images)[w.axis(i)];
    int64_t room = extent - w.covered(i, windows[w.axis(i)]);
    if (room < w.strides[i])
      continue;
    int64_t &end = w.padding[w.kernel.size() + i];
    int64_t unpadded = std::min(room, end);
    end -= unpadded;
    images = ops.sliceAxis(images, w.axis(i), 0, extent - (room - unpadded));
  }
  return images;
}

static void differentiateConvTranspose(Vjp<graph::ConvTransposeOp> &vjp) {
  graph::ConvTransposeOp op = vjp.op;
  Value x = op.getX(), weights = op.getWeights();
  Windows w(op, GraphOps::shape(weights).drop_front(2));
  Value dy = leaveOutRoom(vjp.ops, w, vjp.dy(), GraphOps::shape(x));
  vjp.give(0, [&] { return convolve(vjp.ops, w, dy, weights); });
  vjp.give(1, [&] { return correlate(vjp.ops, w, dy, x); });
}

static void
differentiateConvWeightGradient(Vjp<graph::ConvWeightGradientOp> &vjp) {
  graph::ConvWeightGradientOp op = vjp.op;
  Windows w(op, op.getKernel());
  vjp.give(0, [&] {
    return spread(vjp.ops, w, op.getDy(), vjp.dy(), GraphOps::shape(op.getX()));
  });
  vjp.give(1, [&] { return convolve(vjp.ops, w, op.getX(), vjp.dy()); });
}

void attachContractionRules(MLIRContext *context) {
  attachRules<differentiateMatmul, differentiateConv,
              differentiateConvTranspose, differentiateConvWeightGradient>(
      context);
}

} // namespace tinh::gradients
