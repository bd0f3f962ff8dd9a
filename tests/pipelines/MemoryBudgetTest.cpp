//===- MemoryBudgetTest.cpp - Budgets of programs that compile ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tests/training/memory_budget_test.py trains with budgets.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/MemoryBudget.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tinh {
namespace {

namespace fs = std::filesystem;

uint64_t bytesOf(const char *text) {
  auto budget = parseMemoryBudget(text);
  return budget ? budget->bytes : 0;
}

TEST(MemoryBudget, Bytes) {
  EXPECT_EQ(bytesOf("260000000"), 260'000'000u);
  EXPECT_EQ(bytesOf("64B"), 64u);
  EXPECT_EQ(bytesOf("260MB"), 260'000'000u);
  EXPECT_EQ(bytesOf("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(bytesOf("2KB"), 2'000u);
  EXPECT_EQ(bytesOf("2KiB"), 2'048u);
  EXPECT_EQ(bytesOf("3MiB"), 3u << 20);
  EXPECT_EQ(bytesOf("1GiB"), 1u << 30);
}

TEST(MemoryBudget, Shares) {
  auto budget = parseMemoryBudget("62.5%");
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->bytes, 0u);
  EXPECT_DOUBLE_EQ(budget->share, 0.625);
  EXPECT_EQ(budget->text, "62.5%");
}

TEST(MemoryBudget, NoBudgets) {
  for (const char *text :
       {"", "0", "-1", "+1", "1.", "B", "%", "1 MB", "1mb", "1MBs", "1M", "nan",
        "inf", "0x10", "1e400", "1e30GB", "60%%", "60%MB", "0%"})
    EXPECT_FALSE(parseMemoryBudget(text)) << text;
}

/// One of its values waits for the last op.
const std::string kMain = R"(
  func.func @main(%x: tensor<64x64xf32> {graph.name = "x"})
      -> (tensor<64x64xf32> {graph.name = "y"}) {
    %0 = graph.relu %x : tensor<64x64xf32>
    %1 = graph.matmul %0, %x : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %2 = graph.softmax %1 axis 1 : tensor<64x64xf32>
    %3 = graph.softmax %2 axis 0 : tensor<64x64xf32>
    %4 = graph.matmul %3, %0 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    return %4 : tensor<64x64xf32>
  })";

class CompileWithBudget : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-budget-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    write(kMain);
  }
  void TearDown() override { fs::remove_all(directory); }

  void write(const std::string &text) {
    std::ofstream(directory / "model.mlir") << text;
  }

  CompileResult compile(const std::string &budget) {
    CompileRequest request;
    request.model = directory / "model.mlir";
    request.output = directory / "model.so";
    request.memoryBudget = budget;
    return compileModel(request);
  }

  fs::path directory;
};

TEST_F(CompileWithBudget, ComputesAgain) {
  CompileResult all = compile("");
  ASSERT_TRUE(all.succeeded()) << all.messages.front();
  EXPECT_TRUE(all.report.recomputations.empty());
  EXPECT_EQ(all.report.functions[0].arenaSize, 49152u);

  CompileResult less = compile("40KB");
  ASSERT_TRUE(less.succeeded()) << less.messages.front();
  ASSERT_EQ(less.report.recomputations.size(), 1u);
  const RecomputationReport &done = less.report.recomputations[0];
  EXPECT_EQ(done.function, "main");
  EXPECT_EQ(done.unlimitedArenaSize, 49152u);
  EXPECT_LE(done.arenaSize, 40'000u);
  EXPECT_EQ(done.arenaSize, less.report.functions[0].arenaSize);
  EXPECT_EQ(done.kernels, 1u);
  // A relu of 64 · 64 elements, beside two products and two softmaxes.
  EXPECT_GT(done.extraArithmetic, 0);
  EXPECT_LT(done.extraArithmetic, 0.01);
  ASSERT_EQ(less.messages.size(), 1u);
  EXPECT_NE(less.messages[0].find("remark: @main takes "), std::string::npos);
}

TEST_F(CompileWithBudget, FitsAllFunctions) {
  std::string other = kMain;
  other.replace(other.find("@main"), 5, "@other");
  write(kMain + other);
  CompileResult result = compile("40KB");
  ASSERT_TRUE(result.succeeded()) << result.messages.front();
  ASSERT_EQ(result.report.recomputations.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const RecomputationReport &done = result.report.recomputations[i];
    EXPECT_EQ(done.function, result.report.functions[i].name);
    EXPECT_EQ(done.arenaSize, result.report.functions[i].arenaSize);
    EXPECT_EQ(done.unlimitedArenaSize, 49152u);
    EXPECT_LE(done.arenaSize, 40'000u);
  }
}

/// Elements that are only moved are no arithmetic, once or twice.
TEST_F(CompileWithBudget, RepeatsWhatIsNoArithmetic) {
  write(R"(
    func.func @main(%x: tensor<64x64xi64> {graph.name = "x"})
        -> (tensor<64x64xi64> {graph.name = "y"}) {
      %0 = graph.gather_elements %x, %x axis 0 : tensor<64x64xi64>, tensor<64x64xi64> -> tensor<64x64xi64>
      %1 = graph.gather_elements %0, %x axis 1 : tensor<64x64xi64>, tensor<64x64xi64> -> tensor<64x64xi64>
      %2 = graph.gather_elements %1, %x axis 0 : tensor<64x64xi64>, tensor<64x64xi64> -> tensor<64x64xi64>
      %3 = graph.gather_elements %2, %x axis 1 : tensor<64x64xi64>, tensor<64x64xi64> -> tensor<64x64xi64>
      %4 = graph.gather_elements %3, %0 axis 0 : tensor<64x64xi64>, tensor<64x64xi64> -> tensor<64x64xi64>
      return %4 : tensor<64x64xi64>
    })");
  CompileResult result = compile("70KB");
  ASSERT_TRUE(result.succeeded()) << result.messages.front();
  ASSERT_EQ(result.report.recomputations.size(), 1u);
  EXPECT_EQ(result.report.recomputations[0].kernels, 1u);
  EXPECT_EQ(result.report.recomputations[0].extraArithmetic, 0);
}

TEST_F(CompileWithBudget, SaysWhatIsWrong) {
  CompileResult result = compile("20KB");
  EXPECT_EQ(result.status, CompileStatus::WrongInput);
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_NE(result.messages[0].find("error: @main does not fit"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(directory / "model.so"));

  result = compile("some");
  EXPECT_EQ(result.status, CompileStatus::WrongInput);
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_NE(result.messages[0].find("the memory budget is 'some'"),
            std::string::npos);
}

} // namespace
} // namespace tinh
