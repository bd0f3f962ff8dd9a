//===- lanes_test.cpp - Columns for the lines of a graph --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lanes.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <random>

using namespace tinh::tools;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(LanesTest, AChainHasOneLane) {
  Lanes lanes = assign_lanes({{}, {0}, {1}, {2}});
  EXPECT_THAT(lanes.lanes, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(lanes.near[3], ElementsAre(2));
}

TEST(LanesTest, WhatIsStillReadKeepsItsLane) {
  // A residual: row 3 reads rows 0 and 2.
  Lanes lanes = assign_lanes({{}, {0}, {1}, {0, 2}, {3}});
  EXPECT_NE(lanes.lanes[1], lanes.lanes[0]);
  EXPECT_EQ(lanes.lanes[1], lanes.lanes[2]);
  EXPECT_EQ(lanes.lanes[3], lanes.lanes[0]);
  EXPECT_EQ(lanes.lanes[4], lanes.lanes[3]);
}

TEST(LanesTest, FarRowsHaveNoLine) {
  Edges reads(100);
  for (uint32_t row = 1; row < 100; ++row)
    reads[row] = {row - 1};
  reads[99].push_back(0);
  Lanes lanes = assign_lanes(reads);
  EXPECT_THAT(lanes.near[99], ElementsAre(98));
  EXPECT_THAT(lanes.far[99], ElementsAre(0));
  EXPECT_EQ(*std::ranges::max_element(lanes.lanes), 0u);
}

TEST(LanesTest, RowsBelowAreFar) {
  Lanes lanes = assign_lanes({{1}, {}});
  EXPECT_THAT(lanes.near[0], IsEmpty());
  EXPECT_THAT(lanes.far[0], ElementsAre(1));
}

/// No line runs through the dot of another row, and no two share a lane.
TEST(LanesTest, LinesOfRandomGraphsDoNotMeet) {
  std::mt19937 random(7);
  for (int graph = 0; graph < 50; ++graph) {
    Edges reads(120);
    for (uint32_t row = 1; row < reads.size(); ++row)
      for (uint32_t count = random() % 4; count > 0; --count)
        reads[row].push_back(row - 1 - random() % std::min(row, 12u));
    Lanes lanes = assign_lanes(reads);
    std::vector<uint32_t> ends(reads.size());
    for (uint32_t row = 0; row < reads.size(); ++row) {
      EXPECT_EQ(lanes.near[row].size() + lanes.far[row].size(),
                reads[row].size());
      for (uint32_t read : lanes.near[row])
        ends[read] = row;
    }
    for (uint32_t upper = 0; upper < reads.size(); ++upper)
      for (uint32_t lower = upper + 1; lower < ends[upper]; ++lower)
        ASSERT_NE(lanes.lanes[upper], lanes.lanes[lower])
            << "graph " << graph << ", rows " << upper << " and " << lower;
  }
}
