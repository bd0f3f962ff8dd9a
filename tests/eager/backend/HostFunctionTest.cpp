//===- HostFunctionTest.cpp - Functions of the user's in the queue --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "tinh/engine.h"
#include "tinh/tensor.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tinh {
namespace {

TEST(HostFunctionTest, RunsInTheOrderOfItsTensors) {
  Tensor x = arange(6).to(float32), y = zeros({2, 3});
  for (int i = 0; i < 3; ++i) {
    x += 1;
    call("add up",
         [](std::span<const HostArray> reads,
            std::span<const HostArray> writes) {
           EXPECT_EQ(reads.size(), 2u);
           EXPECT_EQ(writes[0].sizes[1], 3);
           for (int j = 0; j < 6; ++j)
             writes[0].as<float>()[j] += reads[0].as<float>()[j];
         },
         {x, y}, {y});
    x *= 2;
  }
  // x: 0 1 2 …, added as (x + 1), (2x + 2) + 1, (4x + 6) + 1.
  std::vector<float> expected;
  for (int j = 0; j < 6; ++j)
    expected.push_back(static_cast<float>(7 * j + 11));
  EXPECT_EQ(y.to_vector<float>(), expected);
}

TEST(HostFunctionTest, ItsErrorsNameIt) {
  Tensor x = zeros({3}), y = zeros({3}), z = zeros({3});
  call("read the sensor",
       [](auto, auto) { throw std::runtime_error("no wire"); }, {}, {x});
  Tensor more = x + y;
  z += 1; // In flight at the same time, and unaffected.
  try {
    more.to_vector<float>();
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    std::string message = error.what();
    EXPECT_NE(message.find("HostFunctionTest.cpp:"), std::string::npos);
    EXPECT_NE(message.find("read the sensor: no wire"), std::string::npos);
  }
  EXPECT_EQ(z.to_vector<float>(), std::vector<float>(3, 1));
  EXPECT_THROW(wait_all(), Error);
}

TEST(HostFunctionTest, UseAfterMoveIsAnError) {
  Tensor x = zeros({3});
  Tensor y = std::move(x);
  EXPECT_THROW(call("f", [](auto, auto) {}, {x}, {y}), Error);
}

} // namespace
} // namespace tinh
