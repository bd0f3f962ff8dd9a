//===- function_data_test.cpp - A function, as a page's data ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "function_data.h"

#include <gmock/gmock.h>

using namespace tinh::tools;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

OpGraph graph_of(size_t ops, Edges reads, Edges of_steps) {
  OpGraph graph;
  for (size_t i = 0; i < ops; ++i)
    graph.ops.push_back({.kind = "relu", .nodes = {"n" + std::to_string(i)}});
  graph.reads = std::move(reads);
  graph.of_steps = std::move(of_steps);
  return graph;
}

} // namespace

TEST(BlocksTest, AStepIsWithItsOps) {
  auto blocks = blocks_of(graph_of(3, {{}, {0}, {1}}, {{0, 1}, {2}}), 2);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_THAT(blocks[0].ops, ElementsAre(0, 1));
  EXPECT_THAT(blocks[0].steps, ElementsAre(0));
  EXPECT_THAT(blocks[1].ops, ElementsAre(2));
}

TEST(BlocksTest, AKernelThatWasSplitIsOneBlock) {
  auto blocks = blocks_of(graph_of(2, {{}, {0}}, {{0, 1}, {0, 1}}), 2);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_THAT(blocks[0].steps, ElementsAre(0, 1));
}

TEST(BlocksTest, BlocksAreInTheOrderOfTheirSteps) {
  auto blocks = blocks_of(graph_of(2, {{}, {}}, {{1}, {0}}), 2);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_THAT(blocks[0].ops, ElementsAre(1));
}

TEST(BlocksTest, WhatNoStepComputesIsBeforeItsReader) {
  auto blocks = blocks_of(graph_of(3, {{}, {}, {1}}, {{0}, {2}}), 2);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_THAT(blocks[1].ops, ElementsAre(1));
  EXPECT_THAT(blocks[1].steps, IsEmpty());
  EXPECT_THAT(blocks[2].ops, ElementsAre(2));
}

TEST(BlocksTest, WithoutOpsEachStepIsABlock) {
  auto blocks = blocks_of({}, 3);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_THAT(blocks[2].steps, ElementsAre(2));
}

TEST(FunctionDataTest, EdgesAreNamedByOpsInWhateverOrder) {
  Schedule schedule;
  schedule.name = "main";
  schedule.steps.resize(2);
  // The second op is drawn first, and read by the first.
  Json data = function_data(schedule, graph_of(2, {{1}, {}}, {{1}, {0}}));
  EXPECT_EQ(data["name"], "main");
  EXPECT_EQ(data["blocks"][0]["ops"], Json({1}));
  EXPECT_EQ(data["ops"][0]["reads"], Json({1}));
  EXPECT_EQ(data["ops"][0]["far"], Json::array());
  EXPECT_EQ(data["steps"][0]["kind"], "kernel");
}
