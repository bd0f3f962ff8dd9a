//===- Testing.cpp - What the tests of gradients share --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tinh {

Tensor numbers(const Shape &shape, double low, double high, uint64_t seed) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<double> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = low + (high - low) * (double(i) + 0.37) / double(result.size());
  std::shuffle(result.begin(), result.end(), std::mt19937_64(seed));
  return from_data(result, shape);
}

static bool isDifferentiable(const Tensor &x) { return x.dtype() == float64; }

/// Σ y · weights, so that all elements count differently.
static Tensor reduced(const Tensor &y) {
  return sum(y * numbers(y.shape(), 0.5, 1.5, 77));
}

Tensors numericGradients(const Computation &f, const Tensors &inputs) {
  NoGrad guard;
  constexpr double step = 1e-5;
  Tensors gradients;
  for (size_t i = 0; i < inputs.size(); ++i) {
    gradients.emplace_back();
    if (!isDifferentiable(inputs[i]))
      continue;
    std::vector<double> at = values(inputs[i]), gradient(at.size());
    auto valueAt = [&](size_t element, double offset) {
      std::vector<double> moved = at;
      moved[element] += offset;
      Tensors all;
      for (const Tensor &input : inputs)
        all.push_back(input.clone());
      all[i] = from_data(moved, inputs[i].shape());
      return reduced(f(all)).item<double>();
    };
    for (size_t k = 0; k < at.size(); ++k)
      gradient[k] = (valueAt(k, step) - valueAt(k, -step)) / (2 * step);
    gradients.back() = from_data(gradient, inputs[i].shape());
  }
  return gradients;
}

/// Leaves like the inputs.
static Tensors leavesOf(const Tensors &inputs) {
  Tensors leaves;
  for (const Tensor &input : inputs) {
    leaves.push_back(input.clone());
    if (isDifferentiable(input))
      requires_grad_(leaves.back());
  }
  return leaves;
}

Tensors tapeGradients(const Computation &f, const Tensors &inputs) {
  Tensors leaves = leavesOf(inputs), gradients;
  backward(reduced(f(leaves)));
  for (const Tensor &leaf : leaves)
    gradients.push_back(grad_of(leaf));
  return gradients;
}

void expectClose(const Tensor &actual, const Tensor &expected,
                 double tolerance) {
  ASSERT_TRUE(actual.defined());
  ASSERT_EQ(actual.shape(), expected.shape());
  std::vector<double> a = values(actual), b = values(expected);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance * (1 + std::abs(b[i])))
        << "element " << i << ": " << a[i] << " instead of " << b[i];
}

void expectGradients(const Computation &f, const Tensors &inputs) {
  Tensors expected = numericGradients(f, inputs);
  Tensors actual = tapeGradients(f, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE("input " + std::to_string(i));
    if (isDifferentiable(inputs[i]))
      expectClose(actual[i], expected[i], 1e-7);
    else
      EXPECT_FALSE(actual[i].defined());
  }
}

void expectSecondGradients(const Computation &f, const Tensors &inputs) {
  // A function of the inputs that is the gradient of the first one.
  auto gradient = [&](const Tensors &at) {
    EnableGrad guard;
    Tensor x = at[0];
    if (!requires_grad(x))
      requires_grad_(x);
    Tensors all = at;
    return grad(reduced(f(all)), x, {{.create_graph = true}, false});
  };
  expectGradients(gradient, inputs);
}

std::string messageOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), TINH_INVALID_ARGUMENT);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

} // namespace tinh
