//===- Norms.cpp - Normalisation layers -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/norms.h"

#include "compiler/Nn/Checks.h"

namespace tinh::nn {

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

BatchNormBase::BatchNormBase(int64_t channels, const BatchNormOptions &options,
                             int64_t dims)
    : options(options), dims(dims) {
  requireSize(channels, "a batch norm", "the number of channels");
  if (options.affine) {
    register_parameter("weight", weight, channels, init::ones());
    register_parameter("bias", bias, channels, init::zeros());
  }
  if (options.track_running_stats) {
    register_buffer("running_mean", running_mean, channels, 0);
    register_buffer("running_var", running_var, channels, 1);
    register_buffer("num_batches_tracked", num_batches_tracked, {}, 0, int64);
  }
}

void BatchNormBase::infer(const Shape &input) {
  if (input.size() < 2)
    return;
  if (options.affine) {
    set_shape(weight, input[1]);
    set_shape(bias, input[1]);
  }
  if (options.track_running_stats) {
    set_shape(running_mean, input[1]);
    set_shape(running_var, input[1]);
  }
}

Tensor BatchNormBase::forward(const Tensor &x) {
  bool hasRank = x.dim() == dims + 2 || (dims == 1 && x.dim() == 2);
  if (!hasRank)
    throw Error(TINH_INVALID_ARGUMENT,
                "shape " + to_string(x.shape()) +
                    (dims == 1 ? " must be [N, C] or [N, C, length]"
                               : " must be [N, C, height, width]"));
  if (!is_training() && options.track_running_stats)
    return batch_norm(x, running_mean, running_var, weight, bias, options.eps);
  if (x.numel() <= x.size(1))
    throw Error(TINH_INVALID_ARGUMENT,
                "shape " + to_string(x.shape()) +
                    " has one value by channel, which has no variance; train "
                    "with larger batches, or call eval()");
  if (num_batches_tracked.defined())
    num_batches_tracked.add_(1);
  return batch_norm_training(x, running_mean, running_var, weight, bias,
                             options.momentum, options.eps);
}

//===----------------------------------------------------------------------===//
// Layer and group norm
//===----------------------------------------------------------------------===//

LayerNorm::LayerNorm(const Shape &shape, const LayerNormOptions &options)
    : shape(shape), eps(options.eps),
      hasBias(options.elementwise_affine && options.bias) {
  for (int64_t extent : shape)
    requireSize(extent, "LayerNorm", "an extent");
  if (!options.elementwise_affine)
    return;
  register_parameter("weight", weight, shape, init::ones());
  if (hasBias)
    register_parameter("bias", bias, shape, init::zeros());
}

void LayerNorm::infer(const Shape &input) {
  for (size_t i = 0; i < shape.size() && shape.size() <= input.size(); ++i)
    if (shape[i] == inferred)
      shape[i] = input[input.size() - shape.size() + i];
  set_shape(weight, shape);
  if (hasBias)
    set_shape(bias, shape);
}

Tensor LayerNorm::forward(const Tensor &x) {
  return layer_norm(x, weight.defined() ? weight.shape() : shape, weight, bias,
                    eps);
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels,
                     const GroupNormOptions &options)
    : groups(groups), eps(options.eps) {
  requireCount(groups, "GroupNorm", "groups");
  requireSize(channels, "GroupNorm", "the number of channels");
  if (channels != inferred && channels % groups)
    throw Error(TINH_INVALID_ARGUMENT,
                "GroupNorm: " + std::to_string(channels) +
                    " channels do not make " + std::to_string(groups) +
                    " groups");
  if (!options.affine)
    return;
  register_parameter("weight", weight, channels, init::ones());
  register_parameter("bias", bias, channels, init::zeros());
}

void GroupNorm::infer(const Shape &input) {
  if (input.size() < 2)
    return;
  set_shape(weight, input[1]);
  set_shape(bias, input[1]);
}

Tensor GroupNorm::forward(const Tensor &x) {
  return group_norm(x, groups, weight, bias, eps);
}

} // namespace tinh::nn
