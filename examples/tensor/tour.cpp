//===- tour.cpp - What docs/tensor-api.md shows ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The document quotes this program block by block, and what it prints.
//
//===----------------------------------------------------------------------===//
#include <iostream>
#include <tinh/autocast.h>
#include <tinh/autograd.h>
#include <tinh/tensor.h>

using tinh::Tensor;

static void create() {
  Tensor x = tinh::tensor({{1.0, 2.5, -3.0}, {4.0, 5.0, 0.125}});
  Tensor n = tinh::arange(6).reshape({2, 3});
  std::cout << x << '\n' << n << '\n' << x.shape() << ' ' << n.dtype() << '\n';
}

static void compute() {
  Tensor x = tinh::arange(3.0), column = tinh::tensor({{10.0}, {20.0}});
  std::cout << 2 * x + column << '\n';
  std::cout << tinh::sqrt(x.matmul(x) - 1) << '\n';
  std::cout << (column > 15) << '\n';
}

static void view() {
  Tensor x = tinh::zeros({3, 4});
  Tensor corner = x.slice(0, 1).slice(1, 2); // x[1:, 2:]
  corner += 1;
  x[0] = tinh::arange(4);
  x.index({tinh::Slice(), 0}) = 9;
  std::cout << x << '\n';
}

static void pick() {
  using namespace tinh; // Slice, None, Ellipsis
  Tensor x = arange(24).reshape({2, 3, 4});
  std::cout << x.index({1, Slice(None, 2), -1}) << '\n';
  std::cout << x.index({Ellipsis, tensor({3, 0})}).shape() << '\n';
  std::cout << x[x > 20] << '\n';
  x.index_put_({x > 20}, 0);
  std::cout << x.sum().item<int>() << '\n';
}

static void draw() {
  tinh::Generator generator(42);
  Tensor weights = tinh::normal({64, 10}, generator, 0, 0.1);
  Tensor batch = tinh::uniform({32, 64}, generator);
  Tensor labels = tinh::randint(0, 10, 32, generator);
  Tensor picked = tinh::matmul(batch, weights).argmax(1);
  std::cout << picked.shape() << ' ' << (labels < 10).all() << '\n';
}

static void differentiate() {
  Tensor w = tinh::requires_grad_(tinh::tensor({1.0, 2.0, 3.0}));
  Tensor loss = tinh::sum(w * w * w);
  tinh::backward(loss);
  std::cout << tinh::grad_of(w) << '\n';
  {
    tinh::NoGrad guard;
    w -= 0.5 * tinh::grad_of(w);
  }
  tinh::zero_grad(w);
  std::cout << w << '\n';
}

static void fail() {
  try {
    Tensor a = tinh::zeros({2, 3}), b = tinh::zeros({4, 3});
    Tensor c = a + b;
  } catch (const tinh::Error &error) {
    std::string message = error.what();
    std::cout << message.substr(message.find("tour.cpp")) << '\n';
  }
}

static void lower() {
  Tensor x = tinh::ones({2, 300}), w = tinh::full({300, 4}, 0.1);
  tinh::Autocast scope(tinh::bfloat16);
  Tensor y = tinh::relu(tinh::matmul(x, w));
  std::cout << y.dtype() << ' ' << tinh::softmax(y, 1).dtype() << '\n';
}

int main() {
  create();
  compute();
  view();
  pick();
  draw();
  differentiate();
  fail();
  lower();
}
