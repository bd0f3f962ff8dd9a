//===- StreamTest.cpp - Streams and memory of the program's own -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceTesting.h"

#include "tinh/runtime.hpp"

#include <array>
#include <numeric>

using namespace tinh;

namespace {

TEST(StreamTest, CopiesInItsOrder) {
  CudaStream stream;
  std::array<char, 256> from, to = {};
  std::iota(from.begin(), from.end(), 0);
  void *a = stream.allocate(from.size()), *b = stream.allocate(from.size());
  CudaEvent begin(stream);
  stream.copy(a, from.data(), from.size());
  stream.copy(b, a, from.size());
  stream.write(static_cast<char *>(b) + 3, "new bytes", 9);
  stream.copy(to.data(), b, to.size());
  CudaEvent end(stream);
  stream.synchronize();
  std::copy_n("new bytes", 9, from.begin() + 3);
  EXPECT_EQ(to, from);
  EXPECT_GE(begin.elapsed_time(end), 0);
  stream.free(a);
  stream.free(b);
}

TEST(StreamTest, RefusesWhatIsWrong) {
  CudaStream stream;
  std::array<char, 65> bytes = {};
  void *memory = stream.allocate(bytes.size());
  expectError([&] { stream.write(memory, bytes.data(), bytes.size()); },
              "65 bytes are more than the 64");
  expectError([&] { stream.copy(nullptr, bytes.data(), 1); }, "to");
  expectError([&] { stream.allocate(uint64_t(1) << 50); },
              "cannot allocate 1125899906842624 bytes");
  expectError([] { CudaStream other(9); }, "there is no GPU 9");
  EXPECT_EQ(stream.allocate(0), nullptr);
  stream.free(memory);
}

} // namespace
