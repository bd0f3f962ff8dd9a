//===- ResourceLimitsTest.cpp - What a compilation may take ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of programs that compile; tests/tools/limits_test.py has the tool's.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/ResourceLimits.h"

#include "tinh/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tinh {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(Interruption, SaysWhatTheWorkWasAt) {
  Interruption interruption;
  EXPECT_FALSE(isRequested(&interruption));
  Interruption::Work phase(&interruption, "phase 'fused'");
  {
    Interruption::Work done(&interruption, "pass 'cse'");
  }
  Interruption::Work pass(&interruption, "pass 'form-kernels'");
  interruption.request("it is late");
  interruption.request("another reason");
  EXPECT_TRUE(isRequested(&interruption));
  EXPECT_EQ(interruption.message(), "it is late; it was at phase 'fused', pass "
                                    "'form-kernels'");
}

TEST(Interruption, NamesSomeOfMany) {
  Interruption interruption;
  std::list<Interruption::Work> kernels;
  for (int i = 0; i < 8; ++i)
    kernels.emplace_back(&interruption, "k" + std::to_string(i));
  interruption.request("late");
  EXPECT_EQ(interruption.message(),
            "late; it was at k0, k1, k2, k3, k4, k5 and 2 more");
}

TEST(Interruption, MayBeNone) {
  Interruption::Work work(nullptr, "nothing");
  EXPECT_FALSE(isRequested(nullptr));
}

TEST(Memory, IsMeasured) {
  uint64_t before = ownMemory();
  std::vector<char> block(64 << 20, 1);
  asm volatile("" : : "r"(block.data()) : "memory"); // It is not left out.
  EXPECT_GE(ownMemory(), before + block.size() / 2);
  EXPECT_GT(availableMemory(), ownMemory());
}

class CompileWithLimits : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-limits-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    std::ofstream(directory / "model.mlir") << R"(
      func.func @main(%x: tensor<8x8xf32> {graph.name = "x"})
          -> (tensor<8x8xf32> {graph.name = "y"}) {
        %0 = graph.softmax %x axis 1 : tensor<8x8xf32>
        return %0 : tensor<8x8xf32>
      })";
    request.model = directory / "model.mlir";
    request.output = directory / "model.so";
  }
  void TearDown() override { fs::remove_all(directory); }

  /// Fails without an output, for this reason alone.
  void expectRefused(const std::string &reason) {
    CompileResult result = compileModel(request);
    EXPECT_EQ(result.status, CompileStatus::WrongInput);
    ASSERT_EQ(result.messages.size(), 1u);
    EXPECT_THAT(result.messages[0], HasSubstr(reason));
    EXPECT_FALSE(fs::exists(request.output));
  }

  CompileRequest request;
  fs::path directory;
};

TEST_F(CompileWithLimits, Suffices) {
  request.timeLimit = 1000;
  request.memoryLimit = "64GiB";
  EXPECT_TRUE(compileModel(request).succeeded());
}

TEST_F(CompileWithLimits, Time) {
  // It is waited for, so that there is time to look at the clock.
  request.timeLimit = 1e-9;
  request.progress = [](const char *, size_t, size_t) {};
  expectRefused("compiling has not ended within the time limit of ");
}

TEST_F(CompileWithLimits, Memory) {
  request.memoryLimit = "1MB";
  expectRefused("of memory, and the limit is 1.0 MB; allow more");
}

TEST_F(CompileWithLimits, WrongLimits) {
  request.timeLimit = -1;
  expectRefused("'timeLimit' takes seconds, not -1");
  request.timeLimit = 0;
  request.memoryLimit = "8 gigs";
  expectRefused("the limit on memory is '8 gigs'; expected bytes, such as");
}

} // namespace
} // namespace tinh
