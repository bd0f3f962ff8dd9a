//===- tinh/nn/attention.h - Attention layers -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_ATTENTION_H
#define TINH_NN_ATTENTION_H

#include "tinh/nn/containers.h"
#include "tinh/nn/layers.h"
#include "tinh/nn/norms.h"

namespace tinh::nn {

/// What may be attended to.
struct AttentionMask {
  /// Boolean: what is seen (torch.nn.MultiheadAttention's is the opposite), or
  /// numbers that are added to the scores; broadcasts to
  /// [N, heads, queries, keys].
  Tensor mask = {};
  /// Query i sees keys up to i + (keys - queries): aligned at the lower right,
  /// as PyTorch's causal_lower_right, and not as its is_causal.
  bool causal = false;
};

struct MultiHeadAttentionOptions {
  double dropout = 0;
  bool bias = true;
  /// Sequences are [N, length, width] and not [length, N, width].
  bool batch_first = false;
};

/// Attention of several heads, each on a part of the width.
class MultiHeadAttention : public Module {
public:
  MultiHeadAttention(int64_t width, int64_t heads,
                     const MultiHeadAttentionOptions &options = {});
  std::string type_name() const override { return "MultiHeadAttention"; }

  using Module::operator();
  Tensor operator()(const Tensor &query, const Tensor &key, const Tensor &value,
                    const AttentionMask &mask = {}, At at = At::current());

  Tensor in_proj_weight; ///< [3 · width, width]: of queries, keys and values.
  Tensor in_proj_bias;
  Handle<Linear> out_proj;

protected:
  /// Self-attention.
  Tensor forward(const Tensor &x) override;

private:
  Tensor attend(const Tensor &query, const Tensor &key, const Tensor &value,
                const AttentionMask &mask);
  Tensor projected(const Tensor &x, int64_t first, int64_t count) const;
  Tensor heads(const Tensor &x) const;

  int64_t width, headCount;
  MultiHeadAttentionOptions options;
  Handle<Dropout> attentionDropout;
};

struct TransformerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  bool gelu = false; ///< In place of ReLU.
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false; ///< Norms before each part, not after it.
};

/// Self-attention and two linear layers, each with a residual connection and a
/// norm.
class TransformerEncoderLayer : public Module {
public:
  TransformerEncoderLayer(int64_t width, int64_t heads,
                          const TransformerOptions &options = {});
  std::string type_name() const override { return "TransformerEncoderLayer"; }

  using Module::operator();
  Tensor operator()(const Tensor &x, const AttentionMask &mask,
                    At at = At::current());

  Handle<MultiHeadAttention> self_attn;
  Handle<Linear> linear1, linear2;
  Handle<LayerNorm> norm1, norm2;

protected:
  Tensor forward(const Tensor &x) override { return encode(x, {}); }

private:
  Tensor encode(const Tensor &x, const AttentionMask &mask);
  Tensor attention(const Tensor &x, const AttentionMask &mask);
  Tensor feedForward(const Tensor &x);

  Handle<Dropout> dropout, dropout1, dropout2;
  TransformerOptions options;
};

} // namespace tinh::nn

#endif // TINH_NN_ATTENTION_H
