//===- windows.cpp - Convolutions, pooling and norms for Python -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"

namespace tinh::python {

namespace {

using Convolution = Tensor (*)(Operand, Operand, const Tensor &,
                               const IntArray &, const IntArray &,
                               const IntArray &, int64_t);
using MaxPool = Tensor (*)(Operand, const IntArray &, const IntArray &,
                           const IntArray &, const IntArray &, bool);
using AvgPool = Tensor (*)(Operand, const IntArray &, const IntArray &,
                           const IntArray &, bool, bool);
using AdaptivePool = Tensor (*)(Operand, const IntArray &);

void define(nb::module_ &m, const char *name, Convolution function) {
  m.def(
      name,
      [function](const Given &x, const Given &weights,
                 const OptionalTensor &bias, const IntArray &stride,
                 const IntArray &padding, const IntArray &dilation,
                 int64_t groups) {
        return function(x, weights, or_none(bias), stride, padding, dilation,
                        groups);
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1, Queues(),
      "Of [N, C, spatial...] and a weight [O, C / groups, kernel...]. Lists "
      "are\n"
      "by spatial dimension; padding may have twice as many: those before,\n"
      "then those after.");
}

void define(nb::module_ &m, const char *name, MaxPool function) {
  m.def(
      name,
      [function](const Given &x, const IntArray &kernel, const IntArray &stride,
                 const IntArray &padding, const IntArray &dilation,
                 bool ceil_mode) {
        return function(x, kernel, stride, padding, dilation, ceil_mode);
      },
      nb::arg("x"), nb::arg("kernel"), nb::arg("stride") = nb::none(),
      nb::arg("padding") = 0, nb::arg("dilation") = 1,
      nb::arg("ceil_mode") = false, Queues(),
      "Of [N, C, spatial...]. No stride: that of the kernel.");
}

void define(nb::module_ &m, const char *name, AvgPool function) {
  m.def(
      name,
      [function](const Given &x, const IntArray &kernel, const IntArray &stride,
                 const IntArray &padding, bool ceil_mode,
                 bool count_include_pad) {
        return function(x, kernel, stride, padding, ceil_mode,
                        count_include_pad);
      },
      nb::arg("x"), nb::arg("kernel"), nb::arg("stride") = nb::none(),
      nb::arg("padding") = 0, nb::arg("ceil_mode") = false,
      nb::arg("count_include_pad") = true, Queues(),
      "Of [N, C, spatial...]. No stride: that of the kernel.");
}

void define(nb::module_ &m, const char *name, AdaptivePool function) {
  m.def(
      name,
      [function](const Given &x, const IntArray &extents) {
        return function(x, extents);
      },
      nb::arg("x"), nb::arg("extents"), Queues(),
      "To the given spatial extents, whatever x's are.");
}

void bind_norms(nb::module_ &m) {
  m.def(
      "layer_norm",
      [](const Given &x, const Shape &shape, const OptionalTensor &weights,
         const OptionalTensor &bias, double epsilon) {
        return layer_norm(x, shape, or_none(weights), or_none(bias), epsilon);
      },
      nb::arg("x"), nb::arg("shape"), nb::arg("weight") = nb::none(),
      nb::arg("bias") = nb::none(), nb::arg("epsilon") = 1e-5, Queues());
  m.def(
      "rms_norm",
      [](const Given &x, const Shape &shape, const OptionalTensor &weights,
         double epsilon) {
        return rms_norm(x, shape, or_none(weights), epsilon);
      },
      nb::arg("x"), nb::arg("shape"), nb::arg("weight") = nb::none(),
      nb::arg("epsilon") = 1e-6, Queues(),
      "As layer_norm, dividing by the root mean square only.");
  m.def(
      "batch_norm",
      [](const Given &x, const Tensor &mean, const Tensor &variance,
         const OptionalTensor &weights, const OptionalTensor &bias,
         double epsilon) {
        return batch_norm(x, mean, variance, or_none(weights), or_none(bias),
                          epsilon);
      },
      nb::arg("x"), nb::arg("mean"), nb::arg("variance"),
      nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(),
      nb::arg("epsilon") = 1e-5, Queues(),
      "By channel (dimension 1), with the statistics given.");
  m.def(
      "batch_norm_training",
      [](const Given &x, const OptionalTensor &mean,
         const OptionalTensor &variance, const OptionalTensor &weights,
         const OptionalTensor &bias, double momentum, double epsilon) {
        return batch_norm_training(x, or_none(mean), or_none(variance),
                                   or_none(weights), or_none(bias), momentum,
                                   epsilon);
      },
      nb::arg("x"), nb::arg("mean") = nb::none(),
      nb::arg("variance") = nb::none(), nb::arg("weight") = nb::none(),
      nb::arg("bias") = nb::none(), nb::arg("momentum") = 0.1,
      nb::arg("epsilon") = 1e-5, Queues(),
      "By channel, with the statistics of x; mean and variance, if given, "
      "move\n"
      "toward these by `momentum`.");
  m.def(
      "group_norm",
      [](const Given &x, int64_t groups, const OptionalTensor &weights,
         const OptionalTensor &bias, double epsilon) {
        return group_norm(x, groups, or_none(weights), or_none(bias), epsilon);
      },
      nb::arg("x"), nb::arg("groups"), nb::arg("weight") = nb::none(),
      nb::arg("bias") = nb::none(), nb::arg("epsilon") = 1e-5, Queues(),
      "Over groups of channels (dimension 1).");
}

} // namespace

void bind_windows(nb::module_ &m) {
  define(m, "conv1d", &conv1d);
  define(m, "conv2d", &conv2d);
  define(m, "conv3d", &conv3d);
  m.def(
      "conv_transpose",
      [](const Given &x, const Given &weights, const OptionalTensor &bias,
         const IntArray &stride, const IntArray &padding,
         const IntArray &output_padding, const IntArray &dilation,
         int64_t groups) {
        return conv_transpose(x, weights, or_none(bias), stride, padding,
                              output_padding, dilation, groups);
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(),
      nb::arg("stride") = 1, nb::arg("padding") = 0,
      nb::arg("output_padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1, Queues(),
      "Of [N, C, spatial...], one to three spatial dimensions, and a weight\n"
      "[C, O / groups, kernel...].");
  define(m, "max_pool1d", &max_pool1d);
  define(m, "max_pool2d", &max_pool2d);
  define(m, "max_pool3d", &max_pool3d);
  define(m, "avg_pool1d", &avg_pool1d);
  define(m, "avg_pool2d", &avg_pool2d);
  define(m, "avg_pool3d", &avg_pool3d);
  define(m, "adaptive_avg_pool1d", &adaptive_avg_pool1d);
  define(m, "adaptive_avg_pool2d", &adaptive_avg_pool2d);
  define(m, "adaptive_avg_pool3d", &adaptive_avg_pool3d);
  bind_norms(m);
}

} // namespace tinh::python
