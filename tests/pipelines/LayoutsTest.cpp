//===- LayoutsTest.cpp - Variables that are stored packed -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"
#include "tinh/runtime.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

namespace fs = std::filesystem;

namespace {

constexpr size_t kRows = 64, kDepth = 5, kColumns = 21; // No whole panel.

// y = x · w; w becomes w - xᵀ · y.
constexpr const char *kModel = R"(
graph.variable "w" = dense<0.5> : tensor<5x21xf32> trainable
func.func @step(%x: tensor<64x5xf32> {graph.name = "x"}, %w: tensor<5x21xf32> {graph.variable = "w"})
    -> (tensor<64x21xf32> {graph.name = "y"}, tensor<5x21xf32> {graph.variable = "w"}) {
  %y = graph.matmul %x, %w : tensor<64x5xf32>, tensor<5x21xf32> -> tensor<64x21xf32>
  %g = graph.matmul %x, %y transpose_a : tensor<64x5xf32>, tensor<64x21xf32> -> tensor<5x21xf32>
  %n = graph.sub %w, %g : tensor<5x21xf32>, tensor<5x21xf32> -> tensor<5x21xf32>
  return %y, %n : tensor<64x21xf32>, tensor<5x21xf32>
}
)";

class LayoutsTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-layouts-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    std::ofstream(directory / "model.mlir") << kModel;
    std::iota(x.begin(), x.end(), -40.0F);
    for (float &value : x)
      value /= 1000;
  }
  void TearDown() override { fs::remove_all(directory); }

  tinh::Module compile(bool plain) {
    tinh::CompileRequest request;
    request.model = directory / "model.mlir";
    request.output = directory / (plain ? "plain.so" : "packed.so");
    request.plainVariables = plain;
    tinh::CompileResult result = tinh::compileModel(request);
    for (const std::string &message : result.messages)
      ADD_FAILURE() << message;
    stateSize = result.report.stateSize;
    return tinh::Module(request.output);
  }

  std::vector<float> read(const tinh::Context &context) {
    std::vector<float> values(kDepth * kColumns);
    context.read_variable(0, tinh::buffer(values));
    return values;
  }

  fs::path directory;
  uint64_t stateSize = 0;
  std::vector<float> x = std::vector<float>(kRows * kDepth);
  std::vector<float> y = std::vector<float>(kRows * kColumns);
};

TEST_F(LayoutsTest, AreNoConcernOfPrograms) {
  tinh::Module plain = compile(true), packed = compile(false);
  EXPECT_GT(stateSize, 448U); // The panels are wider than the type.
  EXPECT_EQ(packed.variable_info(0).type.size, kDepth * kColumns * 4);
  tinh::Context expected(plain), found(packed);
  EXPECT_EQ(read(found), std::vector<float>(kDepth * kColumns, 0.5F));
  for (int step = 0; step < 3; ++step) {
    std::vector<float> other(y.size());
    expected.run({tinh::buffer(x)}, {tinh::buffer(other)});
    found.run({tinh::buffer(x)}, {tinh::buffer(y)});
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], other[i], 1e-5) << i;
  }
  std::vector<float> w(kDepth * kColumns);
  std::iota(w.begin(), w.end(), 1.0F);
  found.write_variable(0, tinh::buffer(w));
  EXPECT_EQ(read(found), w);
  found.reset_state();
  EXPECT_EQ(read(found), std::vector<float>(kDepth * kColumns, 0.5F));
}

TEST_F(LayoutsTest, FilesFitArtifactsOfAnyLayout) {
  tinh::Context from(compile(false)), to(compile(true)), back(compile(false));
  from.run({tinh::buffer(x)}, {tinh::buffer(y)});
  std::string path = directory / "state.safetensors";
  from.save_state(path);
  to.load_state(path);
  EXPECT_EQ(read(to), read(from));
  to.save_state(path);
  back.load_state(path);
  EXPECT_EQ(read(back), read(from));
}

TEST_F(LayoutsTest, MemoryOfTheProgramHasNone) {
  std::vector<float> w(kDepth * kColumns, 0.5F);
  tinh::Context packed(compile(false)), plain(compile(true));
  try {
    packed.run_on({tinh::buffer(w)}, {tinh::buffer(x)}, {tinh::buffer(y)});
    FAIL();
  } catch (const tinh::Error &error) {
    EXPECT_EQ(error.status(), TINH_INVALID_ARGUMENT);
    EXPECT_NE(
        std::string(error.what()).find("variable 'w' has a layout of its own"),
        std::string::npos)
        << error.what();
  }
  plain.run_on({tinh::buffer(w)}, {tinh::buffer(x)}, {tinh::buffer(y)});
  EXPECT_NE(w[0], 0.5F);
}

} // namespace
