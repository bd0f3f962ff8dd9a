//===- tinh/nn/pooling.h - Pooling layers -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over [N, C, spatial…]. Lists are by spatial dimension, or one number for all;
// no stride is that of the kernel.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_POOLING_H
#define TINH_NN_POOLING_H

#include "tinh/nn/layers.h"

namespace tinh::nn {

struct MaxPoolOptions {
  IntArray stride = {}, padding = 0, dilation = 1;
  bool ceil_mode = false;
};
struct AvgPoolOptions {
  IntArray stride = {}, padding = 0;
  bool ceil_mode = false, count_include_pad = true;
};

struct MaxPool1d : Lambda {
  explicit MaxPool1d(const IntArray &kernel, const MaxPoolOptions &o = {})
      : Lambda(
            [=](const Tensor &x) {
              return max_pool1d(x, kernel, o.stride, o.padding, o.dilation,
                                o.ceil_mode);
            },
            "MaxPool1d") {}
};
struct MaxPool2d : Lambda {
  explicit MaxPool2d(const IntArray &kernel, const MaxPoolOptions &o = {})
      : Lambda(
            [=](const Tensor &x) {
              return max_pool2d(x, kernel, o.stride, o.padding, o.dilation,
                                o.ceil_mode);
            },
            "MaxPool2d") {}
};
struct AvgPool1d : Lambda {
  explicit AvgPool1d(const IntArray &kernel, const AvgPoolOptions &o = {})
      : Lambda(
            [=](const Tensor &x) {
              return avg_pool1d(x, kernel, o.stride, o.padding, o.ceil_mode,
                                o.count_include_pad);
            },
            "AvgPool1d") {}
};
struct AvgPool2d : Lambda {
  explicit AvgPool2d(const IntArray &kernel, const AvgPoolOptions &o = {})
      : Lambda(
            [=](const Tensor &x) {
              return avg_pool2d(x, kernel, o.stride, o.padding, o.ceil_mode,
                                o.count_include_pad);
            },
            "AvgPool2d") {}
};
struct AdaptiveAvgPool1d : Lambda {
  explicit AdaptiveAvgPool1d(const IntArray &extents)
      : Lambda([=](const Tensor &x) { return adaptive_avg_pool1d(x, extents); },
               "AdaptiveAvgPool1d") {}
};
struct AdaptiveAvgPool2d : Lambda {
  explicit AdaptiveAvgPool2d(const IntArray &extents)
      : Lambda([=](const Tensor &x) { return adaptive_avg_pool2d(x, extents); },
               "AdaptiveAvgPool2d") {}
};

} // namespace tinh::nn

#endif // TINH_NN_POOLING_H
