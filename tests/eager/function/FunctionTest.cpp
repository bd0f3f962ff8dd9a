//===- FunctionTest.cpp - Tests of traced functions -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/function.h"
#include "Expect.h"

#include <thread>

using namespace tinh;
using namespace tinh::test;

TEST(Function, ComputesWhatItDoesEagerly) {
  Generator generator(1);
  Tensor x = uniform({3, 5}, generator), w = uniform({5, 4}, generator);
  auto layer = [&](Tensor x) { return softmax(relu(matmul(x, w) - 1), -1); };
  auto compiled = function(layer);
  expectClose(compiled(x), layer(x));
  expectClose(compiled(x * 2), layer(x * 2));
  EXPECT_EQ(compiled.statistics().traces, 1u);
  EXPECT_EQ(compiled.statistics().calls, 2u);
}

TEST(Function, IsTracedForEachSignature) {
  int traced = 0;
  auto compiled = function([&](Tensor x, int64_t factor) {
    ++traced;
    return x * factor;
  });
  Tensor x = tensor({1.0, 2.0});
  expectValues(compiled(x, int64_t(3)), {3, 6});
  expectValues(compiled(x, int64_t(3)), {3, 6});
  expectValues(compiled(x, int64_t(4)), {4, 8});
  expectValues(compiled(tensor({1.0, 2.0, 3.0}), int64_t(4)), {4, 8, 12});
  expectValues(compiled(x.to(float64), int64_t(4)), {4, 8});
  EXPECT_EQ(traced, 4);
  FunctionStatistics statistics = compiled.statistics();
  EXPECT_EQ(statistics.traces, 4u);
  ASSERT_EQ(statistics.retraces.size(), 3u);
  EXPECT_EQ(statistics.retraces[0], "numbers (4) instead of (3)");
  EXPECT_EQ(statistics.retraces[1], "argument 0: shape [3] instead of [2]");
  EXPECT_EQ(statistics.retraces[2], "argument 0: dtype f64 instead of f32");
  EXPECT_GT(statistics.compile_ms, 0);
}

TEST(Function, TellsSmallNumbersApart) {
  auto compiled =
      function([](Tensor x, double rate) { return x * rate * 1e9; });
  expectValues(compiled(ones(1), 1e-9), {1});
  expectValues(compiled(ones(1), 2e-9), {2});
}

TEST(Function, WarnsOnceOfRetracing) {
  FunctionOptions options;
  options.name = "storm";
  options.retrace_warning = 3;
  auto compiled = function([](Tensor x) { return x + 1; }, options);
  testing::internal::CaptureStderr();
  for (int64_t n = 1; n <= 5; ++n)
    compiled(zeros(n));
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("warning: function 'storm'"), std::string::npos) << said;
  EXPECT_NE(said.find("argument 0: shape [3] instead of [2]"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("warning"), said.rfind("warning"));
}

TEST(Function, TakesAndGivesSeveralTensors) {
  auto compiled = function([](const std::vector<Tensor> &xs, Tensor y) {
    return std::array{xs[0] + xs[1], xs[1] * y};
  });
  auto [sum, product] =
      compiled(std::vector{tensor({1.0}), tensor({2.0})}, tensor({5.0}));
  expectValues(sum, {3});
  expectValues(product, {10});
}

TEST(Function, ReadsWhatCapturedTensorsHold) {
  Tensor w = tensor({1.0, 2.0});
  auto compiled = function([&](Tensor x) { return x * w; });
  Tensor x = ones(2);
  expectValues(compiled(x), {1, 2});
  w += 10;
  expectValues(compiled(x), {11, 12});
}

TEST(Function, ChangesTensorsInPlace) {
  Tensor w = tensor({1.0, 2.0});
  auto step = function([&](Tensor gradient) { w -= gradient * 0.5; });
  step(tensor({2.0, 2.0}));
  step(tensor({2.0, 2.0}));
  expectValues(w, {-1, 0});
  Tensor x = zeros({2, 3});
  auto change = function([](Tensor x) { x[1] += 2; });
  change(x);
  expectValues(x, {0, 0, 0, 2, 2, 2});
  change(x.t().contiguous().t());
  expectValues(x, {0, 0, 0, 2, 2, 2}); // That was a copy of x.
}

TEST(Function, WritesThroughViews) {
  auto program = [](Tensor x) {
    Tensor y = x.clone();
    y.slice(1, 0, None, 2) = 7; // Every second column,
    y.t()[1] *= 2;              // the second one,
    y.select(0, 0).reshape({2, 2}).select(1, 1).fill_(9);
    Tensor row = y[1];
    y += 1; // Seen by the view.
    return std::array{y, row};
  };
  Tensor x = arange(8, At::current()).to(float32).reshape({2, 4});
  auto expected = program(x);
  auto found = function(program)(x);
  expectClose(found[0], expected[0]);
  expectClose(found[1], expected[1]);
}

TEST(Function, GoesOnWithGenerators) {
  Generator eager(5), compiled(5);
  auto draw = [](const Generator &generator) {
    return [&generator](Tensor x) {
      return std::array{x + uniform(3, generator),
                        randint(0, 100, 5, generator).to(float32),
                        normal(5, generator)};
    };
  };
  auto function = tinh::function(draw(compiled));
  Tensor x = zeros(3);
  for (int call = 0; call < 3; ++call) {
    auto expected = draw(eager)(x);
    auto found = function(x);
    for (size_t i = 0; i < 3; ++i)
      expectClose(found[i], expected[i]);
  }
  EXPECT_EQ(eager.counter(), compiled.counter());
}

TEST(Function, IsPartOfFunctionsThatCallIt) {
  auto inner = function([](Tensor x) { return x * 2; });
  auto outer = function([&](Tensor x) { return inner(x) + 1; });
  expectValues(outer(ones(2)), {3, 3});
  EXPECT_EQ(inner.statistics().calls, 0u);
}

TEST(Function, CapturedTensorsMayBeViews) {
  Tensor w = arange(6, At::current()).to(float32).reshape({2, 3});
  Tensor column = w.select(1, 1);
  auto compiled = function([&](Tensor x) { return x + column; });
  expectValues(compiled(zeros(2)), {1, 4});
  auto change = function([&](Tensor x) { column += x; });
  change(ones(2));
  expectValues(w, {0, 2, 2, 3, 5, 5});
}

TEST(FunctionErrors, ValuesAreNotKnownWhileTracing) {
  auto compiled =
      function([](Tensor x) { return x.item<float>() > 0 ? x : -x; });
  expectError([&] { compiled(ones(1)); }, "FunctionTest.cpp");
  expectError([&] { compiled(ones(1)); },
              "value is not known while a function is traced");
}

TEST(FunctionErrors, TracedTensorsDoNotOutliveTheTrace) {
  Tensor leaked;
  auto compiled = function([&](Tensor x) {
    leaked = x + 1;
    return leaked;
  });
  compiled(ones(1));
  expectError([&] { (leaked + 1).wait_to_read(); },
              "has no value outside of it");
}

TEST(FunctionErrors, ChangedTensorsMustNotShareMemory) {
  auto compiled = function([](Tensor x, Tensor y) { x += y; });
  Tensor x = ones(2);
  expectError([&] { compiled(x, x); }, "shares its memory");
}

TEST(FunctionErrors, ShapesAreCheckedWhileTracing) {
  auto compiled = function([](Tensor x) { return x + zeros(3); });
  expectError([&] { compiled(ones(2)); }, "FunctionTest.cpp");
}

TEST(FunctionErrors, LeaveEverythingAsItWas) {
  Generator generator(1);
  Tensor w = full(2, 3.0);
  bool fails = true;
  auto step = function([&](Tensor x) {
    Tensor drawn = uniform(2, generator);
    w += x;
    if (fails)
      throw std::runtime_error("not now");
    return drawn;
  });
  EXPECT_THROW(step(ones(2)), std::runtime_error);
  EXPECT_EQ(generator.counter(), 0u);
  expectValues(w, {3, 3});
  fails = false;
  Generator same(1);
  expectValues(step(ones(2)), uniform(2, same).to_vector<double>());
  expectValues(w, {4, 4});
}

TEST(Function, MayBeCalledFromSeveralThreads) {
  Tensor calls = zeros(1);
  auto twice = function([&](Tensor x) {
    calls += 1;
    return x * 2;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(twice(full(1 + i % 2, t)).to_vector<double>()[0], 2 * t);
    });
  for (std::thread &thread : threads)
    thread.join();
  expectValues(calls, {80});
  EXPECT_EQ(twice.statistics().traces, 2u);
}
