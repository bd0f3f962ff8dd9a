//===- AutogradTest.cpp - The tape of gradients ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Leaves, modes, what is freed and when, hooks and functions with gradients of
// their own.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include "tinh/engine.h"

#include <thread>

using namespace tinh;

TEST(Autograd, AddsUpGradientsInLeaves) {
  Tensor x = requires_grad(tensor({1.0, 2.0, 3.0}, float64));
  Tensor y = requires_grad(tensor({4.0, 5.0, 6.0}, float64));
  Tensor ones_ = ones({3}, float64);
  backward(x * y + x, ones_);
  EXPECT_EQ(grad_of(x).to_vector<double>(), (std::vector<double>{5, 6, 7}));
  EXPECT_EQ(grad_of(y).to_vector<double>(), (std::vector<double>{1, 2, 3}));
  backward(x * x, ones_);
  EXPECT_EQ(grad_of(x).to_vector<double>(), (std::vector<double>{7, 10, 13}));
  zero_grad(x);
  EXPECT_FALSE(grad_of(x).defined());
}
