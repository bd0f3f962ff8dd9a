//===- RecordedWeights.cpp - Weights that PyTorch has, too ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RecordedWeights.h"

#include <cmath>

using namespace tinh;
using namespace tinh::test;

static Tensor linearPattern(const Shape &shape, int64_t salt, double factor,
                            double offset) {
  std::vector<float> values(size_t(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    double part = double((int64_t(i) * 37 + salt) % 1009) / 1009 - 0.5;
    values[i] = float(part * factor + offset);
  }
  return from_data(values, shape);
}

Tensor test::patternOf(const Shape &shape, int64_t salt, double factor) {
  return linearPattern(shape, salt, factor, 0);
}

Tensor test::weightsOf(const std::string &name, const Shape &shape,
                       int64_t index) {
  if (name.ends_with("num_batches_tracked"))
    return zeros(shape, int64);
  if (shape.size() > 1) {
    double fan = double(shape.numel()) / double(shape[0]);
    return linearPattern(shape, 101 * index, 2 * std::sqrt(3 / fan), 0);
  }
  if (name.ends_with("running_var"))
    return linearPattern(shape, 101 * index, 1, 1);
  return linearPattern(shape, 101 * index, 0.2, name.ends_with("weight"));
}
