//===- AutogradTest.cpp - The tape of gradients ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Leaves, modes, hooks, functions with gradients of their own, higher
// derivatives, threads, and what is freed when.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include "tinh/engine.h"

#include <cmath>
#include <thread>

using namespace tinh;
using Doubles = std::vector<double>;

static Tensor leaf(std::initializer_list<double> numbers) {
  return requires_grad_(tensor(numbers, float64));
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

TEST(Autograd, AddsUpGradientsInLeaves) {
  Tensor x = leaf({1, 2, 3}), y = leaf({4, 5, 6});
  Tensor seed = ones({3}, float64);
  backward(x * y + x, seed);
  EXPECT_EQ(values(grad_of(x)), (Doubles{5, 6, 7}));
  EXPECT_EQ(values(grad_of(y)), (Doubles{1, 2, 3}));
  backward(x * x, seed);
  EXPECT_EQ(values(grad_of(x)), (Doubles{7, 10, 13}));
  EXPECT_EQ(values(seed), (Doubles{1, 1, 1}));
  zero_grad(x);
  EXPECT_FALSE(grad_of(x).defined());
  backward(sum(x * 2));
  EXPECT_EQ(values(grad_of(x)), (Doubles{2, 2, 2}));
}

TEST(Autograd, AddsToTheSameMemory) {
  Tensor x = leaf({1, 2});
  backward(sum(x * x));
  Tensor first = grad_of(x);
  backward(sum(x * x));
  EXPECT_TRUE(first.is_same(grad_of(x)));
  EXPECT_EQ(values(first), (Doubles{4, 8}));
}

TEST(Autograd, TellsLeavesFromResults) {
  Tensor constant = ones({2}), x = requires_grad_(ones({2}));
  Tensor y = x * constant;
  EXPECT_FALSE(requires_grad(constant));
  EXPECT_TRUE(is_leaf(constant));
  EXPECT_TRUE(requires_grad(x));
  EXPECT_TRUE(is_leaf(x));
  EXPECT_TRUE(requires_grad(y));
  EXPECT_FALSE(is_leaf(y));
  EXPECT_TRUE(requires_grad(y[0]));
  EXPECT_FALSE(requires_grad(y > 0));
  EXPECT_FALSE(requires_grad(y.to(int64)));
  requires_grad_(x, false);
  EXPECT_FALSE(requires_grad(x * constant));
}

TEST(Autograd, PutsGradientsInPlace) {
  Tensor x = leaf({1, 2});
  set_grad(x, tensor({5.0, 6.0}, float64));
  backward(sum(x));
  EXPECT_EQ(values(grad_of(x)), (Doubles{6, 7}));
  set_grad(x, {});
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Autograd, MakesLeavesOfViews) {
  Tensor base = numbers({3, 4});
  Tensor column = requires_grad_(base.select(1, 2)); // Strided.
  backward(sum(square(column.narrow(0, 1, 2))) + sum(column));
  Doubles at = values(column);
  EXPECT_EQ(values(grad_of(column)),
            (Doubles{1, 1 + 2 * at[1], 1 + 2 * at[2]}));
  EXPECT_FALSE(requires_grad(base));
}

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

TEST(Autograd, RecordsNothingWithoutGradients) {
  Tensor x = leaf({1, 2});
  EXPECT_TRUE(is_grad_enabled());
  {
    NoGrad guard;
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_FALSE(requires_grad(x * 2));
    EXPECT_FALSE(requires_grad(x[0]));
    {
      EnableGrad inner;
      EXPECT_TRUE(requires_grad(x * 2));
    }
    EXPECT_FALSE(is_grad_enabled());
    x -= 1.0; // A leaf may be changed here.
  }
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_EQ(values(x), (Doubles{0, 1}));
  std::thread([] { EXPECT_TRUE(is_grad_enabled()); }).join();
}

TEST(Autograd, DetachesInTheSameMemory) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3, constant = detach(y);
  EXPECT_TRUE(constant.shares_memory_with(y));
  EXPECT_FALSE(requires_grad(constant));
  backward(sum(y * constant));
  EXPECT_EQ(values(grad_of(x)), (Doubles{9, 18}));
  zero_grad(x);
  backward(sum(x * stop_gradient(x * x)));
  EXPECT_EQ(values(grad_of(x)), (Doubles{1, 4}));
}

TEST(Autograd, ClampPassesGradientsAtItsBounds) {
  Tensor x = leaf({-2, -1, 0, 1.5, 2});
  backward(sum(clamp(x, -1, 1.5)));
  EXPECT_EQ(values(grad_of(x)), (Doubles{0, 1, 1, 1, 0}));
}

//===----------------------------------------------------------------------===//
// grad
//===----------------------------------------------------------------------===//

TEST(Autograd, GivesGradientsByAnything) {
  Tensor x = leaf({1, 2}), other = leaf({3, 4});
  Tensor y = x * x, z = y * other;
  Tensors given = grad(sum(z), {y, x});
  EXPECT_EQ(values(given[0]), (Doubles{3, 4}));
  EXPECT_EQ(values(given[1]), (Doubles{6, 16}));
  EXPECT_FALSE(grad_of(x).defined());
  EXPECT_FALSE(grad_of(other).defined());
}

TEST(Autograd, GivesGradientsOfSeveralOutputs) {
  Tensor x = leaf({1, 2});
  Tensors outputs = {x * 2, sum(x * x)};
  Tensors seeds = {tensor({10.0, 20.0}, float64), Tensor()};
  Tensors inputs = {x};
  EXPECT_EQ(values(grad(outputs, inputs, seeds)[0]), (Doubles{22, 44}));
}

TEST(Autograd, FollowsOneOfTheViewsOfATensor) {
  Tensor x = leaf({1, 2, 3});
  Tensor part = x.narrow(0, 1, 2);
  Tensor loss = sum(part * part) + sum(x);
  EXPECT_EQ(values(grad(loss, part, {{.retain_graph = true}, false})),
            (Doubles{4, 6}));
  EXPECT_EQ(values(grad(loss, x)), (Doubles{1, 5, 7}));
}

TEST(Autograd, FollowsATapeAgainIfItIsKept) {
  Tensor x = leaf({2});
  Tensor y = exp(x * x);
  backward(y, {}, {.retain_graph = true});
  double once = grad_of(x).item<double>();
  backward(y);
  EXPECT_DOUBLE_EQ(grad_of(x).item<double>(), 2 * once);
}

//===----------------------------------------------------------------------===//
// Higher derivatives
//===----------------------------------------------------------------------===//

TEST(Autograd, DifferentiatesAnyNumberOfTimes) {
  Tensor x = leaf({0.7});
  Tensor y = sin(x);
  double expected[] = {std::cos(0.7), -std::sin(0.7), -std::cos(0.7),
                       std::sin(0.7)};
  for (double value : expected) {
    y = grad(y, x, {{.create_graph = true}, false});
    EXPECT_NEAR(y.item<double>(), value, 1e-14);
  }
}

TEST(Autograd, KeepsTheGraphOfGradientsInLeaves) {
  Tensor x = leaf({3});
  backward(x * x * x, {}, {.create_graph = true}); // 3 x² = 27
  Tensor penalty = square(grad_of(x));             // 9 x⁴
  zero_grad(x);
  backward(penalty); // 36 x³
  EXPECT_DOUBLE_EQ(grad_of(x).item<double>(), 36 * 27);
}

//===----------------------------------------------------------------------===//
// Hooks and custom gradients
//===----------------------------------------------------------------------===//

TEST(Autograd, CallsHooks) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  Doubles seen;
  register_hook(y, [&](const Tensor &gradient) {
    seen = values(gradient);
    return gradient * 10;
  });
  register_hook(x, [](const Tensor &gradient) { return gradient + 1; });
  backward(sum(y * y));
  EXPECT_EQ(seen, (Doubles{6, 12}));
  EXPECT_EQ(values(grad_of(x)), (Doubles{181, 361}));
}

TEST(Autograd, TakesCustomGradients) {
  Tensor x = leaf({1, 2}), scale = leaf({5, 6});
  Tensors inputs = {x, scale};
  auto straightThrough = [&] {
    return custom_gradient(
        [](std::span<const Tensor> in) {
          return Tensors{round(in[0] * 0.4), in[1]};
        },
        [](std::span<const Tensor> in, std::span<const Tensor> out,
           std::span<const Tensor> given) {
          EXPECT_EQ(values(out[1]), (Doubles{5, 6}));
          return Tensors{given[0] * in[1], Tensor()};
        },
        inputs);
  };
  Tensors outputs = straightThrough();
  EXPECT_EQ(values(outputs[0]), (Doubles{0, 1}));
  backward(sum(outputs[0] * 2));
  EXPECT_EQ(values(grad_of(x)), (Doubles{10, 12}));
  EXPECT_FALSE(grad_of(scale).defined());
  // What it does is recorded for higher derivatives.
  Tensor first =
      grad(sum(straightThrough()[0]), x, {{.create_graph = true}, false});
  EXPECT_EQ(values(grad(sum(first), scale)), (Doubles{1, 1}));
}

//===----------------------------------------------------------------------===//
// Dtypes
//===----------------------------------------------------------------------===//

TEST(Autograd, GivesGradientsOfTheirTensorsDtypes) {
  for (DType dtype : {float16, bfloat16, float32}) {
    Tensor x = numbers({5, 7}), low = requires_grad_(x.to(dtype));
    requires_grad_(x);
    auto loss = [](const Tensor &at) {
      return mean(gelu(at.to(float32)) * sigmoid(at) + softmax(at, 1));
    };
    backward(loss(low));
    backward(loss(x));
    EXPECT_EQ(grad_of(low).dtype(), dtype);
    expectClose(grad_of(low), grad_of(x), dtype == bfloat16 ? 4e-3 : 5e-4);
  }
}

//===----------------------------------------------------------------------===//
// Long chains, memory, failures, threads
//===----------------------------------------------------------------------===//

TEST(Autograd, FollowsLongChains) {
  Tensor x = requires_grad_(ones({1}));
  Tensor y = x;
  for (int i = 0; i < 100000; ++i)
    y = y + 1;
  backward(y);
  EXPECT_EQ(grad_of(x).item<float>(), 1);
  y = Tensor();
  // One that is never followed.
  for (int i = 0; i < 100000; ++i)
    x = x * 1;
}

TEST(Autograd, FollowsLongChainsOfViewsAndWrites) {
  Tensor x = requires_grad_(ones({4}));
  Tensor y = x * 1;
  for (int i = 0; i < 20000; ++i)
    y[i % 4] += 1;
  backward(sum(y));
  EXPECT_EQ(values(grad_of(x)), (Doubles{1, 1, 1, 1}));
}

TEST(Autograd, FreesWhatBackwardHasUsed) {
  constexpr int64_t count = 1 << 18, bytes = count * 4;
  wait_all();
  uint64_t before = memory_statistics().in_use;
  Tensor x = requires_grad_(ones({count}));
  Tensor y = x;
  for (int i = 0; i < 10; ++i)
    y = exp(y * 0.1);
  y = sum(y);
  wait_all();
  EXPECT_GE(memory_statistics().in_use, before + 10 * bytes);
  reset_peak_memory();
  uint64_t forward = memory_statistics().in_use;
  backward(y);
  wait_all();
  // x and its gradient; y still refers to the tape.
  EXPECT_LT(memory_statistics().in_use, before + 3 * bytes);
  EXPECT_LT(memory_statistics().peak, forward + 6 * bytes);
}

TEST(Autograd, KeepsNothingThatNoGradientNeeds) {
  constexpr int64_t count = 1 << 18, bytes = count * 4;
  wait_all();
  uint64_t before = memory_statistics().in_use;
  Tensor x = requires_grad_(ones({count}));
  Tensor y = x;
  for (int i = 0; i < 10; ++i)
    y = (y + 1) * 2;
  wait_all();
  EXPECT_LT(memory_statistics().in_use, before + 3 * bytes);
}

TEST(Autograd, PassesFailuresOfOperationsOn) {
  Tensor x = requires_grad_(ones({4}));
  Tensor index = tensor({0, 9});
  Tensor y = sum(exp(index_select(x, 0, index)));
  backward(y);
  EXPECT_THROW(grad_of(x).wait_to_read(), Error);
  EXPECT_THROW(wait_all(), Error);
  zero_grad(x);
  backward(sum(x * x));
  EXPECT_EQ(values(grad_of(x)), (Doubles{2, 2, 2, 2}));
}

TEST(Autograd, HasATapeForEachThread) {
  Tensor shared = numbers({16});
  std::vector<std::thread> threads;
  std::vector<Doubles> results(4);
  for (Doubles &result : results)
    threads.emplace_back([&] {
      Tensor x = requires_grad_(shared.clone());
      for (int i = 0; i < 50; ++i) {
        zero_grad(x);
        Tensor y = x;
        for (int k = 0; k < 5; ++k)
          y = tanh(y * shared);
        backward(sum(y));
      }
      result = values(grad_of(x));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Doubles &result : results)
    EXPECT_EQ(result, results[0]);
}

TEST(Autograd, AddsGradientsOfThreadsToSharedLeaves) {
  Tensor weights = leaf({1, 2, 3});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        backward(sum(weights * weights));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(values(grad_of(weights)), (Doubles{800, 1600, 2400}));
}
