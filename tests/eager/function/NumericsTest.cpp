//===- NumericsTest.cpp - The first operation that gave a NaN -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// EngineOptions::check_numerics: of operations, in backward passes, and in
// compiled functions.
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "tinh/engine.h"
#include "tinh/function.h"
#include "tinh/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tinh;

namespace {

class CheckedNumerics : public ::testing::TestWithParam<EngineMode> {
protected:
  static void check(tinh_check_numerics_t wanted,
                    EngineMode mode = EngineMode::Asynchronous) {
    EngineOptions options;
    options.mode = mode;
    options.workers = 2;
    options.check_numerics = wanted;
    configure(options);
  }
  void SetUp() override { check(TINH_CHECK_NANS_AND_INFINITIES, GetParam()); }
  void TearDown() override {
    try {
      wait_all();
    } catch (const Error &) { // Each test has seen its own.
    }
    configure({});
  }

  /// What `body` fails with. `line` is the one that should be named.
  template <typename Body> static std::string failure(Body body) {
    try {
      body();
    } catch (const Error &error) {
      EXPECT_EQ(error.status(), TINH_NOT_FINITE);
      return error.what();
    }
    return "no error";
  }
};

INSTANTIATE_TEST_SUITE_P(, CheckedNumerics,
                         ::testing::Values(EngineMode::Asynchronous,
                                           EngineMode::Synchronous),
                         [](const auto &mode) {
                           return mode.param == EngineMode::Synchronous
                                      ? "Synchronous"
                                      : "Asynchronous";
                         });

std::string at(int line) {
  return "NumericsTest.cpp:" + std::to_string(line) + ": ";
}

TEST_P(CheckedNumerics, NameTheOperationAndItsPlace) {
  int line = 0;
  std::string text = failure([&] {
    Tensor x = tensor({{1.0f, 2.0f}, {-3.0f, 4.0f}}) * 2.0f;
    line = __LINE__ + 1;
    Tensor y = log(x);
    matmul(exp(y), x).wait_to_read();
  });
  EXPECT_EQ(text, at(line) +
                      "log: gave NaN at [1, 0], the first of 1 among 4 numbers "
                      "of its result; all that it had read was finite");
}

TEST_P(CheckedNumerics, NameInfinities) {
  EXPECT_NE(failure([] {
              exp(tensor({1.0f, 89.0f})).wait_to_read();
            }).find("exp: gave infinity at [1], the first of 1 among 2"),
            std::string::npos);
  EXPECT_NE(failure([] {
              (tensor({1.0f, -1.0f}) / tensor({1.0f, 0.0f})).wait_to_read();
            }).find("gave -infinity at [1]"),
            std::string::npos);
  EXPECT_NE(failure([] {
              tensor({1e30, 2e40}, float64).to(float32).wait_to_read();
            }).find("infinity"),
            std::string::npos);
}

TEST_P(CheckedNumerics, SayWhatWasReadAlready) {
  std::string text = failure([] {
    Tensor x = tensor({1.0f, std::nanf(""), 3.0f});
    (ones({2, 3}) + x).wait_to_read();
  });
  EXPECT_NE(text.find("gave NaN at [0, 1], the first of 2 among 6 numbers of "
                      "its result; it had read NaN at [1], the first of 1 "
                      "among 3 numbers of its operand 1"),
            std::string::npos)
      << text;
}

TEST_P(CheckedNumerics, FollowViewsAndInPlace) {
  Tensor x = ones({3, 4});
  std::string text = failure([&] {
    Tensor column = x.slice(1, 2, 3);
    column.sub_(2);
    column.log_();
    x.wait_to_read();
  });
  EXPECT_NE(text.find("gave NaN at [0, 0], the first of 3 among 3 numbers of "
                      "its result"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("had read"), std::string::npos) << text;
}

TEST_P(CheckedNumerics, LeaveAloneWhatOnlyMoves) {
  Tensor x = full({4}, INFINITY);
  Tensor y = where(arange(4) > 1, 0.0f, concat({x, x}).slice(0, 2, 6));
  EXPECT_EQ(y.to_vector<float>(),
            (std::vector<float>{INFINITY, INFINITY, 0, 0}));
}

TEST_P(CheckedNumerics, PassInfinitiesIfOnlyNansAreWanted) {
  check(TINH_CHECK_NANS, GetParam());
  Tensor x = tensor({0.0f, 1.0f});
  EXPECT_EQ(log(x).to_vector<float>()[0], -INFINITY);
  EXPECT_NE(failure([&] { (log(x) * x).wait_to_read(); })
                .find("gave NaN at [0], the first of 1 among 2 numbers of its "
                      "result; nothing that it had read was NaN"),
            std::string::npos);
}

/// 0 / 0 in the gradient of the root of 0.
TEST_P(CheckedNumerics, NameWhoseGradientItIs) {
  Tensor x = requires_grad_(tensor({4.0f, 0.0f}));
  int line = 0;
  std::string text = failure([&] {
    line = __LINE__ + 1;
    Tensor y = sqrt(x);
    backward((y * y).sum());
    grad_of(x).wait_to_read();
  });
  EXPECT_NE(text.find("gave "), std::string::npos) << text;
  EXPECT_NE(text.find("in the gradient of " + at(line) + "sqrt"),
            std::string::npos)
      << text;
}

TEST_P(CheckedNumerics, NameKernelsOfCompiledFunctions) {
  auto f = function(
      "layers", [](const Tensor &x) { return matmul(log(matmul(x, x)), x); });
  Tensor x = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}});
  Tensor bad = tensor({{1.0f, -2.0f}, {3.0f, 4.0f}});
  f(x).wait_to_read();
  std::string text = failure([&] { f(bad).wait_to_read(); });
  EXPECT_NE(text.find(": main: step "), std::string::npos) << text;
  EXPECT_NE(text.find("log"), std::string::npos) << text;
  EXPECT_NE(text.find("all that it had read was finite"), std::string::npos)
      << text;
  check(TINH_CHECK_NOTHING, GetParam());
  f(bad).wait_to_read();
}

TEST_P(CheckedNumerics, NameWhoseCompiledGradientItIs) {
  auto f = function("roots", [](const Tensor &x) { return sqrt(x * x).sum(); });
  Tensor x = requires_grad_(zeros({3}));
  std::string text = failure([&] {
    backward(f(x));
    grad_of(x).wait_to_read();
  });
  EXPECT_NE(text.find("sqrt"), std::string::npos) << text;
  EXPECT_NE(text.find(", in the gradient of NumericsTest.cpp:"),
            std::string::npos)
      << text;
}

TEST_P(CheckedNumerics, ComputeTheSame) {
  auto compute = [] {
    Tensor x = (arange(600).to(float32) / 77).reshape({20, 30});
    return (softmax(tanh(matmul(x, x.t())), 1) * 3).to_vector<float>();
  };
  std::vector<float> checked = compute();
  check(TINH_CHECK_NOTHING, GetParam());
  EXPECT_EQ(compute(), checked);
}

} // namespace
