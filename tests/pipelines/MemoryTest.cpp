//===- MemoryTest.cpp - Weights in the memory of the program --------------===//
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
#include <filesystem>
#include <fstream>
#include <numeric>

namespace fs = std::filesystem;

namespace {

constexpr size_t kCount = 1000; // Too much to be a constant within the IR.

class MemoryTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-memory-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    request.model = directory / "model.json";
    request.output = directory / "model.so";
    std::iota(weight.begin(), weight.end(), 0.0f);
    request.memory["a"] = {weight.data(), sizeof weight};
    request.memory["b"] = {bias.data(), sizeof bias};
    write(R"("dtype": "f32", "shape": [1000], "memory": "a")");
  }
  void TearDown() override { fs::remove_all(directory); }

  /// y = (x * w + b) with the weight w as given.
  void write(const std::string &keys) {
    std::ofstream(request.model) << R"({"tinh": 1, "name": "m",
      "inputs": [{"name": "x", "dtype": "f32", "shape": [1000]}],
      "weights": [{"name": "w", )" + keys +
                                        R"(},
        {"name": "b", "dtype": "f32", "shape": [1], "memory": "b"}],
      "nodes": [
        {"op": "mul", "inputs": ["x", "w"], "outputs": ["h"]},
        {"op": "add", "inputs": ["h", "b"], "outputs": ["y"]}],
      "outputs": ["y"]})";
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
  std::array<float, kCount> weight;
  std::array<float, 1> bias = {0.5f};
};

} // namespace

TEST_F(MemoryTest, TheArtifactHasItsBytes) {
  tinh::CompileResult result = tinh::compileModel(request);
  for (const std::string &message : result.messages)
    ADD_FAILURE() << message;
  std::array<float, kCount> expected;
  for (size_t i = 0; i < kCount; ++i)
    expected[i] = 2.0f * static_cast<float>(i) + 0.5f;
  // The artifact has a copy: what becomes of the memory is nothing to it.
  weight.fill(0.0f);
  bias.fill(0.0f);
  tinh::Module module(request.output);
  tinh::Context context(module);
  std::array<float, kCount> x, y;
  x.fill(2.0f);
  context.run({tinh::buffer(x)}, {tinh::buffer(y)});
  EXPECT_EQ(y, expected);
}

TEST_F(MemoryTest, WrongNamesAndSizesAreRefused) {
  request.memory.erase("b");
  refuses("weight \"b\": there is no memory \"b\"");
  request.memory["b"] = {bias.data(), sizeof bias};
  write(R"("dtype": "f32", "shape": [999], "memory": "a")");
  refuses("weight \"w\"");
  write(R"("dtype": "f32", "shape": [1000], "memory": "a", "data": 1)");
  refuses("weight \"w\": expected dtype, shape and data or memory");
  write(R"("file": "x.safetensors", "tensor": "w", "memory": "a")");
  refuses("weight \"w\": a weight in a file has the keys file and tensor");
}
