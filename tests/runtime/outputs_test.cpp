//===- outputs_test.cpp - Outputs of data-dependent shapes ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/outputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

/// An output of 3 x 4 x 2 numbers from 0 on, beside two sizes.
class Outputs : public testing::Test {
protected:
  Outputs() { std::iota(numbers, numbers + 24, 0); }

  tinh_status_t trim() {
    return tinh_output_trim(&info, &buffers[0], buffers, 3, used);
  }

  /// What is used, after it has been moved together.
  std::vector<int32_t> used_numbers() {
    EXPECT_EQ(trim(), TINH_OK) << tinh_last_error();
    return {numbers, numbers + used[0] * used[1] * used[2]};
  }

  int32_t numbers[24];
  int64_t rows = 3, columns = 4, used[3] = {};
  int64_t dims[3] = {3, 4, 2};
  int32_t sizes[3] = {1, 2, -1};
  tinh_tensor_info_t info = {"y",  TINH_DTYPE_I32, 3,
                             dims, sizeof numbers, sizes};
  tinh_buffer_t buffers[3] = {{numbers, sizeof numbers},
                              {&rows, sizeof rows},
                              {&columns, sizeof columns}};
};

TEST_F(Outputs, UsedElementsMoveTogether) {
  rows = 2, columns = 3;
  EXPECT_EQ(used_numbers(),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13}));
  EXPECT_EQ(used[0], 2);
  EXPECT_EQ(used[1], 3);
  EXPECT_EQ(used[2], 2);
}

TEST_F(Outputs, AllMayBeUsed) {
  EXPECT_EQ(used_numbers().size(), 24U);
  info.size_outputs = nullptr;
  rows = 7; // Which nobody reads.
  EXPECT_EQ(used_numbers().back(), 23);
}

TEST_F(Outputs, NothingMayBeUsed) {
  columns = 0;
  EXPECT_TRUE(used_numbers().empty());
  EXPECT_EQ(used[0], 3);
}

TEST_F(Outputs, TheLastDimensionMayBeCut) {
  int64_t one = 1;
  sizes[0] = -1, sizes[2] = 1;
  buffers[1] = {&one, sizeof one};
  columns = 2;
  EXPECT_EQ(used_numbers(), (std::vector<int32_t>{0, 2, 8, 10, 16, 18}));
}

TEST_F(Outputs, SizesBeyondTheBoundAreRefused) {
  rows = 4;
  EXPECT_EQ(trim(), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "output 'y': dimension 0 has its size from "
                                  "output 1, which is 4, not from 0 to 3");
  rows = -1;
  EXPECT_EQ(trim(), TINH_INVALID_ARGUMENT);
}

TEST_F(Outputs, SizesThatAreNotThereAreRefused) {
  sizes[1] = 3;
  EXPECT_EQ(trim(), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "output 'y': dimension 1 has its size from "
                                  "output 3, but there are 3");
  sizes[1] = 0;
  EXPECT_EQ(trim(), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "output 'y': dimension 1 has its size from output 0, which is "
               "not the buffer of one int64_t");
}

} // namespace
