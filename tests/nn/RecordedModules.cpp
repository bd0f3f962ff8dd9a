//===- RecordedModules.cpp - Modules by their records -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RecordedModules.h"

#include <fstream>

using namespace tinh;
using namespace tinh::test;

const nlohmann::json &test::recorded() {
  static const nlohmann::json all =
      nlohmann::json::parse(std::ifstream(TINH_RECORDED));
  return all;
}

Options test::optionsOf(const nlohmann::json &record) {
  Options options;
  for (const auto &[name, value] : record["options"].items()) {
    if (value.is_boolean())
      options.emplace_back(name, value.get<bool>());
    else if (value.is_string())
      options.emplace_back(name, value.get<std::string>());
    else
      options.emplace_back(name, value.get<double>());
  }
  return options;
}

static Tensors callUnary(nn::Module &module, const Tensors &inputs) {
  return {module(inputs[0])};
}

template <typename M, typename... Args>
static RecordedModule unary(const Args &...args) {
  return {[=] { return nn::Handle<nn::Module>(nn::make<M>(args...)); },
          callUnary};
}

/// Results of a recurrent layer in the order of PyTorch's.
template <typename M, typename... Args>
static RecordedModule recurrent(const Args &...args) {
  return {[=] { return nn::Handle<nn::Module>(nn::make<M>(args...)); },
          [](nn::Module &module, const Tensors &inputs) {
            auto &layer = static_cast<nn::RecurrentBase &>(module);
            nn::RecurrentResult result =
                layer(inputs[0], Tensors(inputs.begin() + 1, inputs.end()));
            Tensors all = {result.output};
            all.insert(all.end(), result.state.begin(), result.state.end());
            return all;
          }};
}

static RecordedModule attention(nn::MultiHeadAttentionOptions options,
                                nn::AttentionMask mask = {}) {
  return {[=] {
            return nn::Handle<nn::Module>(
                nn::make<nn::MultiHeadAttention>(6, 2, options));
          },
          [=](nn::Module &module, const Tensors &inputs) -> Tensors {
            auto &layer = static_cast<nn::MultiHeadAttention &>(module);
            const Tensor &key = inputs.back();
            return {layer(inputs[0], key, key, mask)};
          }};
}

static RecordedModule sequential() {
  return {[] {
            return nn::Handle<nn::Module>(nn::make<nn::Sequential>(
                nn::make<nn::Conv2d>(4, 2, 3), nn::make<nn::ReLU>(),
                nn::make<nn::Flatten>(), nn::make<nn::Linear>(24, 3)));
          },
          callUnary};
}

static std::map<std::string, RecordedModule> makeTable() {
  nn::ConvOptions conv1d{.stride = 2, .padding = 1, .groups = 2};
  nn::ConvOptions conv2d{.padding = 1, .dilation = 2};
  nn::ConvOptions depthwise{
      .stride = 2, .padding = 1, .groups = 4, .bias = false};
  nn::ConvTransposeOptions transposed{
      .stride = 2, .padding = 1, .output_padding = 1, .groups = 2};
  nn::BatchNormOptions norm{.eps = 1e-3, .momentum = 0.3};
  nn::BatchNormOptions plain{.affine = false, .track_running_stats = false};
  nn::RecurrentOptions layers{.num_layers = 2, .bidirectional = true};
  nn::RecurrentOptions layersFirst{
      .num_layers = 2, .batch_first = true, .bidirectional = true};
  nn::TransformerOptions encoder{.dim_feedforward = 8, .dropout = 0};
  nn::TransformerOptions normFirst{.dim_feedforward = 8,
                                   .dropout = 0,
                                   .gelu = true,
                                   .batch_first = true,
                                   .norm_first = true};
  nn::RecurrentOptions noBias{.bias = false};
  nn::RecurrentOptions projected{.num_layers = 2, .proj_size = 2};
  nn::RecurrentOptions projectedBothWays{
      .bias = false, .bidirectional = true, .proj_size = 3};
  nn::ConvOptions reflecting{
      .stride = 2, .padding = 2, .padding_mode = nn::PaddingMode::Reflect};
  nn::ConvOptions replicating{.padding = {1, 2},
                              .dilation = 2,
                              .padding_mode = nn::PaddingMode::Replicate};
  nn::ConvOptions circular{.padding = {2, 1},
                           .padding_mode = nn::PaddingMode::Circular};
  nn::MaxPoolOptions maxPool{
      .stride = 2, .padding = 1, .dilation = 2, .ceil_mode = true};
  nn::AvgPoolOptions avgPool{.stride = 2, .padding = 1, .ceil_mode = true};
  nn::AvgPoolOptions avgPoolInside{
      .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false};
  IntArray wide = {3, 2};
  Shape rows = {3, 4};
  return {
      {"linear", unary<nn::Linear>(3, 4)},
      {"linear_no_bias", unary<nn::Linear>(3, 2, false)},
      {"conv1d", unary<nn::Conv1d>(4, 6, 3, conv1d)},
      {"conv2d", unary<nn::Conv2d>(4, 3, wide, conv2d)},
      {"conv2d_no_bias", unary<nn::Conv2d>(4, 4, 3, depthwise)},
      {"conv_transpose1d", unary<nn::ConvTranspose1d>(
                               4, 3, 3, nn::ConvTransposeOptions{.stride = 2})},
      {"conv_transpose2d", unary<nn::ConvTranspose2d>(4, 6, 3, transposed)},
      {"batch_norm1d", unary<nn::BatchNorm1d>(3)},
      {"batch_norm2d", unary<nn::BatchNorm2d>(4, norm)},
      {"batch_norm2d_plain", unary<nn::BatchNorm2d>(4, plain)},
      {"layer_norm", unary<nn::LayerNorm>(4)},
      {"layer_norm_no_bias",
       unary<nn::LayerNorm>(rows, nn::LayerNormOptions{.bias = false})},
      {"group_norm", unary<nn::GroupNorm>(2, 4)},
      {"embedding", unary<nn::Embedding>(7, 3)},
      {"max_pool2d",
       unary<nn::MaxPool2d>(3, nn::MaxPoolOptions{.stride = 2, .padding = 1})},
      {"avg_pool1d", unary<nn::AvgPool1d>(2)},
      {"adaptive_avg_pool2d", unary<nn::AdaptiveAvgPool2d>(IntArray{1, 1})},
      {"sequential", sequential()},
      {"attention", attention({})},
      {"attention_batch_first",
       attention({.bias = false, .batch_first = true})},
      {"attention_causal", attention({.batch_first = true}, {.causal = true})},
      {"encoder_layer", unary<nn::TransformerEncoderLayer>(6, 2, encoder)},
      {"encoder_layer_norm_first",
       unary<nn::TransformerEncoderLayer>(6, 2, normFirst)},
      {"rnn", recurrent<nn::RNN>(3, 4)},
      {"rnn_relu", recurrent<nn::RNN>(3, 4, noBias, nn::Nonlinearity::ReLU)},
      {"lstm", recurrent<nn::LSTM>(3, 4)},
      {"lstm_layers", recurrent<nn::LSTM>(3, 4, layersFirst)},
      {"lstm_state", recurrent<nn::LSTM>(3, 4)},
      {"gru", recurrent<nn::GRU>(3, 4)},
      {"gru_layers", recurrent<nn::GRU>(3, 4, layers)},
      {"gru_state", recurrent<nn::GRU>(3, 4)},
      {"rnn_single", recurrent<nn::RNN>(3, 4)},
      {"lstm_single", recurrent<nn::LSTM>(3, 4, layersFirst)},
      {"gru_single_state", recurrent<nn::GRU>(3, 4)},
      {"lstm_projected", recurrent<nn::LSTM>(3, 4, projected)},
      {"lstm_projected_state", recurrent<nn::LSTM>(3, 4, projectedBothWays)},
      {"embedding_padding", unary<nn::Embedding>(7, 3, -5)},
      {"conv1d_reflect", unary<nn::Conv1d>(4, 3, 3, reflecting)},
      {"conv2d_replicate", unary<nn::Conv2d>(4, 3, 3, replicating)},
      {"conv2d_circular", unary<nn::Conv2d>(4, 2, 3, circular)},
      {"max_pool2d_ceil", unary<nn::MaxPool2d>(2, maxPool)},
      {"avg_pool2d_ceil", unary<nn::AvgPool2d>(3, avgPool)},
      {"avg_pool2d_inside", unary<nn::AvgPool2d>(3, avgPoolInside)},
  };
}

const std::map<std::string, RecordedModule> &test::recordedModules() {
  static const std::map<std::string, RecordedModule> table = makeTable();
  return table;
}
