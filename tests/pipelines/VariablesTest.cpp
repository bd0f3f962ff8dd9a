//===- VariablesTest.cpp - Variables from IR to the context's state -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"
#include "tinh/runtime.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace {

// y = x · w, loss = mean (y - t)²; momentum 0.9, learning rate 0.1.
constexpr const char *kModel = R"(
graph.variable "w" = dense<[1.0, -2.0, 3.0, -4.0]> : tensor<4xf32> trainable
graph.variable "velocity" = dense<0.0> : tensor<4xf32>
graph.variable "step" = dense<7> : tensor<i64>
func.func @train_step(
    %x: tensor<4xf32> {graph.name = "x"}, %t: tensor<4xf32> {graph.name = "t"},
    %v: tensor<4xf32> {graph.variable = "velocity"},
    %w: tensor<4xf32> {graph.variable = "w"},
    %n: tensor<i64> {graph.variable = "step"})
    -> (tensor<f32> {graph.name = "loss"}, tensor<4xf32> {graph.variable = "w"},
        tensor<i64> {graph.variable = "step"},
        tensor<4xf32> {graph.variable = "velocity"}) {
  %one = graph.constant dense<1> : tensor<i64>
  %half = graph.constant dense<0.5> : tensor<f32>
  %rate = graph.constant dense<0.1> : tensor<f32>
  %decay = graph.constant dense<0.9> : tensor<f32>
  %y = graph.mul %x, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %d = graph.sub %y, %t : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %s = graph.mul %d, %d : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %loss = graph.reduce mean %s axes [0] : tensor<4xf32> -> tensor<f32>
  %h = graph.mul %d, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %g = graph.mul %h, %half : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %v1 = graph.mul %v, %decay : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %v2 = graph.add %v1, %g : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %u = graph.mul %v2, %rate : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %w2 = graph.sub %w, %u : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %n2 = graph.add %n, %one : tensor<i64>, tensor<i64> -> tensor<i64>
  return %loss, %w2, %n2, %v2 : tensor<f32>, tensor<4xf32>, tensor<i64>, tensor<4xf32>
}
func.func @predict(%x: tensor<4xf32> {graph.name = "x"}, %w: tensor<4xf32> {graph.variable = "w"})
    -> (tensor<4xf32> {graph.name = "y"}) {
  %y = graph.mul %x, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}
)";

/// The same by hand.
struct Expected {
  std::array<float, 4> x{1, 2, -0.5F, 0.25F}, t{0.5F, 1, -1, 2};
  std::array<double, 4> w{1, -2, 3, -4}, velocity{};

  double step() {
    double loss = 0;
    for (size_t i = 0; i < 4; ++i) {
      double d = x[i] * w[i] - t[i];
      loss += d * d / 4;
      velocity[i] = 0.9 * velocity[i] + 0.5 * d * x[i];
      w[i] -= 0.1 * velocity[i];
    }
    return loss;
  }
};

class VariablesTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-variables-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    std::ofstream(directory / "model.mlir") << kModel;
    tinh::CompileRequest request;
    request.model = directory / "model.mlir";
    request.output = directory / "model.so";
    tinh::CompileResult result = tinh::compileModel(request);
    for (const std::string &message : result.messages)
      ADD_FAILURE() << message;
    ASSERT_TRUE(result.succeeded());
    report = result.report;
    ASSERT_EQ(tinh_module_load(request.output.c_str(), &module), TINH_OK)
        << tinh_last_error();
  }
  void TearDown() override {
    tinh_module_release(module);
    fs::remove_all(directory);
  }

  tinh_context_t *newContext() {
    tinh_context_t *context = nullptr;
    EXPECT_EQ(tinh_context_create(module, nullptr, &context), TINH_OK);
    return context;
  }

  float step(tinh_context_t *context, Expected &expected) {
    uint32_t function = 0;
    EXPECT_EQ(tinh_module_find_function(module, "train_step", &function),
              TINH_OK);
    float loss = NAN;
    tinh_buffer_t in[] = {{expected.x.data(), 16}, {expected.t.data(), 16}};
    tinh_buffer_t out = {&loss, 4};
    EXPECT_EQ(tinh_context_run(context, function, in, 2, &out, 1), TINH_OK)
        << tinh_last_error();
    return loss;
  }

  template <typename T, size_t n>
  std::array<T, n> read(tinh_context_t *context, const char *name) {
    uint32_t variable = 0;
    EXPECT_EQ(tinh_module_find_variable(module, name, &variable), TINH_OK);
    std::array<T, n> values{};
    EXPECT_EQ(tinh_context_read_variable(context, variable, values.data(),
                                         sizeof(values)),
              TINH_OK);
    return values;
  }

  fs::path directory;
  tinh::CompileReport report;
  tinh_module_t *module = nullptr;
};

TEST_F(VariablesTest, ReportSaysWhatEachFunctionNeeds) {
  ASSERT_EQ(report.functions.size(), 2U);
  EXPECT_EQ(report.functions[0].name, "train_step");
  EXPECT_EQ(report.functions[1].name, "predict");
  EXPECT_EQ(report.functions[1].dispatches, 1U);
  EXPECT_EQ(report.functions[1].arenaSize, 0U);
  EXPECT_EQ(report.stateSize, 3 * 64U);
}

TEST_F(VariablesTest, StepsChangeTheStateAsByHand) {
  tinh_context_t *context = newContext();
  Expected expected;
  for (int i = 0; i < 20; ++i) {
    EXPECT_NEAR(step(context, expected), expected.step(), 1e-5);
    std::array<float, 4> w = read<float, 4>(context, "w");
    std::array<float, 4> velocity = read<float, 4>(context, "velocity");
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(w[j], expected.w[j], 1e-5) << i;
      EXPECT_NEAR(velocity[j], expected.velocity[j], 1e-5) << i;
    }
  }
  EXPECT_EQ((read<int64_t, 1>(context, "step")[0]), 27);
  tinh_context_release(context);
}

TEST_F(VariablesTest, FunctionsShareTheStateAndContextsDoNot) {
  tinh_context_t *trained = newContext(), *other = newContext();
  Expected expected, unchanged;
  step(trained, expected);
  expected.step();
  uint32_t predict = 0;
  ASSERT_EQ(tinh_module_find_function(module, "predict", &predict), TINH_OK);
  for (auto [context, values] :
       {std::pair(trained, &expected), std::pair(other, &unchanged)}) {
    std::array<float, 4> y{};
    tinh_buffer_t in = {values->x.data(), 16}, out = {y.data(), 16};
    ASSERT_EQ(tinh_context_run(context, predict, &in, 1, &out, 1), TINH_OK);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(y[i], values->x[i] * values->w[i], 1e-5);
  }
  ASSERT_EQ(tinh_context_reset_state(trained), TINH_OK);
  EXPECT_EQ((read<float, 4>(trained, "w")), (read<float, 4>(other, "w")));
  tinh_context_release(trained);
  tinh_context_release(other);
}

} // namespace
