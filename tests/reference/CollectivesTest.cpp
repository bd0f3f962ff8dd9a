//===- CollectivesTest.cpp - What ranks compute together
//---------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

namespace tinh::test {

using Collectives = ReferenceTest;
using ByRank = std::vector<Values>;

TEST_F(Collectives, AllReduce) {
  ByRank inputs{{1, 2}, {3, -4}, {5, 8}};
  auto all = [&](const Values &values) { return ByRank(3, values); };
  auto run = [&](const std::string &op, const std::string &type = "2xf32") {
    return evaluateOnRanks("graph." + op + " : t0", type, type, inputs);
  };
  EXPECT_EQ(run("all_reduce sum %0"), all({9, 6}));
  EXPECT_EQ(run("all_reduce mean %0"), all({3, 2}));
  EXPECT_EQ(run("all_reduce max %0"), all({5, 8}));
  EXPECT_EQ(run("all_reduce sum %0", "2xi32"), all({9, 6}));
  EXPECT_EQ(run("collective_broadcast %0 root 1"), all({3, -4}));
}

TEST_F(Collectives, SentAsBf16) {
  // 257 has 9 bits, and so do the sum of 256 twice and of 512 and 1.
  EXPECT_EQ(
      evaluateOnRanks("graph.all_reduce sum %0 communication_dtype bf16 : t0",
                      "1xf32", "1xf32", {{257}, {257}}),
      (ByRank{{512}, {512}}));
  EXPECT_EQ(
      evaluateOnRanks("graph.all_reduce sum %0 communication_dtype bf16 : t0",
                      "1xf32", "1xf32", {{512}, {1}}),
      (ByRank{{512}, {512}}));
}

TEST_F(Collectives, PartsOfRanks) {
  ByRank inputs{{1, 2, 3, 4}, {10, 20, 30, 40}};
  EXPECT_EQ(evaluateOnRanks("graph.reduce_scatter sum %0 ranks 2 : t0 -> ty",
                            "4xf32", "2xf32", inputs),
            (ByRank{{11, 22}, {33, 44}}));
  EXPECT_EQ(evaluateOnRanks("graph.all_gather %0 ranks 2 : t0 -> ty", "4xf32",
                            "8xf32", inputs),
            ByRank(2, {1, 2, 3, 4, 10, 20, 30, 40}));
}

TEST_F(Collectives, OtherNumbersOfRanks) {
  EXPECT_TRUE(evaluateOnRanks("graph.all_gather %0 ranks 2 : t0 -> ty", "1xf32",
                              "2xf32", {{1}, {2}, {3}})
                  .empty());
  EXPECT_NE(message.find("another number of ranks than the 3"),
            std::string::npos)
      << message;
  EXPECT_TRUE(evaluateOnRanks("graph.collective_broadcast %0 root 2 : t0",
                              "1xf32", "1xf32", {{1}})
                  .empty());
}

} // namespace tinh::test
