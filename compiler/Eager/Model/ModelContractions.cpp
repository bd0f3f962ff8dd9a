//===- ModelContractions.cpp - Products, windows and norms ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Model/ModelOps.h"

using namespace mlir;

namespace tinh::eager {

Action ModelOps::contraction(const Op &op) {
  auto matmul = dyn_cast<graph::MatmulOp>(op.op);
  if (!matmul)
    return {};
  return [in = op.in, out = op.out[0], a = matmul.getTransposeA(),
          b = matmul.getTransposeB()](Frame &frame) {
    Tensor x = frame[in[0]], y = frame[in[1]];
    frame[out] = tinh::matmul(a ? x.mT() : x, b ? y.mT() : y);
  };
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static Window makeWindow(ArrayRef<int64_t> kernel, ArrayRef<int64_t> strides,
                         ArrayRef<int64_t> padding,
                         ArrayRef<int64_t> dilations) {
  Window window;
  size_t rank = strides.size();
  window.kernel = dimsOf(kernel);
  window.strides = dimsOf(strides);
  window.dilations = dimsOf(dilations);
  window.padLow = dimsOf(padding.take_front(rank));
  window.padHigh = dimsOf(padding.drop_front(rank));
  window.ceilPad = Dims::filled(rank, 0);
  return window;
}

static Action convAction(graph::ConvOp conv, size_t x, size_t weights,
                         size_t out, tinh_dtype_t dtype, const Dims &sizes,
                         const Call &call) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(conv.getWeights().getType()).getShape();
  Window window = makeWindow(shape.drop_front(2), conv.getStrides(),
                             conv.getPadding(), conv.getDilations());
  window.groups = conv.getGroups();
  return [=](Frame &frame) {
    Tensor y = makeTensor(dtype, sizes);
    const TensorImpl &image = use(frame[x], call);
    const TensorImpl &filters = use(frame[weights], call);
    if (sizes.product() > 0) {
      if (image.numElements() > 0 && filters.numElements() > 0)
        perform(primitives::Conv{window}, {&image, &filters}, use(y, call),
                call);
      else
        y.zero_();
    }
    frame[out] = y;
  };
}

/// Empty, if a pooling has no channels or no images.
static Action poolAction(PoolOp kind, const Window &window, size_t x,
                         size_t out, tinh_dtype_t dtype, const Dims &sizes,
                         const Call &call) {
  return [=](Frame &frame) {
    Tensor y = makeTensor(dtype, sizes);
    if (sizes.product() > 0)
      perform(primitives::Pool{kind, window}, {&use(frame[x], call)},
              use(y, call), call);
    frame[out] = y;
  };
}

/// An op of two images, one of which may be empty.
static Action gradientAction(const primitives::Attributes &gradientOf, size_t x,
                             size_t dy, size_t out, tinh_dtype_t dtype,
                             const Dims &sizes, const Call &call) {
  return [=](Frame &frame) {
    Tensor result = makeTensor(dtype, sizes);
    const TensorImpl &image = use(frame[x], call);
    const TensorImpl &gradient = use(frame[dy], call);
    if (image.numElements() > 0 && gradient.numElements() > 0)
      perform(gradientOf, {&image, &gradient}, use(result, call), call);
    else if (sizes.product() > 0)
      result.zero_();
    frame[out] = result;
  };
}

Action ModelOps::window(const Op &op) {
  auto make = [&](auto action, auto... arguments) {
    auto [dtype, sizes] = op.types[0];
    return action(arguments..., op.out[0], dtype, sizes, op.call);
  };
  if (auto conv = dyn_cast<graph::ConvOp>(op.op)) {
    return make(convAction, conv, op.in[0], op.in[1]);
  }
  if (auto conv = dyn_cast<graph::ConvWeightGradientOp>(op.op)) {
    Window window = makeWindow(conv.getKernel(), conv.getStrides(),
                               conv.getPadding(), conv.getDilations());
    window.groups = conv.getGroups();
    return make(gradientAction, primitives::ConvWeightGradient{window},
                op.in[0], op.in[1]);
  }
  if (auto pool = dyn_cast<graph::MaxPoolGradientOp>(op.op))
    return make(gradientAction,
                primitives::MaxPoolGradient{
                    makeWindow(pool.getKernel(), pool.getStrides(),
                               pool.getPadding(), pool.getDilations())},
                op.in[0], op.in[1]);
  if (auto pool = dyn_cast<graph::MaxPoolOp>(op.op)) {
    return make(poolAction, PoolOp::Max,
                makeWindow(pool.getKernel(), pool.getStrides(),
                           pool.getPadding(), pool.getDilations()),
                op.in[0]);
  }
  if (auto pool = dyn_cast<graph::AvgPoolOp>(op.op)) {
    Window window = makeWindow(pool.getKernel(), pool.getStrides(),
                               pool.getPadding(), pool.getDilations());
    if (!pool.getCeilPadding().empty())
      window.ceilPad = dimsOf(pool.getCeilPadding());
    return make(poolAction,
                pool.getCountIncludePad() ? PoolOp::MeanWithPadding
                                          : PoolOp::Mean,
                window, op.in[0]);
  }
  auto transposed = dyn_cast<graph::ConvTransposeOp>(op.op);
  if (!transposed)
    return {};
  return
      [in = op.in, out = op.out[0], strides = toArray(transposed.getStrides()),
       padding = toArray(transposed.getPadding()),
       extra = toArray(transposed.getOutputPadding()),
       dilations = toArray(transposed.getDilations()),
       groups = int64_t(transposed.getGroups())](Frame &frame) {
        frame[out] = conv_transpose(frame[in[0]], frame[in[1]], {}, strides,
                                    padding, extra, dilations, groups);
      };
}

//===----------------------------------------------------------------------===//
// Norms and attention
//===----------------------------------------------------------------------===//

static Tensor localResponseNorm(const Tensor &x, int64_t size, double alpha,
                                double beta, double bias) {
  // The sum over a window of channels, of which no more than all count.
  int64_t most = std::max<int64_t>(x.size(1) - 1, 0);
  int64_t before = std::min((size - 1) / 2, most);
  int64_t after = std::min(size / 2, most);
  IntArray low, high;
  for (int64_t d = 0; d < x.dim(); ++d) {
    low.push_back(d == 1 ? before : 0);
    high.push_back(d == 1 ? after : 0);
  }
  Tensor squares = pad(square(x), low, high), total;
  for (int64_t i = 0; i <= before + after; ++i) {
    Tensor shifted = squares.narrow(1, i, x.size(1));
    total = total.defined() ? total + shifted : shifted;
  }
  return x / pow(total * (alpha / double(size)) + bias, beta);
}

/// Each head of `x` for as many heads of the query.
static Tensor repeatHeads(const Tensor &x, int64_t heads) {
  return x.size(1) == heads ? x : repeat_interleave(x, heads / x.size(1), 1);
}

/// Over the dimensions from `axis` on, to which scale and bias are broadcast;
/// the bias may be undefined.
static Tensor layerNorm(const Tensor &x, const Tensor &scale,
                        const Tensor &bias, int64_t axis, bool rms,
                        double epsilon) {
  Shape shape;
  for (int64_t d = axis; d < x.dim(); ++d)
    shape.push_back(x.size(d));
  Tensor whole = broadcast_to(scale, shape), added;
  if (bias.defined())
    added = broadcast_to(bias, shape);
  if (!rms)
    return layer_norm(x, shape, whole, added, epsilon);
  Tensor y = rms_norm(x, shape, whole, epsilon);
  return added.defined() ? y + added : y;
}

Action ModelOps::normalization(const Op &op) {
  std::vector<size_t> in = op.in;
  size_t out = op.out.empty() ? 0 : op.out[0];
  if (auto softmax = dyn_cast<graph::SoftmaxOp>(op.op))
    return [=, axis = int64_t(softmax.getAxis())](Frame &frame) {
      frame[out] = tinh::softmax(frame[in[0]], axis);
    };
  if (auto softmax = dyn_cast<graph::LogSoftmaxOp>(op.op))
    return [=, axis = int64_t(softmax.getAxis())](Frame &frame) {
      frame[out] = log_softmax(frame[in[0]], axis);
    };
  if (auto norm = dyn_cast<graph::LayerNormOp>(op.op))
    return [=, axis = int64_t(norm.getAxis()), rms = norm.getRms(),
            epsilon = norm.getEpsilon().convertToDouble()](Frame &frame) {
      frame[out] = layerNorm(frame[in[0]], frame[in[1]],
                             in.size() > 2 ? frame[in[2]] : Tensor(), axis, rms,
                             epsilon);
    };
  if (auto norm = dyn_cast<graph::BatchNormOp>(op.op)) {
    return [=, epsilon = norm.getEpsilon().convertToDouble()](Frame &frame) {
      frame[out] = batch_norm(frame[in[0]], frame[in[3]], frame[in[4]],
                              frame[in[1]], frame[in[2]], epsilon);
    };
  }
  if (auto lrn = dyn_cast<graph::LrnOp>(op.op)) {
    return [=, size = int64_t(lrn.getSize()),
            alpha = lrn.getAlpha().convertToDouble(),
            beta = lrn.getBeta().convertToDouble(),
            bias = lrn.getBias().convertToDouble()](Frame &frame) {
      frame[out] = localResponseNorm(frame[in[0]], size, alpha, beta, bias);
    };
  }
  auto attention = dyn_cast<graph::AttentionOp>(op.op);
  if (!attention)
    return {};
  return [=, causal = attention.getCausal(),
          scale = attention.getScale().convertToDouble()](Frame &frame) {
    const Tensor &query = frame[in[0]];
    frame[out] = scaled_dot_product_attention(
        query, repeatHeads(frame[in[1]], query.size(1)),
        repeatHeads(frame[in[2]], query.size(1)),
        in.size() > 3 ? frame[in[3]] : Tensor(), causal, scale);
  };
}

} // namespace tinh::eager
