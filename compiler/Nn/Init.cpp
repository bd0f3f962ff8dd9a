//===- Init.cpp - Initial values of parameters ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/init.h"

#include "compiler/Eager/Tensor/Support.h"

#include <cmath>
#include <numbers>

using namespace tinh;
using namespace tinh::nn;

init::Fans init::fans_of(const Shape &weights, At at) {
  if (weights.size() < 2)
    eager::fail({"nn::init", at}, "shape ", weights,
                " has no fans; weights have two dimensions or more");
  int64_t kernel = 1;
  for (size_t i = 2; i < weights.size(); ++i)
    kernel *= weights[i];
  return {weights[1] * kernel, weights[0] * kernel};
}

Initializer init::constant(double value) {
  return [value](const Tensor &x, const Generator &) { x.fill_(value); };
}

Initializer init::uniform(double low, double high) {
  return [low, high](const Tensor &x, const Generator &generator) {
    x.copy_(tinh::uniform(x.shape(), generator, low, high, x.dtype()));
  };
}

Initializer init::normal(double mean, double deviation) {
  return [mean, deviation](const Tensor &x, const Generator &generator) {
    x.copy_(tinh::normal(x.shape(), generator, mean, deviation, x.dtype()));
  };
}

//===----------------------------------------------------------------------===//
// By the fans
//===----------------------------------------------------------------------===//

static double xavierDeviation(const Shape &weights, double gain) {
  init::Fans fans = init::fans_of(weights);
  return gain * std::sqrt(2.0 / double(fans.in + fans.out));
}

Initializer init::xavier_uniform(double gain) {
  return [gain](const Tensor &x, const Generator &generator) {
    double bound = std::numbers::sqrt3 * xavierDeviation(x.shape(), gain);
    uniform(-bound, bound)(x, generator);
  };
}

Initializer init::xavier_normal(double gain) {
  return [gain](const Tensor &x, const Generator &generator) {
    normal(0, xavierDeviation(x.shape(), gain))(x, generator);
  };
}

static double kaimingDeviation(const Shape &weights, double slope,
                               init::Fan fan) {
  init::Fans fans = init::fans_of(weights);
  double count = double(fan == init::Fan::In ? fans.in : fans.out);
  return std::sqrt(2 / (1 + slope * slope) / count);
}

Initializer init::kaiming_uniform(double slope, Fan fan) {
  return [=](const Tensor &x, const Generator &generator) {
    double bound =
        std::numbers::sqrt3 * kaimingDeviation(x.shape(), slope, fan);
    uniform(-bound, bound)(x, generator);
  };
}

Initializer init::kaiming_normal(double slope, Fan fan) {
  return [=](const Tensor &x, const Generator &generator) {
    normal(0, kaimingDeviation(x.shape(), slope, fan))(x, generator);
  };
}

//===----------------------------------------------------------------------===//
// Computed on the host
//===----------------------------------------------------------------------===//

static double normalCdf(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

/// The x in [low, high] with normalCdf(x) = p, by bisection.
static double inverseNormalCdf(double p, double low, double high) {
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    (normalCdf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

Initializer init::trunc_normal(double mean, double deviation, double low,
                               double high) {
  return [=](const Tensor &x, const Generator &generator) {
    double first = (low - mean) / deviation, last = (high - mean) / deviation;
    Tensor parts = tinh::uniform(x.shape(), generator, normalCdf(first),
                                 normalCdf(last), float64);
    std::vector<double> values = parts.to_vector<double>();
    for (double &value : values)
      value = mean + deviation * inverseNormalCdf(value, first, last);
    x.copy_(from_data(values, x.shape()));
  };
}

/// Makes rows orthogonal to those before and of length 1 (Gram and Schmidt,
/// twice, for the rounding).
static void orthonormalize(std::vector<double> &rows, size_t count,
                           size_t width) {
  for (size_t i = 0; i < count; ++i) {
    double *row = &rows[i * width];
    for (size_t pass = 0; pass < 2; ++pass)
      for (size_t j = 0; j < i; ++j) {
        const double *other = &rows[j * width];
        double product = 0;
        for (size_t k = 0; k < width; ++k)
          product += row[k] * other[k];
        for (size_t k = 0; k < width; ++k)
          row[k] -= product * other[k];
      }
    double length = 0;
    for (size_t k = 0; k < width; ++k)
      length += row[k] * row[k];
    for (size_t k = 0; k < width; ++k)
      row[k] /= std::sqrt(length);
  }
}

Initializer init::orthogonal(double gain) {
  return [gain](const Tensor &x, const Generator &generator) {
    fans_of(x.shape());
    int64_t rows = x.size(0), columns = x.numel() / std::max<int64_t>(rows, 1);
    int64_t count = std::min(rows, columns), width = std::max(rows, columns);
    Tensor drawn = tinh::normal({count, width}, generator, 0, 1, float64);
    std::vector<double> values = drawn.to_vector<double>();
    orthonormalize(values, size_t(count), size_t(width));
    Tensor matrix = from_data(values, Shape{count, width}) * gain;
    if (rows > columns)
      matrix = matrix.t();
    x.copy_(matrix.reshape(x.shape()));
  };
}
