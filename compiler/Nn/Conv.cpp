//===- Conv.cpp - Convolution layers ----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/conv.h"

#include "compiler/Nn/Checks.h"

#include <cmath>

namespace tinh::nn {

/// One number for each spatial dimension.
static IntArray spread(const IntArray &given, int64_t dims) {
  if (given.size() == size_t(dims))
    return given;
  if (given.size() != 1)
    throw Error(TINH_INVALID_ARGUMENT, "the kernel " + to_string(given) +
                                           " of a convolution must have "
                                           "one size, or " +
                                           std::to_string(dims));
  return std::vector<int64_t>(size_t(dims), given[0]);
}

ConvBase::ConvBase(int64_t in, int64_t out, const IntArray &size, int64_t dims,
                   ConvTransposeOptions given, PaddingMode mode,
                   bool isTransposed)
    : options(std::move(given)), mode(mode), out(out),
      kernel(spread(size, dims)), isTransposed(isTransposed) {
  if (mode != PaddingMode::Zeros) {
    edge = options.padding;
    options.padding = 0;
    if (edge.size() != 1 && edge.size() != kernel.size() &&
        edge.size() != 2 * kernel.size())
      throw Error(TINH_INVALID_ARGUMENT,
                  "the padding " + to_string(edge) +
                      " of a convolution must have one size, or " +
                      std::to_string(dims) + " or twice as many");
  }
  requireSize(in, "a convolution", "the number of input channels");
  requireCount(out, "a convolution", "the number of output channels");
  requireCount(options.groups, "a convolution", "groups");
  if ((in != inferred && in % options.groups) || out % options.groups)
    throw Error(TINH_INVALID_ARGUMENT,
                "a convolution: " + std::to_string(in) + " input and " +
                    std::to_string(out) + " output channels do not make " +
                    std::to_string(options.groups) + " groups");
  register_parameter("weight", weight, weightShape(in),
                     init::kaiming_uniform(std::sqrt(5.0)));
  if (options.bias)
    register_parameter(
        "bias", bias, out, [this](const Tensor &x, const Generator &generator) {
          double fan = double(init::fans_of(weight.shape()).in);
          init::uniform(-1 / std::sqrt(fan), 1 / std::sqrt(fan))(x, generator);
        });
}

Shape ConvBase::weightShape(int64_t in) const {
  int64_t perGroup = in == inferred ? inferred : in / options.groups;
  Shape shape =
      isTransposed ? Shape{in, out / options.groups} : Shape{out, perGroup};
  for (int64_t extent : kernel)
    shape.push_back(extent);
  return shape;
}

void ConvBase::infer(const Shape &input) {
  // The batch may be left out.
  size_t axis = input.size() - kernel.size() - 1;
  if (axis < input.size())
    set_shape(weight, weightShape(input[axis]));
}

Tensor ConvBase::padded(const Tensor &x) const {
  size_t spatial = kernel.size();
  if (mode == PaddingMode::Zeros || size_t(x.dim()) < spatial)
    return x; // In the second case the convolution says what is wrong.
  std::vector<int64_t> low(size_t(x.dim()), 0), high = low;
  for (size_t i = 0, first = low.size() - spatial; i < spatial; ++i) {
    size_t behind = edge.size() > spatial ? spatial + i : i;
    low[first + i] = edge.size() == 1 ? edge[0] : edge[i];
    high[first + i] = edge.size() == 1 ? edge[0] : edge[behind];
  }
  Padding how = mode == PaddingMode::Reflect    ? Padding::Reflect
                : mode == PaddingMode::Circular ? Padding::Wrap
                                                : Padding::Edge;
  return pad(x, low, high, how);
}

Tensor ConvBase::forward(const Tensor &x) {
  Tensor input = quantized_input(padded(x)), by = quantized_weight(weight);
  const ConvTransposeOptions &o = options;
  if (isTransposed)
    return conv_transpose(input, by, bias, o.stride, o.padding,
                          o.output_padding, o.dilation, o.groups);
  auto conv = kernel.size() == 1 ? conv1d : conv2d;
  return conv(input, by, bias, o.stride, o.padding, o.dilation, o.groups);
}

static ConvTransposeOptions general(const ConvOptions &o) {
  return {o.stride, o.padding, 0, o.dilation, o.groups, o.bias};
}

Conv1d::Conv1d(int64_t in, int64_t out, const IntArray &kernel,
               const ConvOptions &options)
    : ConvBase(in, out, kernel, 1, general(options), options.padding_mode,
               false) {}

Conv2d::Conv2d(int64_t in, int64_t out, const IntArray &kernel,
               const ConvOptions &options)
    : ConvBase(in, out, kernel, 2, general(options), options.padding_mode,
               false) {}

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out,
                                 const IntArray &kernel,
                                 const ConvTransposeOptions &options)
    : ConvBase(in, out, kernel, 1, options, PaddingMode::Zeros, true) {}

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out,
                                 const IntArray &kernel,
                                 const ConvTransposeOptions &options)
    : ConvBase(in, out, kernel, 2, options, PaddingMode::Zeros, true) {}

} // namespace tinh::nn
