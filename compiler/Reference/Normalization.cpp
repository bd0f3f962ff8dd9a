//===- Normalization.cpp - Softmax, norms, attention, evaluated -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace tinh::reference {

using namespace graph;

/// e^x / Σ e^x along an axis, or the logarithm of that.
static Tensor softmax(const Tensor &x, int64_t axis, bool logarithm) {
  Tensor y(x.type);
  AxisView view(x.shape(), axis);
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      double largest = -INFINITY, sum = 0;
      for (int64_t i = 0; i < view.extent; ++i)
        largest = larger(largest, x.floats[view.at(o, i, inner)]);
      for (int64_t i = 0; i < view.extent; ++i)
        sum += std::exp(x.floats[view.at(o, i, inner)] - largest);
      for (int64_t i = 0; i < view.extent; ++i) {
        int64_t at = view.at(o, i, inner);
        double shifted = x.floats[at] - largest;
        y.floats[at] =
            logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
      }
    }
  return y;
}

/// The elements of `x` as it broadcasts to `shape`.
static std::vector<double> broadcastTo(const Tensor &x,
                                       ArrayRef<int64_t> shape) {
  std::vector<double> elements;
  std::array<Strides, 1> strides = {broadcastStrides(x.shape(), shape)};
  walk(shape, strides, [&](const std::array<int64_t, 1> &at) {
    elements.push_back(x.floats[at[0]]);
  });
  return elements;
}

static Tensor layerNorm(LayerNormOp op, Operands in) {
  const Tensor &x = *in[0];
  ArrayRef<int64_t> normalised = x.shape().drop_front(op.getAxis());
  std::vector<double> scale = broadcastTo(*in[1], normalised);
  std::vector<double> bias = op.getBias()
                                 ? broadcastTo(*in[2], normalised)
                                 : std::vector<double>(scale.size(), 0);
  double epsilon = op.getEpsilon().convertToDouble();
  int64_t count = scale.size();
  Tensor y(op.getType());
  for (int64_t row = 0; row < x.size(); row += count) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < count && !op.getRms(); ++i)
      mean += x.floats[row + i] / count;
    for (int64_t i = 0; i < count; ++i)
      variance += std::pow(x.floats[row + i] - mean, 2) / count;
    double factor = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < count; ++i)
      y.floats[row + i] =
          (x.floats[row + i] - mean) * factor * scale[i] + bias[i];
  }
  return y;
}

static int64_t channelAxis(Layout layout, const Tensor &x) {
  return layout == Layout::ChannelsFirst ? 1 : x.rank() - 1;
}

static Tensor batchNorm(BatchNormOp op, Operands in) {
  const Tensor &x = *in[0], &scale = *in[1], &bias = *in[2], &mean = *in[3],
               &variance = *in[4];
  double epsilon = op.getEpsilon().convertToDouble();
  AxisView view(x.shape(), channelAxis(op.getLayout(), x));
  Tensor y(op.getType());
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t c = 0; c < view.extent; ++c) {
      double factor = scale.floats[c] / std::sqrt(variance.floats[c] + epsilon);
      for (int64_t i = 0; i < view.inner; ++i) {
        int64_t at = view.at(o, c, i);
        y.floats[at] =
            (x.floats[at] - mean.floats[c]) * factor + bias.floats[c];
      }
    }
  return y;
}

static Tensor lrn(LrnOp op, const Tensor &x) {
  double alpha = op.getAlpha().convertToDouble() / op.getSize();
  double beta = op.getBeta().convertToDouble();
  double bias = op.getBias().convertToDouble();
  int64_t before = (op.getSize() - 1) / 2, after = op.getSize() / 2;
  AxisView view(x.shape(), channelAxis(op.getLayout(), x));
  Tensor y(op.getType());
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t c = 0; c < view.extent; ++c)
      for (int64_t i = 0; i < view.inner; ++i) {
        double sum = 0;
        for (int64_t j = std::max<int64_t>(c - before, 0);
             j <= std::min(c + after, view.extent - 1); ++j)
          sum += std::pow(x.floats[view.at(o, j, i)], 2);
        int64_t at = view.at(o, c, i);
        y.floats[at] = x.floats[at] / std::pow(bias + alpha * sum, beta);
      }
  return y;
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

/// `x` [batch, heads, …] with each head repeated so that there are `heads`.
static Tensor repeatHeads(const Tensor &x, int64_t heads) {
  SmallVector<int64_t> shape(x.shape());
  int64_t copies = heads / shape[1];
  shape[1] = heads;
  Tensor y(x.type.clone(shape));
  int64_t head = shape[2] * shape[3];
  for (int64_t i = 0; i < shape[0] * heads; ++i)
    std::copy_n(x.floats.begin() + i / copies * head, head,
                y.floats.begin() + i * head);
  return y;
}

static Tensor attention(AttentionOp op, Operands in) {
  int64_t heads = in[0]->shape()[1];
  Tensor key = repeatHeads(*in[1], heads), value = repeatHeads(*in[2], heads);
  SmallVector<int64_t> shape(in[0]->shape());
  int64_t queries = shape[2], keys = shape[3] = key.shape()[2];
  Tensor scores = matrixProduct(*in[0], transpose(key, {0, 1, 3, 2}),
                                key.type.clone(shape));
  double scale = op.getScale().convertToDouble();
  for (double &score : scores.floats)
    score *= scale;
  if (op.getMask()) {
    std::vector<double> mask = broadcastTo(*in[3], shape);
    for (int64_t i = 0; i < scores.size(); ++i)
      scores.floats[i] += mask[i];
  }
  for (int64_t i = 0; i < scores.size() && op.getCausal(); ++i)
    if (i % keys > i / keys % queries + (keys - queries))
      scores.floats[i] = -INFINITY;
  return matrixProduct(softmax(scores, 3, /*logarithm=*/false), value,
                       op.getType());
}

std::optional<Tensor> evaluateNormalization(Operation *op, Operands in) {
  using Result = std::optional<Tensor>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](SoftmaxOp softmaxOp) {
        return softmax(*in[0], softmaxOp.getAxis(), false);
      })
      .Case([&](LogSoftmaxOp softmaxOp) {
        return softmax(*in[0], softmaxOp.getAxis(), true);
      })
      .Case([&](LayerNormOp norm) { return layerNorm(norm, in); })
      .Case([&](BatchNormOp norm) { return batchNorm(norm, in); })
      .Case([&](LrnOp norm) { return lrn(norm, *in[0]); })
      .Case([&](AttentionOp op) { return attention(op, in); })
      .Default([](Operation *) { return Result(); });
}

} // namespace tinh::reference
