//===- tinh/nn/init.h - Initial values of parameters ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The initialisers of torch.nn.init, as functions that write a tensor and take
// the generator that they draw from. The fans of weights [out, in, kernel…] are
// in · kernel and out · kernel.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_INIT_H
#define TINH_NN_INIT_H

#include "tinh/random.h"

#include <functional>

namespace tinh::nn {

/// Writes all elements of x.
using Initializer =
    std::function<void(const Tensor &x, const Generator &generator)>;

namespace init {

enum class Fan { In, Out };

Initializer constant(double value);
inline Initializer zeros() { return constant(0); }
inline Initializer ones() { return constant(1); }
Initializer uniform(double low = 0, double high = 1);
Initializer normal(double mean = 0, double deviation = 1);
/// Normal, without what is not from low to high.
Initializer trunc_normal(double mean = 0, double deviation = 1, double low = -2,
                         double high = 2);
/// From ±gain · √(6 / (fan in + fan out)), and with deviation
/// gain · √(2 / (fan in + fan out)).
Initializer xavier_uniform(double gain = 1);
Initializer xavier_normal(double gain = 1);
/// From ±√3 · gain / √fan, and with deviation gain / √fan, where gain is that
/// of leaky ReLU: √(2 / (1 + slope²)).
Initializer kaiming_uniform(double slope = 0, Fan fan = Fan::In);
Initializer kaiming_normal(double slope = 0, Fan fan = Fan::In);
/// Rows, or columns if there are fewer, that are orthogonal and of length gain.
/// Of x as a matrix: [first dimension, all others]. Waits.
Initializer orthogonal(double gain = 1);

struct Fans {
  int64_t in, out;
};
/// Of weights with two dimensions or more.
Fans fans_of(const Shape &weights, At at = At::current());

} // namespace init
} // namespace tinh::nn

#endif // TINH_NN_INIT_H
