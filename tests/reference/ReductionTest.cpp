//===- ReductionTest.cpp - Reductions of the reference ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

namespace tinh::test {

using Reduction = ReferenceTest;

TEST_F(Reduction, Reduce) {
  Operand x{"2x3xf32", {1, 2, 3, 4, 5, 7}};
  auto reduce = [&](const std::string &op, const std::string &type) {
    return evaluateOp("graph.reduce " + op + " : t0 -> ty", type, {x});
  };
  EXPECT_EQ(reduce("sum %0 axes [1]", "2xf32"), (Values{6, 16}));
  EXPECT_EQ(reduce("sum %0 axes [0]", "3xf32"), (Values{5, 7, 10}));
  EXPECT_EQ(reduce("prod %0 axes [0, 1]", "f32"), (Values{840}));
  EXPECT_EQ(reduce("mean %0 axes [1] keepdims", "2x1xf32"),
            (Values{2, 16.0f / 3}));
  EXPECT_EQ(reduce("max %0 axes [0]", "3xf32"), (Values{4, 5, 7}));
  EXPECT_EQ(reduce("min %0 axes []", "2x3xf32"), x.values);
}

TEST_F(Reduction, ReduceOfIntegersAndBooleans) {
  EXPECT_EQ(evaluateOp("graph.reduce sum %0 axes [0] : t0 -> ty", "i8",
                       {{"3xi8", {100, 100, 100}}}),
            (Values{44}));
  EXPECT_EQ(evaluateOp("graph.reduce mean %0 axes [0] : t0 -> ty", "i8",
                       {{"3xi8", {100, 100, 101}}}),
            (Values{100}));
  EXPECT_EQ(evaluateOp("graph.reduce max %0 axes [1] : t0 -> ty", "2xi1",
                       {{"2x2xi1", {0, 1, 0, 0}}}),
            (Values{1, 0}));
  EXPECT_EQ(evaluateOp("graph.reduce min %0 axes [0] : t0 -> ty", "ui64",
                       {{"2xui64", {0x1p63, 5}}}),
            (Values{5}));
}

TEST_F(Reduction, ReduceOfNothingAndNan) {
  Operand none{"2x0xf32", {}};
  auto reduce = [&](const std::string &kind) {
    return evaluateOp("graph.reduce " + kind + " %0 axes [1] : t0 -> ty",
                      "2xf32", {none});
  };
  EXPECT_EQ(reduce("sum"), (Values{0, 0}));
  EXPECT_EQ(reduce("prod"), (Values{1, 1}));
  EXPECT_EQ(reduce("max"), (Values{-kInfinity, -kInfinity}));
  expectNear(evaluateOp("graph.reduce max %0 axes [1] : t0 -> ty", "2xf32",
                        {{"2x2xf32", {1, kNan, kNan, 1}}}),
             {kNan, kNan});
}

TEST_F(Reduction, Variance) {
  Operand x{"2x3xf32", {1, 2, 3, 4, 4, 7}};
  EXPECT_EQ(evaluateOp("graph.variance %0 axes [1] : t0 -> ty", "2xf32", {x}),
            (Values{2.0f / 3, 2}));
  EXPECT_EQ(evaluateOp("graph.variance %0 axes [0] keepdims : t0 -> ty",
                       "1x3xf32", {x}),
            (Values{2.25, 1, 4}));
  EXPECT_EQ(evaluateOp("graph.variance %0 axes [] : t0 -> ty", "2x3xf32", {x}),
            (Values(6, 0)));
  expectNear(evaluateOp("graph.variance %0 axes [1] : t0 -> ty", "2xf32",
                        {{"2x0xf32", {}}}),
             {kNan, kNan});
}

TEST_F(Reduction, Arg) {
  Operand x{"2x4xf32", {1, 3, 3, 0, 0, 2, 0, 1}};
  EXPECT_EQ(evaluateOp("graph.argmax %0 axis 1 : t0 -> ty", "2xi64", {x}),
            (Values{1, 1}));
  EXPECT_EQ(evaluateOp("graph.argmax %0 axis 1 select_last_index : t0 -> ty",
                       "2xi64", {x}),
            (Values{2, 1}));
  EXPECT_EQ(
      evaluateOp("graph.argmin %0 axis 1 keepdims : t0 -> ty", "2x1xi64", {x}),
      (Values{3, 0}));
  EXPECT_EQ(evaluateOp("graph.argmax %0 axis 0 : t0 -> ty", "4xi64", {x}),
            (Values{0, 0, 0, 1}));
  EXPECT_EQ(evaluateOp("graph.argmin %0 axis 0 : t0 -> ty", "i64",
                       {{"4xf32", {1, kNan, 0, kNan}}}),
            (Values{1}));
}

TEST_F(Reduction, Cumsum) {
  Operand x{"2x3xf32", {1, 2, 3, 4, 5, 6}};
  auto scan = [&](const std::string &how) {
    return evaluateOp("graph.cumsum %0 axis " + how + " : t0", "2x3xf32", {x});
  };
  EXPECT_EQ(scan("1"), (Values{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(scan("0"), (Values{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(scan("1 exclusive"), (Values{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(scan("1 exclusive reverse"), (Values{5, 3, 0, 11, 6, 0}));
}

TEST_F(Reduction, Cumprod) {
  Operand x{"2x3xf32", {1, 2, 3, 4, 5, 6}};
  auto scan = [&](const std::string &how) {
    return evaluateOp("graph.cumprod %0 axis " + how + " : t0", "2x3xf32", {x});
  };
  EXPECT_EQ(scan("1"), (Values{1, 2, 6, 4, 20, 120}));
  EXPECT_EQ(scan("0"), (Values{1, 2, 3, 4, 10, 18}));
  EXPECT_EQ(scan("1 exclusive"), (Values{1, 1, 2, 1, 4, 20}));
  EXPECT_EQ(scan("1 exclusive reverse"), (Values{6, 3, 1, 30, 6, 1}));
}

} // namespace tinh::test
