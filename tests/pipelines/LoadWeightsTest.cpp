//===- LoadWeightsTest.cpp - Requests with weights and teachers -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"
#include "tinh/runtime.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace {

// y = w as bytes keep it, times x.
constexpr const char *kModel = R"(
func.func @main(%x: tensor<4xf32> {graph.name = "x"})
    -> (tensor<4xf32> {graph.name = "y"}) {
  %w = graph.constant dense<[1.0, -2.0, 3.0, -4.0]> : tensor<4xf32> loc("w")
  %s = graph.constant dense<0.5> : tensor<4xf32> loc("s")
  %0 = graph.quantize %w scale %s : tensor<4xf32>, tensor<4xf32> -> tensor<4xi8>
  %1 = graph.dequantize %0 scale %s : tensor<4xi8>, tensor<4xf32> -> tensor<4xf32>
  %y = graph.mul %x, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}
)";

class LoadWeightsTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-weights-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    request.model = write("model.mlir", kModel);
    request.output = directory / "model.so";
  }
  void TearDown() override { fs::remove_all(directory); }

  std::string write(const char *name, const std::string &text) {
    std::ofstream(directory / name, std::ios::binary) << text;
    return directory / name;
  }
  /// A .safetensors file with one vector of f32.
  std::string writeTensor(const std::string &name,
                          std::array<float, 4> values) {
    std::string header = "{\"" + name +
                         "\":{\"dtype\":\"F32\",\"shape\":[4],"
                         "\"data_offsets\":[0,16]}}";
    uint64_t length = header.size();
    return write("weights.safetensors",
                 std::string(reinterpret_cast<char *>(&length), 8) + header +
                     std::string(reinterpret_cast<char *>(values.data()), 16));
  }
  void refuses(const std::string &part) {
    tinh::CompileResult result = tinh::compileModel(request);
    EXPECT_EQ(result.status, tinh::CompileStatus::WrongInput);
    ASSERT_EQ(result.messages.size(), 1u);
    EXPECT_NE(result.messages[0].find(part), std::string::npos)
        << result.messages[0];
  }

  fs::path directory;
  tinh::CompileRequest request;
};

} // namespace

TEST_F(LoadWeightsTest, TheArtifactHasTheFiles) {
  request.loadWeights = writeTensor("w", {7, 0.6F, -0.3F, 100});
  tinh::CompileResult result = tinh::compileModel(request);
  for (const std::string &message : result.messages)
    ADD_FAILURE() << message;
  tinh_module_t *module = nullptr;
  ASSERT_EQ(tinh_module_load(request.output.c_str(), &module), TINH_OK);
  tinh_context_t *context = nullptr;
  ASSERT_EQ(tinh_context_create(module, nullptr, &context), TINH_OK);
  std::array<float, 4> x{1, 1, 1, 2}, y{};
  tinh_buffer_t in{x.data(), 16}, out{y.data(), 16};
  EXPECT_EQ(tinh_context_run(context, 0, &in, 1, &out, 1), TINH_OK);
  EXPECT_EQ(y, (std::array<float, 4>{7, 0.5, -0.5, 127}));
  tinh_context_release(context);
  tinh_module_release(module);
}

TEST_F(LoadWeightsTest, AnotherModelsAreRefused) {
  request.loadWeights = writeTensor("v", {});
  refuses("the tensor \"v\" is no weight of the model");
  request.loadWeights = directory / "absent.safetensors";
  refuses("cannot read the file");
}

TEST_F(LoadWeightsTest, ScalesArePositiveNumbers) {
  for (float wrong : {0.0F, -0.5F, 1e-40F, INFINITY, NAN}) {
    request.loadWeights = writeTensor("s", {1, 2, wrong, 4});
    refuses("the tensor \"s\" is a scale of integers");
  }
  request.loadWeights = writeTensor("s", {1, 2, 1e-37F, 4});
  EXPECT_TRUE(tinh::compileModel(request).succeeded());
}

TEST_F(LoadWeightsTest, ScalesAreTrainedIfAskedFor) {
  request.training = {"mse", "sgd", {"s"}};
  refuses("no weight of the model fits \"s\"");
  request.training->learnScales = true;
  EXPECT_TRUE(tinh::compileModel(request).succeeded());
}

TEST_F(LoadWeightsTest, TeachersAreRead) {
  request.training = {"mse", "sgd", {}, request.model};
  tinh::CompileResult result = tinh::compileModel(request);
  EXPECT_TRUE(result.succeeded());
  request.training->distill = directory / "absent.onnx";
  refuses("absent.onnx: error: cannot read the file");
}
