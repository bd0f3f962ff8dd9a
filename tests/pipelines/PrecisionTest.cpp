//===- PrecisionTest.cpp - A precision of compileModel ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tinh {
namespace {

namespace fs = std::filesystem;

/// f32 numbers of a tensor<64x64xf32>, as MLIR writes them: of some 1s one is
/// 0, so that all are stored.
std::string weights() {
  std::string text = "dense<\"0x00000000";
  for (int i = 1; i < 64 * 64; ++i)
    text += "0000803F"; // Little-endian.
  return text + "\">";
}

/// Two products with the same weights, of 16 KiB.
const std::string kMain = R"(
  func.func @main(%x: tensor<64x64xf32> {graph.name = "x"})
      -> (tensor<64x64xf32> {graph.name = "y"}) {
    %w = graph.constant )" +
                          weights() +
                          R"( : tensor<64x64xf32> loc("w")
    %0 = graph.matmul %x, %w : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> loc("first")
    %1 = graph.matmul %0, %w : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> loc("second")
    return %1 : tensor<64x64xf32>
  })";

class CompileInPrecision : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-precision-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    std::ofstream(directory / "model.mlir") << kMain;
  }
  void TearDown() override { fs::remove_all(directory); }

  CompileResult compile(const std::string &precision,
                        std::vector<std::string> keepF32 = {},
                        std::optional<TrainingRequest> training = {}) {
    CompileRequest request;
    request.training = std::move(training);
    request.model = directory / "model.mlir";
    request.output = directory / "model.so";
    request.precision = precision;
    request.keepF32 = std::move(keepF32);
    return compileModel(request);
  }

  fs::path directory;
};

TEST_F(CompileInPrecision, HalvesWeights) {
  for (const char *full : {"", "f32"}) {
    CompileResult result = compile(full);
    ASSERT_TRUE(result.succeeded()) << result.messages.front();
    EXPECT_EQ(result.report.weightsSize, 16384u);
  }
  CompileResult low = compile("bf16");
  ASSERT_TRUE(low.succeeded()) << low.messages.front();
  EXPECT_EQ(low.report.weightsSize, 8192u);
  CompileResult kept = compile("bf16", {"sec*"});
  ASSERT_TRUE(kept.succeeded()) << kept.messages.front();
  EXPECT_EQ(kept.report.weightsSize, 24576u);
}

TEST_F(CompileInPrecision, ScalesTheLossInHalf) {
  auto train = [&](const char *precision, const char *scale) {
    TrainingRequest training{.loss = "mse", .optimizer = "sgd"};
    training.lossScale = scale;
    return compile(precision, {}, training);
  };
  // Weights, the learning rate, the number of steps, the scale, its tracker.
  auto stateSize = [&](const char *precision, const char *scale) {
    CompileResult result = train(precision, scale);
    EXPECT_TRUE(result.succeeded()) << result.messages.front();
    return result.report.stateSize;
  };
  uint64_t narrow = stateSize("bf16", ""), fixed = stateSize("f16", "8");
  EXPECT_GT(fixed, narrow);
  EXPECT_GT(stateSize("f16", ""), fixed);
  EXPECT_EQ(stateSize("f16", ""), stateSize("f16", "dynamic,init_scale=8"));
  for (auto [precision, scale, part] :
       {std::tuple("f16", "9", "the scale is 9; it must be a power of two"),
        std::tuple("bf16", "8", "is for gradients in f16")}) {
    CompileResult result = train(precision, scale);
    EXPECT_EQ(result.status, CompileStatus::WrongInput);
    ASSERT_EQ(result.messages.size(), 1u);
    EXPECT_NE(result.messages[0].find(part), std::string::npos)
        << result.messages[0];
  }
}

TEST_F(CompileInPrecision, SaysWhatIsWrong) {
  CompileResult unknown = compile("f8");
  EXPECT_EQ(unknown.status, CompileStatus::WrongInput);
  EXPECT_NE(unknown.messages.at(0).find("there is no precision \"f8\""),
            std::string::npos);
  CompileResult unused = compile("bf16", {"third"});
  EXPECT_EQ(unused.status, CompileStatus::WrongInput);
  EXPECT_NE(unused.messages.at(0).find("fits \"third\""), std::string::npos);
}

} // namespace
} // namespace tinh
