//===- MovementCases.cpp - Gradients of ops that move elements ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

namespace {

GradientCase padded(const std::string &mode, const std::string &low,
                    const std::string &high, const std::string &result) {
  return {"pad_" + mode,
          {"3x4"},
          result,
          R"(%v = graph.constant dense<0.5> : tensor<f64>
         %y = graph.pad %0, %v low )" +
              low + " high " + high + " " + mode + " : !t0, tensor<f64> -> !y"};
}

GradientCase named(const std::string &name, GradientCase gradientCase) {
  gradientCase.name = name;
  return gradientCase;
}

std::vector<GradientCase> paddingCases() {
  return {
      padded("constant", "[1, 0]", "[0, 2]", "4x6"),
      padded("edge", "[1, 2]", "[2, 0]", "6x6"),
      padded("reflect", "[2, 1]", "[1, 3]", "6x8"),
      padded("wrap", "[3, 1]", "[1, 4]", "7x9"),
      named("pad_cut", padded("constant", "[-1, 2]", "[1, -3]", "3x3")),
      named("pad_reflect_cut", padded("reflect", "[-1, 2]", "[2, -1]", "4x5")),
      named("pad_wrap_and_cut_all",
            padded("wrap", "[2, -4]", "[-4, 2]", "1x2")),
      named("pad_edge_and_cut_all",
            padded("edge", "[2, -4]", "[-4, 2]", "1x2")),
      named("pad_reflect_and_cut_all",
            padded("reflect", "[2, -4]", "[-4, 2]", "1x2")),
      {"pad_value",
       {"3x4", ""},
       "5x4",
       "%y = graph.pad %0, %1 low [1, -1] high [1, 1] constant "
       ": !t0, !t1 -> !y"},
  };
}

/// Negative indices, one out of bounds and repeated ones.
std::vector<GradientCase> gatherCases() {
  return {
      {"gather", {"2x3x4"}, "2x2x2x4", R"(
         %i = graph.constant dense<[[0, -1], [7, 1]]> : tensor<2x2xi64>
         %y = graph.gather %0, %i axis 1 : !t0, tensor<2x2xi64> -> !y)"},
      {"gather_elements", {"3x4"}, "2x3", R"(
         %i = graph.constant dense<[[0, -1, 2], [2, 9, 2]]> : tensor<2x3xi32>
         %y = graph.gather_elements %0, %i axis 0 : !t0, tensor<2x3xi32> -> !y)"},
      {"gather_nd", {"3x4x2"}, "3x2", R"(
         %i = graph.constant dense<[[0, -1], [2, 3], [0, 3]]> : tensor<3x2xi64>
         %y = graph.gather_nd %0, %i batch_dims 0 : !t0, tensor<3x2xi64> -> !y)"},
      {"gather_nd_batch", {"2x3x4"}, "2x3x4", R"(
         %i = graph.constant dense<[[[0], [-1], [0]], [[1], [1], [1]]]>
              : tensor<2x3x1xi32>
         %y = graph.gather_nd %0, %i batch_dims 1 : !t0, tensor<2x3x1xi32> -> !y)"},
  };
}

/// Of each kind; indices are repeated.
std::vector<GradientCase> scatterCases() {
  std::vector<GradientCase> cases;
  for (std::string kind : {"assign", "add", "mul", "max", "min"}) {
    cases.push_back({"scatter_" + kind, {"2x3x2", "2x2x2x2"}, "2x3x2", R"(
         %i = graph.constant dense<[[0, -1], [7, 1]]> : tensor<2x2xi64>
         %y = graph.scatter )" + kind + R"( %0, %i, %1 axis 1
              : !t0, tensor<2x2xi64>, !t1)"});
    cases.push_back({"scatter_elements_" + kind, {"3x4", "2x3"}, "3x4", R"(
         %i = graph.constant dense<[[0, -1, 2], [2, 9, 2]]> : tensor<2x3xi32>
         %y = graph.scatter_elements )" + kind + R"( %0, %i, %1 axis 0
              : !t0, tensor<2x3xi32>, !t1)"});
    cases.push_back({"scatter_nd_" + kind, {"3x4x2", "3x2"}, "3x4x2", R"(
         %i = graph.constant dense<[[0, -1], [2, 3], [0, 3]]> : tensor<3x2xi64>
         %y = graph.scatter_nd )" + kind + R"( %0, %i, %1
              : !t0, tensor<3x2xi64>, !t1)"});
  }
  return cases;
}

} // namespace

std::vector<GradientCase> movementCases() {
  std::vector<GradientCase> cases = {
      {"reshape", {"2x3x2"}, "4x3", "%y = graph.reshape %0 : !t0 to !y"},
      {"broadcast", {"3x1"}, "2x3x4", "%y = graph.broadcast %0 : !t0 to !y"},
      {"transpose",
       {"2x3x4"},
       "4x2x3",
       "%y = graph.transpose %0 [2, 0, 1] : !t0 -> !y"},
      {"concat",
       {"2x3", "2x1", "2x2"},
       "2x6",
       "%y = graph.concat %0, %1, %2 axis 1 : (!t0, !t1, !t2) -> !y"},
      {"slice",
       {"4x5"},
       "2x3",
       "%y = graph.slice %0 starts [1, 2] sizes [2, 3] steps [1, 1] "
       ": !t0 -> !y"},
      {"slice_steps",
       {"7x8"},
       "3x3",
       "%y = graph.slice %0 starts [1, 0] sizes [3, 3] steps [2, 3] "
       ": !t0 -> !y"},
      {"slice_backwards",
       {"7x8"},
       "3x3",
       "%y = graph.slice %0 starts [6, 7] sizes [3, 3] steps [-1, -3] "
       ": !t0 -> !y"},
  };
  llvm::append_range(cases, paddingCases());
  llvm::append_range(cases, gatherCases());
  llvm::append_range(cases, scatterCases());
  return cases;
}

using MovementGradients = GradientTest;

/// Two of three factors of an element are updates, one or both of them zero.
TEST_F(MovementGradients, ScatteredProductsOfZeros) {
  GradientCase product = {"mul", {"2", "4"}, "2", R"(
      %i = graph.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
      %y = graph.scatter mul %0, %i, %1 axis 0 : !t0, tensor<4xi64>, !t1)"};
  auto found = gradients(product, {{2, 3}, {5, 0, 0, 0}}, {1, 1});
  EXPECT_EQ(found[0], (Values{0, 0}));
  EXPECT_EQ(found[1], (Values{0, 10, 0, 0}));
}

TEST_F(MovementGradients, ScatteredTiesShare) {
  GradientCase largest = {"max", {"2", "3"}, "2", R"(
      %i = graph.constant dense<[0, 0, 1]> : tensor<3xi64>
      %y = graph.scatter max %0, %i, %1 axis 0 : !t0, tensor<3xi64>, !t1)"};
  auto found = gradients(largest, {{4, 1}, {4, 4, 2}}, {3, 1});
  EXPECT_EQ(found[0], (Values{1, 0}));
  EXPECT_EQ(found[1], (Values{1, 1, 1}));
}

} // namespace tinh::test
