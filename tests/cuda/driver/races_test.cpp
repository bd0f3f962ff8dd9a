//===- races_test.cpp - Which accesses race ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "races.h"

#include <cstring>
#include <gtest/gtest.h>

using tinh::fake::RaceDetector;

namespace {

class RacesTest : public testing::Test {
protected:
  void SetUp() override { races.begin(64); }
  bool read(uint32_t thread, uint64_t offset = 8) {
    return races.read(offset, 4, thread).empty();
  }
  bool write(uint32_t thread, float value, uint64_t offset = 8) {
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    return races.write(offset, 4, thread, bytes).empty();
  }
  RaceDetector races;
};

TEST_F(RacesTest, ReadsWaitForWrites) {
  EXPECT_TRUE(write(1, 5));
  EXPECT_TRUE(read(1)) << "its own";
  EXPECT_TRUE(read(2, 12)) << "another place";
  EXPECT_FALSE(read(2));
  EXPECT_FALSE(read(40));
  races.synchronise();
  EXPECT_TRUE(read(2));
  EXPECT_EQ(races.write(8, 4, 3, "abc"),
            "thread 3 writes the shared memory at 8 that thread 2 has read, "
            "with no barrier between");
}

TEST_F(RacesTest, WritesWaitForReads) {
  EXPECT_TRUE(read(1));
  EXPECT_TRUE(write(1, 5)) << "its own";
  races.synchronise();
  EXPECT_TRUE(read(1));
  EXPECT_TRUE(read(2)) << "of several";
  EXPECT_FALSE(write(1, 5));
  races.synchronise();
  EXPECT_TRUE(write(1, 5));
}

TEST_F(RacesTest, WritesOfTheSameAreNone) {
  EXPECT_TRUE(write(1, 5));
  EXPECT_TRUE(write(2, 5));
  EXPECT_FALSE(read(1)) << "who has written last is not known";
  EXPECT_FALSE(write(3, 6));
  races.synchronise();
  EXPECT_TRUE(write(3, 6));
}

TEST_F(RacesTest, BlocksAreNotOrdered) {
  EXPECT_TRUE(write(1, 5));
  races.begin(64);
  EXPECT_TRUE(read(2)) << "memory of another block";
}

} // namespace
