//===- Testing.h - What the tests of gradients share ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_AUTOGRAD_TESTING_H
#define TINH_TESTS_EAGER_AUTOGRAD_TESTING_H

#include "tinh/autograd.h"

#include "gtest/gtest.h"

#include <functional>
#include <string>
#include <vector>

namespace tinh {

using Tensors = std::vector<Tensor>;
using Computation = std::function<Tensor(const Tensors &)>;

/// The gradients of Σ f(inputs) · weights, for fixed weights, by finite
/// differences.
Tensors numericGradients(const Computation &f, const Tensors &inputs);
/// The same by the tape.
Tensors tapeGradients(const Computation &f, const Tensors &inputs);
/// Compares them, those of f64 inputs each, and then those of the gradients.
void expectGradients(const Computation &f, const Tensors &inputs);
void expectSecondGradients(const Computation &f, const Tensors &inputs);

void expectClose(const Tensor &actual, const Tensor &expected,
                 double tolerance);
/// Numbers from low to high, all different, in a fixed shuffled order.
Tensor numbers(const Shape &shape, double low = -2, double high = 2,
               uint64_t seed = 1);

inline std::vector<double> values(const Tensor &x) {
  return x.to_vector<double>();
}

/// The message of the error that `body` throws.
std::string messageOf(const std::function<void()> &body);

} // namespace tinh

#endif // TINH_TESTS_EAGER_AUTOGRAD_TESTING_H
