//===- Attention.cpp - Attention layers -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/attention.h"

#include "compiler/Nn/Checks.h"

#include <cmath>

namespace tinh::nn {

//===----------------------------------------------------------------------===//
// Multi-head attention
//===----------------------------------------------------------------------===//

MultiHeadAttention::MultiHeadAttention(int64_t width, int64_t heads,
                                       const MultiHeadAttentionOptions &options)
    : width(width), headCount(heads), options(options) {
  requireCount(width, "MultiHeadAttention", "width");
  requireCount(heads, "MultiHeadAttention", "heads");
  if (width % heads)
    throw Error(TINH_INVALID_ARGUMENT,
                "MultiHeadAttention: a width of " + std::to_string(width) +
                    " does not make " + std::to_string(heads) + " heads");
  register_parameter("in_proj_weight", in_proj_weight, {3 * width, width},
                     init::xavier_uniform());
  if (options.bias)
    register_parameter("in_proj_bias", in_proj_bias, 3 * width, init::zeros());
  out_proj = add<Linear>("out_proj", width, width, options.bias);
  attentionDropout = add<Dropout>("dropout", options.dropout);
}

Tensor MultiHeadAttention::operator()(const Tensor &query, const Tensor &key,
                                      const Tensor &value,
                                      const AttentionMask &mask, At at) {
  Tensor result;
  call(query, at, [&] {
    result = attend(query, key, value, mask);
    note_result(result);
  });
  return result;
}

Tensor MultiHeadAttention::forward(const Tensor &x) {
  return attend(x, x, x, {});
}

/// x times some of the three matrices that lie one below the other.
Tensor MultiHeadAttention::projected(const Tensor &x, int64_t first,
                                     int64_t count) const {
  if (count == 3)
    return linear(x, in_proj_weight, in_proj_bias);
  Tensor weight = in_proj_weight.narrow(0, first * width, count * width);
  if (!options.bias)
    return linear(x, weight);
  return linear(x, weight,
                in_proj_bias.narrow(0, first * width, count * width));
}

/// [N, length, width] as [N, heads, length, width of one].
Tensor MultiHeadAttention::heads(const Tensor &x) const {
  return x.reshape({x.size(0), x.size(1), headCount, width / headCount})
      .transpose(1, 2);
}

/// The attention as such, with dropout between softmax and product.
static Tensor attention(const Tensor &query, const Tensor &key,
                        const Tensor &value, const AttentionMask &mask,
                        const Handle<Dropout> &dropout, bool isDropping) {
  if (!isDropping)
    return scaled_dot_product_attention(query, key, value, mask.mask,
                                        mask.causal);
  double scale = 1 / std::sqrt(double(query.size(-1)));
  Tensor scores = matmul(query * scale, key.mT());
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  if (mask.mask.defined())
    scores = mask.mask.dtype() == boolean ? where(mask.mask, scores, hidden)
                                          : scores + mask.mask;
  if (mask.causal) {
    Shape square = {query.size(-2), key.size(-2)};
    Tensor seen =
        tril(ones(square, boolean, query.device()), square[1] - square[0]);
    scores = where(seen, scores, hidden);
  }
  return matmul(dropout(softmax(scores, -1)), value);
}

Tensor MultiHeadAttention::attend(const Tensor &query, const Tensor &key,
                                  const Tensor &value,
                                  const AttentionMask &mask) {
  for (const Tensor *x : {&query, &key, &value})
    if (x->dim() != 3 || x->size(2) != width)
      throw Error(TINH_INVALID_ARGUMENT,
                  "MultiHeadAttention: shape " + to_string(x->shape()) +
                      " must be " +
                      (options.batch_first ? "[N, length, " : "[length, N, ") +
                      std::to_string(width) + "]");
  Tensor q, k, v;
  if (query.is_same(key) && key.is_same(value)) {
    std::vector<Tensor> parts = chunk(projected(query, 0, 3), 3, -1);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    q = projected(query, 0, 1);
    k = projected(key, 1, 1);
    v = projected(value, 2, 1);
  }
  if (!options.batch_first)
    for (Tensor *x : {&q, &k, &v})
      *x = x->transpose(0, 1);
  bool isDropping = is_training() && options.dropout > 0;
  Tensor result = attention(heads(q), heads(k), heads(v), mask,
                            attentionDropout, isDropping);
  result = result.transpose(1, 2).flatten(2);
  if (!options.batch_first)
    result = result.transpose(0, 1);
  return out_proj(result);
}

//===----------------------------------------------------------------------===//
// Transformer encoder
//===----------------------------------------------------------------------===//

TransformerEncoderLayer::TransformerEncoderLayer(
    int64_t width, int64_t heads, const TransformerOptions &options)
    : options(options) {
  self_attn = add<MultiHeadAttention>(
      "self_attn", width, heads,
      MultiHeadAttentionOptions{.dropout = options.dropout,
                                .batch_first = options.batch_first});
  linear1 = add<Linear>("linear1", width, options.dim_feedforward);
  dropout = add<Dropout>("dropout", options.dropout);
  linear2 = add<Linear>("linear2", options.dim_feedforward, width);
  LayerNormOptions norm{.eps = options.layer_norm_eps};
  norm1 = add<LayerNorm>("norm1", width, norm);
  norm2 = add<LayerNorm>("norm2", width, norm);
  dropout1 = add<Dropout>("dropout1", options.dropout);
  dropout2 = add<Dropout>("dropout2", options.dropout);
}

Tensor TransformerEncoderLayer::operator()(const Tensor &x,
                                           const AttentionMask &mask, At at) {
  Tensor result;
  call(x, at, [&] {
    result = encode(x, mask);
    note_result(result);
  });
  return result;
}

Tensor TransformerEncoderLayer::attention(const Tensor &x,
                                          const AttentionMask &mask) {
  return dropout1(self_attn(x, x, x, mask));
}

Tensor TransformerEncoderLayer::feedForward(const Tensor &x) {
  Tensor wide = linear1(x);
  wide = options.gelu ? gelu(wide) : relu(wide);
  return dropout2(linear2(dropout(wide)));
}

Tensor TransformerEncoderLayer::encode(const Tensor &x,
                                       const AttentionMask &mask) {
  if (options.norm_first) {
    Tensor attended = x + attention(norm1(x), mask);
    return attended + feedForward(norm2(attended));
  }
  Tensor attended = norm1(x + attention(x, mask));
  return norm2(attended + feedForward(attended));
}

} // namespace tinh::nn
