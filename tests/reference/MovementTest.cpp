//===- MovementTest.cpp - Movement ops of the reference ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

namespace tinh::test {

using Movement = ReferenceTest;

TEST_F(Movement, Views) {
  Operand x{"2x3xi32", {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(evaluateOp("graph.reshape %0 : t0 to ty", "3x2xi32", {x}),
            (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(evaluateOp("graph.transpose %0 [1, 0] : t0 -> ty", "3x2xi32", {x}),
            (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(evaluateOp("graph.transpose %0 [1, 2, 0] : t0 -> ty", "2x2x2xi32",
                       {{"2x2x2xi32", {0, 1, 2, 3, 4, 5, 6, 7}}}),
            (Values{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(evaluateOp("graph.broadcast %0 : t0 to ty", "2x2x2xf32",
                       {{"2x1xf32", {1, 2}}}),
            (Values{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST_F(Movement, ConcatAndSlice) {
  EXPECT_EQ(evaluateOp("graph.concat %0, %1 axis 1 : (t0, t1) -> ty", "2x3xf32",
                       {{"2x2xf32", {1, 2, 3, 4}}, {"2x1xf32", {5, 6}}}),
            (Values{1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(evaluateOp("graph.slice %0 starts [1, 4] sizes [1, 2] "
                       "steps [1, -2] : t0 -> ty",
                       "1x2xf32",
                       {{"2x5xf32", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}}),
            (Values{9, 7}));
}

TEST_F(Movement, Pads) {
  auto pad = [&](const std::string &amounts, const std::string &type) {
    return evaluateOp("graph.pad %0, %1 " + amounts + " : t0, t1 -> ty", type,
                      {{"3xf32", {1, 2, 3}}, {"f32", {9}}});
  };
  EXPECT_EQ(pad("low [2] high [1] constant", "6xf32"),
            (Values{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(pad("low [-1] high [2] constant", "4xf32"), (Values{2, 3, 9, 9}));
  EXPECT_EQ(pad("low [2] high [1] edge", "6xf32"), (Values{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad("low [2] high [2] reflect", "7xf32"),
            (Values{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(pad("low [2] high [1] wrap", "6xf32"), (Values{2, 3, 1, 2, 3, 1}));
  // A corner lies outside in two dimensions.
  EXPECT_EQ(evaluateOp("graph.pad %0, %1 low [1, 1] high [0, 0] constant"
                       " : t0, t1 -> ty",
                       "2x2xf32", {{"1x1xf32", {1}}, {"f32", {9}}}),
            (Values{9, 9, 9, 1}));
}

TEST_F(Movement, Gathers) {
  Operand x{"2x3xf32", {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(evaluateOp("graph.gather %0, %1 axis 1 : t0, t1 -> ty", "2x2xf32",
                       {x, {"2xi64", {-1, 0}}}),
            (Values{3, 1, 6, 4}));
  EXPECT_EQ(evaluateOp("graph.gather %0, %1 axis 0 : t0, t1 -> ty", "1x3xf32",
                       {x, {"1xi32", {7}}}),
            (Values{4, 5, 6}));
  EXPECT_EQ(evaluateOp("graph.gather_elements %0, %1 axis 0 : t0, t1 -> ty",
                       "1x3xf32", {x, {"1x3xi64", {1, 0, -1}}}),
            (Values{4, 2, 6}));
  EXPECT_EQ(evaluateOp("graph.gather_nd %0, %1 batch_dims 0 : t0, t1 -> ty",
                       "2xf32", {x, {"2x2xi64", {1, 2, 0, -2}}}),
            (Values{6, 2}));
  EXPECT_EQ(evaluateOp("graph.gather_nd %0, %1 batch_dims 0 : t0, t1 -> ty",
                       "1x3xf32", {x, {"1x1xi64", {1}}}),
            (Values{4, 5, 6}));
  EXPECT_EQ(evaluateOp("graph.gather_nd %0, %1 batch_dims 1 : t0, t1 -> ty",
                       "2xf32", {x, {"2x1xi64", {2, 0}}}),
            (Values{3, 4}));
}

TEST_F(Movement, GatherFromNothing) {
  EXPECT_EQ(evaluateOp("graph.gather %0, %1 axis 0 : t0, t1 -> ty", "0xf32",
                       {{"0xf32", {}}, {"0xi64", {}}}),
            Values());
  EXPECT_EQ(message, "");
}

TEST_F(Movement, Iota) {
  EXPECT_EQ(evaluateOp("graph.iota start 5 step -2 : ty", "4xi64", {}),
            (Values{5, 3, 1, -1}));
  EXPECT_EQ(evaluateOp("graph.iota start 0 step -1 : ty", "3xf32", {}),
            (Values{0, -1, -2}));
}

/// A negative index, one out of bounds and one that is repeated.
TEST_F(Movement, Scatter) {
  std::vector<Operand> operands = {{"3x2xf32", {1, 2, 3, 4, 5, 6}},
                                   {"3xi64", {-3, 9, 0}},
                                   {"3x2xf32", {10, 20, 30, 40, 50, 1}}};
  auto scatter = [&](const std::string &kind) {
    return evaluateOp("graph.scatter " + kind +
                          " %0, %1, %2 axis 0 : t0, t1, t2",
                      "3x2xf32", operands);
  };
  EXPECT_EQ(scatter("assign"), (Values{50, 1, 3, 4, 30, 40}));
  EXPECT_EQ(scatter("add"), (Values{61, 23, 3, 4, 35, 46}));
  EXPECT_EQ(scatter("mul"), (Values{500, 40, 3, 4, 150, 240}));
  EXPECT_EQ(scatter("max"), (Values{50, 20, 3, 4, 30, 40}));
  EXPECT_EQ(scatter("min"), (Values{1, 1, 3, 4, 5, 6}));
}

TEST_F(Movement, ScatterElementsAndTuples) {
  Operand x{"2x3xi32", {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(evaluateOp("graph.scatter_elements add %0, %1, %2 axis 1 "
                       ": t0, t1, t2",
                       "2x3xi32",
                       {x, {"1x2xi32", {2, -1}}, {"1x2xi32", {10, 20}}}),
            (Values{1, 2, 33, 4, 5, 6}));
  EXPECT_EQ(evaluateOp("graph.scatter_nd assign %0, %1, %2 : t0, t1, t2",
                       "2x3xi32",
                       {x, {"2x2xi64", {0, 1, -1, 2}}, {"2xi32", {7, 8}}}),
            (Values{1, 7, 3, 4, 5, 8}));
  EXPECT_EQ(evaluateOp("graph.scatter_nd add %0, %1, %2 : t0, t1, t2",
                       "2x3xi32", {x, {"1xi64", {1}}, {"3xi32", {1, 2, 3}}}),
            (Values{1, 2, 3, 5, 7, 9}));
}

} // namespace tinh::test
