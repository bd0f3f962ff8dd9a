//===- SaveTest.cpp - Tests of functions saved to files ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Expect.h"
#include "tinh/autograd.h"
#include "tinh/compiler.h"
#include "tinh/function.h"
#include "tinh/runtime.hpp"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tinh;
using namespace tinh::test;

namespace {

class Saved : public testing::Test {
protected:
  Saved() {
    folder = std::filesystem::temp_directory_path() /
             ("tinh-saved-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
  }
  ~Saved() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) { return (folder / name).string(); }

  /// Runs an artifact on x.
  std::vector<float> run(const std::string &artifact, const Tensor &x) {
    Module module(artifact);
    Context context(module);
    EXPECT_EQ(module.inputs().size(), 1u);
    EXPECT_EQ(module.outputs().size(), 1u);
    std::vector<float> in = x.to_vector<float>();
    std::vector<float> out(module.outputs()[0].size / sizeof(float));
    context.run({buffer(in)}, {buffer(out)});
    return out;
  }

  std::filesystem::path folder;
};

} // namespace

TEST_F(Saved, RunsWithoutTheCodeThatBuiltIt) {
  Generator generator(1);
  // One that is small enough to stand in the graph, one that is not.
  Tensor w = uniform({20, 50}, generator), b = uniform(50, generator);
  Tensor x = uniform({2, 20}, generator);
  auto layer =
      function("layer", [&](Tensor x) { return relu(matmul(x, w) + b); });
  std::vector<float> expected = layer(x).to_vector<float>();
  auto check = [&](const std::string &artifact) {
    std::vector<float> found = run(artifact, x);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-5);
  };
  layer.save(path("layer.so"), x);
  check(path("layer.so"));
  for (std::string model :
       {"layer.mlir", "layer.mlirbc", "layer.json", "layer.onnx"}) {
    layer.save(path(model), x);
    CompileRequest request;
    request.model = path(model);
    request.output = path("again.so");
    CompileResult result = compileModel(request);
    ASSERT_TRUE(result.succeeded())
        << model << ": " << (result.messages.empty() ? "" : result.messages[0]);
    check(path("again.so"));
  }
}

TEST_F(Saved, WhatChangesIsAnInputAndAnOutput) {
  Tensor w = ones(3);
  auto step = function([&](Tensor x) {
    w += x;
    return w.sum();
  });
  step.save(path("step.so"), ones(3));
  Module module(path("step.so"));
  ASSERT_EQ(module.inputs().size(), 2u);
  EXPECT_STREQ(module.inputs()[1].name, "captured0");
  ASSERT_EQ(module.outputs().size(), 2u);
  EXPECT_STREQ(module.outputs()[1].name, "changed0");
}

TEST_F(Saved, StepsOfTrainingRunElsewhere) {
  Tensor w = requires_grad_(tensor({1.0f, 2.0f, 3.0f}));
  auto step = function([&](Tensor x) {
    zero_grad(w);
    backward(sum(square(w * x)));
    NoGrad guard;
    w -= 0.5 * grad_of(w);
  });
  step.save(path("step.so"), ones(3));
  Module module(path("step.so"));
  ASSERT_EQ(module.inputs().size(), 3u);
  EXPECT_STREQ(module.inputs()[1].name, "captured0");
  EXPECT_STREQ(module.inputs()[2].name, "gradient0");
  std::vector<float> x = {1, 2, 0}, parameter = {1, 2, 3}, gradient(3);
  std::vector<float> next(3), nextGradient(3);
  Context context(module);
  context.run({buffer(x), buffer(parameter), buffer(gradient)},
              {buffer(next), buffer(nextGradient)});
  EXPECT_EQ(nextGradient, (std::vector<float>{2, 16, 0}));
  EXPECT_EQ(next, (std::vector<float>{0, -6, 3}));
}

TEST_F(Saved, ShowsItsGraph) {
  auto layer = function([](Tensor x) { return relu(x); });
  EXPECT_NE(layer.graph(ones(3)).find("graph.relu"), std::string::npos);
}

TEST_F(Saved, RefusesOtherNames) {
  auto layer = function([](Tensor x) { return relu(x); });
  expectError([&] { layer.save(path("layer.txt"), ones(3)); },
              "must end in .mlir, .mlirbc, .json, .onnx or .so");
  expectError([&] { layer.save("/nonexistent/layer.so", ones(3)); },
              "/nonexistent");
}
