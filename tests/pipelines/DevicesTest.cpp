//===- DevicesTest.cpp - Models for the GPU, in one call ------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What compileModel makes of a request for GPUs; tests/cuda runs such
// artifacts.
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace {

// y = max(x · w, 0); w becomes w - x.
constexpr const char *kModel = R"(
graph.variable "w" = dense<0.5> : tensor<32x32xf32> trainable
func.func @step(%x: tensor<32x32xf32> {graph.name = "x"}, %w: tensor<32x32xf32> {graph.variable = "w"})
    -> (tensor<32x32xf32> {graph.name = "y"}, tensor<32x32xf32> {graph.variable = "w"}) {
  %0 = graph.matmul %x, %w : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %y = graph.relu %0 : tensor<32x32xf32>
  %n = graph.sub %w, %x : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  return %y, %n : tensor<32x32xf32>, tensor<32x32xf32>
}
)";
constexpr uint64_t kBytes = 32 * 32 * sizeof(float);

class DevicesTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-devices-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    std::ofstream(directory / "model.mlir") << kModel;
    request.model = directory / "model.mlir";
    request.output = directory / "model.so";
    request.target = tinh::Target::Cuda;
    request.cuda.chips = {"emulated"};
  }
  void TearDown() override { fs::remove_all(directory); }

  tinh::CompileReport compile() {
    tinh::CompileResult result = tinh::compileModel(request);
    for (const std::string &message : result.messages)
      ADD_FAILURE() << message;
    return result.report;
  }

  void refuse(const std::string &message) {
    tinh::CompileResult result = tinh::compileModel(request);
    EXPECT_EQ(result.status, tinh::CompileStatus::WrongInput);
    ASSERT_FALSE(result.messages.empty());
    EXPECT_NE(result.messages[0].find(message), std::string::npos)
        << result.messages[0];
  }

  fs::path directory;
  tinh::CompileRequest request;
};

TEST_F(DevicesTest, VariablesAndArenaAreOnTheGpu) {
  tinh::CompileReport report = compile();
  EXPECT_EQ(report.stateSize, 0U);
  EXPECT_EQ(report.deviceStateSize, kBytes);
  ASSERT_EQ(report.functions.size(), 1U);
  EXPECT_EQ(report.functions[0].arenaSize, 0U);
  // The input and the output, each copied.
  EXPECT_GE(report.functions[0].deviceArenaSize, 2 * kBytes);
}

TEST_F(DevicesTest, KernelsArePlacedByTheirOps) {
  request.cuda.place = {"*=cpu"};
  tinh::CompileReport report = compile();
  EXPECT_EQ(report.deviceStateSize, 0U);
  EXPECT_EQ(report.functions.at(0).deviceArenaSize, 0U);
  request.cuda.place = {"*=cpu", "matmul=cuda"};
  report = compile();
  EXPECT_EQ(report.deviceStateSize, kBytes); // The product reads it.
  EXPECT_GT(report.functions.at(0).deviceArenaSize, 0U);
}

TEST_F(DevicesTest, BothHaveFunctionsAndVariablesOfTheirOwn) {
  request.target = tinh::Target::CudaOrCpu;
  tinh::CompileReport report = compile();
  EXPECT_EQ(report.stateSize, 0U);
  EXPECT_EQ(report.deviceStateSize, kBytes);
  EXPECT_GE(report.stateSizeWithoutGpu, kBytes);
  ASSERT_EQ(report.functions.size(), 2U);
  for (const tinh::FunctionReport &function : report.functions) {
    EXPECT_EQ(function.name, "step");
    EXPECT_EQ(function.deviceArenaSize == 0, function.withoutGpu);
  }
  EXPECT_FALSE(report.functions[0].withoutGpu);
  EXPECT_TRUE(report.functions[1].withoutGpu);
}

TEST_F(DevicesTest, WhatIsWrongIsSaid) {
  request.cuda.place = {"conv=cpu"};
  refuse("no op and no node of the model fits the place \"conv=cpu\"");
  request.cuda.place = {"matmul"};
  refuse("the place \"matmul\" is malformed");
  request.cuda.place.clear();
  request.cuda.chips = {"sm_20"};
  refuse("unknown chip 'sm_20'");
  request.cuda.chips = {"emulated", "sm_80"};
  refuse("can only be the one chip");
}

} // namespace
