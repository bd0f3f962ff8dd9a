//===- TraceContractions.cpp - Products, windows, norms as ops --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TracePrimitives.h"
#include "compiler/Eager/Function/TracedViews.h"

using namespace mlir;

namespace tinh::eager {

Values traced::matmul(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const TensorImpl &a = primitive.input(0), &b = primitive.input(1);
  const TensorImpl *bias = primitive.optionalInput(2);
  TensorImpl &out = primitive.output();
  // The graph's sums of bytes are i32.
  Value product = ops.cast(ops.matmul(trace.read(a), trace.read(b)),
                           elementType(trace.context(), out.dtype));
  if (bias)
    product = ops.add(product, trace.read(*bias));
  return ops.broadcast(product, toArrayRef(out.sizes));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

using Attributes = SmallVector<NamedAttribute>;

/// How windows lie on an image, all but their size.
static Attributes steps(GraphOps &ops, const Window &window) {
  Ints padding(toArrayRef(window.padLow));
  padding.append(window.padHigh.begin(), window.padHigh.end());
  return {ops.attr("strides", toArrayRef(window.strides)),
          ops.attr("padding", padding),
          ops.attr("dilations", toArrayRef(window.dilations)),
          ops.channelsFirst()};
}

static Attributes windows(GraphOps &ops, const Window &window) {
  Attributes attributes = steps(ops, window);
  attributes.push_back(ops.attr("kernel", toArrayRef(window.kernel)));
  return attributes;
}

Values traced::conv(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const Window &window = primitive.get<primitives::Conv>().window;
  const TensorImpl &x = primitive.input(0), &weights = primitive.input(1);
  const TensorImpl *bias = primitive.optionalInput(2);
  TensorImpl &out = primitive.output();
  Attributes attributes = steps(ops, window);
  attributes.push_back(ops.attr("groups", window.groups));
  Value y = ops.create<graph::ConvOp>({trace.read(x), trace.read(weights)},
                                      attributes);
  y = ops.cast(y, elementType(trace.context(), out.dtype));
  if (!bias)
    return y;
  return ops.add(y, ops.perChannel(trace.read(*bias), out.rank()));
}

Values traced::convWeightGradient(GraphOps &ops, Trace &trace,
                                  const Primitive &primitive) {
  const Window &window = primitive.get<primitives::ConvWeightGradient>().window;
  const TensorImpl &x = primitive.input(0), &dy = primitive.input(1);
  Attributes attributes = windows(ops, window);
  attributes.push_back(ops.attr("groups", window.groups));
  return ops.create<graph::ConvWeightGradientOp>(
      {trace.read(x), trace.read(dy)}, attributes);
}

Values traced::maxPoolGradient(GraphOps &ops, Trace &trace,
                               const Primitive &primitive) {
  const Window &window = primitive.get<primitives::MaxPoolGradient>().window;
  const TensorImpl &x = primitive.input(0), &dy = primitive.input(1);
  return ops.create<graph::MaxPoolGradientOp>({trace.read(x), trace.read(dy)},
                                              windows(ops, window));
}

Values traced::pool(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const auto &[op, window] = primitive.get<primitives::Pool>();
  const TensorImpl &x = primitive.input(0);
  Attributes attributes = windows(ops, window);
  if (op == PoolOp::Max)
    return ops.create<graph::MaxPoolOp>({trace.read(x)}, attributes);
  if (op == PoolOp::MeanWithPadding)
    attributes.push_back(ops.unit("count_include_pad"));
  if (llvm::any_of(toArrayRef(window.ceilPad), [](int64_t n) { return n; }))
    attributes.push_back(ops.attr("ceil_padding", toArrayRef(window.ceilPad)));
  return ops.create<graph::AvgPoolOp>({trace.read(x)}, attributes);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Values traced::softmax(GraphOps &ops, Trace &trace,
                       const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::Softmax>();
  const TensorImpl &x = primitive.input(0);
  Value input = trace.read(x);
  NamedAttribute attribute = ops.attr("axis", axis);
  return op == SoftmaxOp::Softmax
             ? ops.create<graph::SoftmaxOp>({input}, {attribute})
             : ops.create<graph::LogSoftmaxOp>({input}, {attribute});
}

Values traced::layerNorm(GraphOps &ops, Trace &trace,
                         const Primitive &primitive) {
  const Normalization &norm = primitive.get<primitives::LayerNorm>().norm;
  const TensorImpl &x = primitive.input(0);
  const TensorImpl *scale = primitive.scale(), *bias = primitive.bias();
  Value input = trace.read(x);
  int64_t axis = int64_t(x.rank()) - norm.numDims;
  SmallVector<Value> operands = {
      input, scale ? trace.read(*scale)
                   : ops.broadcast(ops.scalarLike(input, 1),
                                   ops.shape(input).drop_front(axis))};
  if (bias)
    operands.push_back(trace.read(*bias));
  SmallVector<NamedAttribute> attributes = {ops.attr("axis", axis),
                                            ops.attr("epsilon", norm.epsilon)};
  if (norm.rms)
    attributes.push_back(ops.unit("rms"));
  return ops.create<graph::LayerNormOp>(operands, attributes);
}

} // namespace tinh::eager
