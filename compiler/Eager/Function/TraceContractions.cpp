//===- TraceContractions.cpp - Products, windows, norms as ops --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Function/TracedViews.h"

using namespace mlir;

namespace tinh::eager {

void TraceBackend::matmul(const TensorImpl &a, const TensorImpl &b,
                          const TensorImpl *bias, TensorImpl &out,
                          const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    // The graph's sums of bytes are i32.
    Value product = ops.cast(ops.matmul(trace.read(a), trace.read(b)),
                             elementType(trace.context(), out.dtype));
    if (bias)
      product = ops.add(product, trace.read(*bias));
    return ops.broadcast(product, toArrayRef(out.sizes));
  });
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static NamedAttribute paddingOf(GraphOps &ops, const Window &window) {
  Ints padding(toArrayRef(window.padLow));
  padding.append(window.padHigh.begin(), window.padHigh.end());
  return ops.attr("padding", padding);
}

void TraceBackend::conv(const TensorImpl &x, const TensorImpl &weights,
                        const TensorImpl *bias, const Window &window,
                        TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    Value y = ops.create<graph::ConvOp>(
        {trace.read(x), trace.read(weights)},
        {ops.attr("strides", toArrayRef(window.strides)),
         paddingOf(ops, window),
         ops.attr("dilations", toArrayRef(window.dilations)),
         ops.attr("groups", window.groups), ops.channelsFirst()});
    y = ops.cast(y, elementType(trace.context(), out.dtype));
    if (!bias)
      return y;
    return ops.add(y, ops.perChannel(trace.read(*bias), out.rank()));
  });
}

void TraceBackend::convWeightGradient(const TensorImpl &x, const TensorImpl &dy,
                                      const Window &window, TensorImpl &out,
                                      const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.create<graph::ConvWeightGradientOp>(
        {trace.read(x), trace.read(dy)},
        {ops.attr("kernel", toArrayRef(window.kernel)),
         ops.attr("strides", toArrayRef(window.strides)),
         paddingOf(ops, window),
         ops.attr("dilations", toArrayRef(window.dilations)),
         ops.attr("groups", window.groups), ops.channelsFirst()});
  });
}

void TraceBackend::maxPoolGradient(const TensorImpl &x, const TensorImpl &dy,
                                   const Window &window, TensorImpl &out,
                                   const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.create<graph::MaxPoolGradientOp>(
        {trace.read(x), trace.read(dy)},
        {ops.attr("kernel", toArrayRef(window.kernel)),
         ops.attr("strides", toArrayRef(window.strides)),
         paddingOf(ops, window),
         ops.attr("dilations", toArrayRef(window.dilations)),
         ops.channelsFirst()});
  });
}

void TraceBackend::pool(PoolOp op, const TensorImpl &x, const Window &window,
                        TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    SmallVector<NamedAttribute> attributes = {
        ops.attr("kernel", toArrayRef(window.kernel)),
        ops.attr("strides", toArrayRef(window.strides)), paddingOf(ops, window),
        ops.attr("dilations", toArrayRef(window.dilations)),
        ops.channelsFirst()};
    if (op == PoolOp::Max)
      return ops.create<graph::MaxPoolOp>({trace.read(x)}, attributes);
    if (op == PoolOp::MeanWithPadding)
      attributes.push_back(ops.unit("count_include_pad"));
    if (llvm::any_of(toArrayRef(window.ceilPad), [](int64_t n) { return n; }))
      attributes.push_back(
          ops.attr("ceil_padding", toArrayRef(window.ceilPad)));
    return ops.create<graph::AvgPoolOp>({trace.read(x)}, attributes);
  });
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

void TraceBackend::softmax(SoftmaxOp op, const TensorImpl &x, int64_t axis,
                           TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    Value input = trace.read(x);
    NamedAttribute attribute = ops.attr("axis", axis);
    return op == SoftmaxOp::Softmax
               ? ops.create<graph::SoftmaxOp>({input}, {attribute})
               : ops.create<graph::LogSoftmaxOp>({input}, {attribute});
  });
}

void TraceBackend::layerNorm(const TensorImpl &x, const TensorImpl *scale,
                             const TensorImpl *bias, const Normalization &norm,
                             TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    Value input = trace.read(x);
    int64_t axis = int64_t(x.rank()) - norm.numDims;
    SmallVector<Value> operands = {
        input, scale ? trace.read(*scale)
                     : ops.broadcast(ops.scalarLike(input, 1),
                                     ops.shape(input).drop_front(axis))};
    if (bias)
      operands.push_back(trace.read(*bias));
    SmallVector<NamedAttribute> attributes = {
        ops.attr("axis", axis), ops.attr("epsilon", norm.epsilon)};
    if (norm.rms)
      attributes.push_back(ops.unit("rms"));
    return ops.create<graph::LayerNormOp>(operands, attributes);
  });
}

} // namespace tinh::eager
