//===- ReductionCases.cpp - Gradients of reductions and scans -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

namespace {

GradientCase reduction(const std::string &kind, const std::string &name,
                       const std::string &axes, const std::string &result) {
  return {kind + "_" + name,
          {"2x3x4"},
          result,
          "%y = graph.reduce " + kind + " %0 axes " + axes + " : !t0 -> !y"};
}

} // namespace

std::vector<GradientCase> reductionCases() {
  std::vector<GradientCase> cases = {
      {"variance",
       {"2x3x4"},
       "3",
       "%y = graph.variance %0 axes [0, 2] : !t0 -> !y"},
      {"variance_kept",
       {"2x3x4"},
       "2x3x1",
       "%y = graph.variance %0 axes [2] keepdims : !t0 -> !y"},
      {"cumsum", {"2x3"}, "2x3", "%y = graph.cumsum %0 axis 1 : !t0"},
      {"cumsum_exclusive_reverse",
       {"2x3"},
       "2x3",
       "%y = graph.cumsum %0 axis 0 exclusive reverse : !t0"},
      {"cumprod", {"2x5"}, "2x5", "%y = graph.cumprod %0 axis 1 : !t0"},
      {"cumprod_reverse",
       {"3x2"},
       "3x2",
       "%y = graph.cumprod %0 axis 0 reverse : !t0"},
      {"cumprod_exclusive",
       {"2x4"},
       "2x4",
       "%y = graph.cumprod %0 axis 1 exclusive : !t0"},
      {"cumprod_exclusive_reverse",
       {"2x1x5"},
       "2x1x5",
       "%y = graph.cumprod %0 axis 2 exclusive reverse : !t0"},
  };
  for (const char *kind : {"sum", "mean", "prod", "max", "min"}) {
    cases.push_back(reduction(kind, "inner", "[1]", "2x4"));
    cases.push_back(reduction(kind, "outer", "[0, 2] keepdims", "1x3x1"));
    cases.push_back(reduction(kind, "all", "[0, 1, 2]", ""));
    cases.push_back(reduction(kind, "none", "[]", "2x3x4"));
  }
  return cases;
}

using ReductionGradients = GradientTest;

TEST_F(ReductionGradients, TiesShare) {
  GradientCase largest = {
      "max", {"2x3"}, "2", "%y = graph.reduce max %0 axes [1] : !t0 -> !y"};
  EXPECT_EQ(gradients(largest, {{1, 5, 5, 2, 2, 2}}, {1, 3})[0],
            (Values{0, 0.5, 0.5, 1, 1, 1}));
}

/// The gradient of a product is that of the other factors, some of them zero.
TEST_F(ReductionGradients, ProductsOfZeros) {
  GradientCase product = {
      "prod", {"3x3"}, "3", "%y = graph.reduce prod %0 axes [1] : !t0 -> !y"};
  EXPECT_EQ(gradients(product, {{2, 0, 3, 0, 0, 5, 2, 3, 4}}, {1, 1, 1})[0],
            (Values{0, 6, 0, 0, 0, 0, 12, 8, 6}));
}

TEST_F(ReductionGradients, RunningProductsOfZeros) {
  auto run = [&](const std::string &flags, const Values &x) {
    GradientCase product = {"cumprod",
                            {"3"},
                            "3",
                            "%y = graph.cumprod %0 axis 0 " + flags + " : !t0"};
    return gradients(product, {x}, {1, 1, 1})[0];
  };
  EXPECT_EQ(run("", {2, 0, 3}), (Values{1, 8, 0}));
  EXPECT_EQ(run("", {0, 0, 5}), (Values{1, 0, 0}));
  EXPECT_EQ(run("exclusive", {2, 0, 3}), (Values{1, 2, 0}));
  EXPECT_EQ(run("reverse", {2, 0, 3}), (Values{0, 9, 1}));
}

} // namespace tinh::test
