//===- FunctionOnTapeTest.cpp - Compiled functions on the tape --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Expect.h"
#include "tinh/autograd.h"
#include "tinh/function.h"

using namespace tinh;
using namespace tinh::test;
using Tensors = std::vector<Tensor>;

namespace {

/// Expects the same gradients through `layer` as it is and compiled.
template <typename Layer>
void expectSameOnTape(Layer layer, const Tensors &leaves) {
  auto run = [&](auto &called) {
    Tensors p;
    for (const Tensor &leaf : leaves)
      p.push_back(requires_grad_(leaf.clone()));
    Tensor y = called(p[0] * 2, p[1]);
    backward(sum(square(called(y, p[1]))) + sum(y));
    return Tensors{y, grad_of(p[0]), grad_of(p[1])};
  };
  auto compiled = function(layer);
  Tensors expected = run(layer);
  for (int call = 0; call < 2; ++call) {
    Tensors found = run(compiled);
    for (size_t i = 0; i < found.size(); ++i)
      expectClose(found[i], expected[i]);
  }
  EXPECT_EQ(compiled.statistics().traces, 1u);
}

} // namespace

TEST(FunctionsOnTape, AreOneNode) {
  expectSameOnTape(
      [](Tensor x, Tensor w) { return tanh(matmul(x, w)) * sigmoid(x); },
      {numbers({3, 4}), numbers({4, 4}, 0.3)});
}

TEST(FunctionsOnTape, GiveGradientsToWhatTheyCapture) {
  Tensor x = numbers({5, 4});
  Tensor w = requires_grad_(numbers({4, 4})),
         v = requires_grad_(detach(w).clone());
  auto layer = function([&](Tensor x) { return exp(matmul(x, w)); });
  backward(sum(layer(x)));
  backward(sum(exp(matmul(x, v))));
  expectClose(grad_of(w), grad_of(v));
  // Where nothing is recorded, nothing is.
  NoGrad guard;
  EXPECT_FALSE(requires_grad(layer(x)));
}

TEST(FunctionsOnTape, SeveralResultsSomeWithoutGradient) {
  auto both = function([](Tensor x) {
    return std::vector<Tensor>{exp(x), argmax(x, 0), x * x};
  });
  Tensor x = requires_grad_(numbers({6}));
  Tensors y = both(x);
  EXPECT_FALSE(requires_grad(y[1]));
  backward(sum(y[2]));
  expectClose(grad_of(x), 2 * detach(x));
}

TEST(FunctionsOnTape, GradientsOfGradients) {
  auto f = [](Tensor x) { return exp(sin(x)) * x; };
  auto compiled = function(f);
  auto second = [](auto &called, Tensor leaf) {
    Tensor x = requires_grad_(leaf.clone());
    Tensor first = grad(sum(called(x)), x, {{.create_graph = true}});
    return grad(sum(first * first), x);
  };
  expectClose(second(compiled, numbers({5})), second(f, numbers({5})));
}

TEST(FunctionsOnTape, ChangeWhatNeedsNoGradient) {
  Tensor running = zeros(4), eager = zeros(4);
  auto normalise = [](Tensor x, Tensor &statistics) {
    Tensor mean = tinh::mean(x, 0);
    {
      NoGrad guard;
      statistics.copy_(statistics * 0.9 + mean * 0.1);
    }
    return (x - mean) * exp(statistics);
  };
  auto compiled = function([&](Tensor x) { return normalise(x, running); });
  Tensor x = requires_grad_(numbers({3, 4})),
         y = requires_grad_(detach(x).clone());
  for (int step = 0; step < 2; ++step) {
    backward(sum(square(compiled(x))));
    backward(sum(square(normalise(y, eager))));
  }
  expectClose(running, eager);
  expectClose(grad_of(x), grad_of(y));
}

TEST(FunctionsOnTape, NoticeChangesBeforeTheGradient) {
  Tensor w = requires_grad_(ones(3));
  auto layer = function([&](Tensor x) { return x * w; });
  Tensor loss = sum(layer(requires_grad_(numbers({3}))));
  {
    NoGrad guard;
    w += 1;
  }
  expectError([&] { backward(loss); }, "was changed in place since");
}

TEST(FunctionsOnTape, SayWhatCannotBeDifferentiated) {
  auto loop = function([](Tensor x) {
    return while_loop(
        [](std::span<const Tensor> s) { return s[0].sum() < 100; },
        [](std::span<const Tensor> s) { return Tensors{s[0] * s[0]}; }, {x})[0];
  });
  Tensor x = ones(3) * 2;
  loop(x);
  expectError([&] { loop(requires_grad_(x)); },
              "cannot be differentiated: nothing bounds");
}
