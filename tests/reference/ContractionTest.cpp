//===- ContractionTest.cpp - Products and windows of the reference --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

namespace tinh::test {

using Contraction = ReferenceTest;

TEST_F(Contraction, MatmulOfMatrices) {
  Operand a{"2x3xf32", {1, 2, 3, 4, 5, 6}};
  Operand b{"3x2xf32", {1, 0, 0, 1, 2, -1}};
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 : t0, t1 -> ty", "2x2xf32", {a, b}),
            (Values{7, -1, 16, -1}));
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 transpose_b : t0, t1 -> ty",
                       "2x2xf32", {a, {"2x3xf32", {1, 0, 2, 0, 1, -1}}}),
            (Values{7, -1, 16, -1}));
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 transpose_a : t0, t1 -> ty",
                       "2x2xf32", {{"3x2xf32", {1, 4, 2, 5, 3, 6}}, b}),
            (Values{7, -1, 16, -1}));
}

TEST_F(Contraction, MatmulOfVectorsAndBatches) {
  Operand v{"2xi32", {1, 2}};
  Operand m{"2x2x2xi32", {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 : t0, t1 -> ty", "2x2xi32", {v, m}),
            (Values{7, 10, 19, 22}));
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 : t0, t1 -> ty", "2x2xi32", {m, v}),
            (Values{5, 11, 17, 23}));
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 : t0, t1 -> ty", "i32", {v, v}),
            (Values{5}));
  // 200 · 400 = 80,000 in 16 bits, and 200 · -2 + 100 · 1 of bytes.
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 : t0, t1 -> ty", "ui16",
                       {{"1xui16", {200}}, {"1xui16", {400}}}),
            (Values{14464}));
  EXPECT_EQ(evaluateOp("graph.matmul %0, %1 : t0, t1 -> ty", "i32",
                       {{"2xui8", {200, 100}}, {"2xi8", {-2, 1}}}),
            (Values{-300}));
}

TEST_F(Contraction, ConvInBothLayouts) {
  // The kernel [1, 10] by stride 2 over [0, 1, 2, 3, 4], a 0 on the left.
  EXPECT_EQ(evaluateOp("graph.conv %0, %1 strides [2] padding [1, 0] "
                       "dilations [1] groups 1 channels_first : t0, t1 -> ty",
                       "1x1x2xf32",
                       {{"1x1x4xf32", {1, 2, 3, 4}}, {"1x1x2xf32", {1, 10}}}),
            (Values{10, 32}));
  // Channels [1, 2], [3, 4], [5, 6] with output weights [1, 1] and [0, 2].
  Operand w{"2x2x1xf32", {1, 1, 0, 2}};
  EXPECT_EQ(evaluateOp("graph.conv %0, %1 strides [1] padding [0, 0] "
                       "dilations [1] groups 1 channels_last : t0, t1 -> ty",
                       "1x3x2xf32", {{"1x3x2xf32", {1, 2, 3, 4, 5, 6}}, w}),
            (Values{3, 4, 7, 8, 11, 12}));
  EXPECT_EQ(evaluateOp("graph.conv %0, %1 strides [1] padding [0, 0] "
                       "dilations [1] groups 1 channels_first : t0, t1 -> ty",
                       "1x2x3xf32", {{"1x2x3xf32", {1, 3, 5, 2, 4, 6}}, w}),
            (Values{3, 7, 11, 4, 8, 12}));
}

TEST_F(Contraction, ConvDilatedAndGrouped) {
  EXPECT_EQ(evaluateOp("graph.conv %0, %1 strides [1] padding [0, 0] "
                       "dilations [2] groups 1 channels_first : t0, t1 -> ty",
                       "1x1x2xf32",
                       {{"1x1x4xf32", {1, 2, 3, 4}}, {"1x1x2xf32", {1, 10}}}),
            (Values{31, 42}));
  // Two groups of one channel, two outputs each.
  EXPECT_EQ(evaluateOp("graph.conv %0, %1 strides [1] padding [0, 0] "
                       "dilations [1] groups 2 channels_last : t0, t1 -> ty",
                       "1x1x4xf32",
                       {{"1x1x2xf32", {1, 10}}, {"4x1x1xf32", {1, 2, 3, 4}}}),
            (Values{1, 2, 30, 40}));
  // A kernel of 2x2 over 2x2 pixels is their weighted sum.
  EXPECT_EQ(evaluateOp(
                "graph.conv %0, %1 strides [1, 1] padding [0, 0, 0, 0] "
                "dilations [1, 1] groups 1 channels_first : t0, t1 -> ty",
                "1x1x1x1xf32",
                {{"1x1x2x2xf32", {1, 2, 3, 4}}, {"1x1x2x2xf32", {1, 2, 3, 4}}}),
            (Values{30}));
}

TEST_F(Contraction, ConvTranspose) {
  // Each element adds [1, 10] at its double index; one is cut off the left.
  EXPECT_EQ(
      evaluateOp("graph.conv_transpose %0, %1 strides [2] padding [1, 0] "
                 "output_padding [1] dilations [1] groups 1 channels_first "
                 ": t0, t1 -> ty",
                 "1x1x6xf32",
                 {{"1x1x3xf32", {1, 2, 3}}, {"1x1x2xf32", {1, 10}}}),
      (Values{10, 2, 20, 3, 30, 0}));
  EXPECT_EQ(
      evaluateOp("graph.conv_transpose %0, %1 strides [1] padding [0, 0] "
                 "output_padding [0] dilations [1] groups 2 channels_last "
                 ": t0, t1 -> ty",
                 "1x1x4xf32",
                 {{"1x1x2xf32", {1, 10}}, {"2x2x1xf32", {1, 2, 3, 4}}}),
      (Values{1, 2, 30, 40}));
}

TEST_F(Contraction, ConvWeightGradient) {
  // Each tap is the product of dy and the image shifted, which the padding
  // cuts.
  EXPECT_EQ(evaluateOp("graph.conv_weight_gradient %0, %1 kernel [2] strides "
                       "[2] padding [1, 0] dilations [2] groups 1 "
                       "channels_first : t0, t1 -> ty",
                       "1x1x2xf32",
                       {{"1x1x4xf32", {1, 2, 3, 4}}, {"1x1x2xf32", {1, 10}}}),
            (Values{20, 42}));
  // Sums over the batch; two groups of one channel, two outputs each.
  EXPECT_EQ(
      evaluateOp("graph.conv_weight_gradient %0, %1 kernel [1] strides [1] "
                 "padding [0, 0] dilations [1] groups 2 channels_last "
                 ": t0, t1 -> ty",
                 "4x1x1xf32",
                 {{"2x1x2xf32", {1, 10, 2, 20}},
                  {"2x1x4xf32", {1, 2, 3, 4, 5, 6, 7, 8}}}),
      (Values{11, 14, 170, 200}));
}

TEST_F(Contraction, MaxPoolGradient) {
  // The first of equal elements gets what several windows give it.
  EXPECT_EQ(evaluateOp("graph.max_pool_gradient %0, %1 kernel [3] strides [1] "
                       "padding [1, 1] dilations [1] channels_first : t0, t1",
                       "1x1x4xf32",
                       {{"1x1x4xf32", {1, 2, 2, 0}},
                        {"1x1x4xf32", {1, 10, 100, 1000}}}),
            (Values{0, 111, 1000, 0}));
  // A NaN counts as the largest; padding never wins.
  EXPECT_EQ(evaluateOp("graph.max_pool_gradient %0, %1 kernel [2] strides [2] "
                       "padding [1, 1] dilations [1] channels_last : t0, t1",
                       "1x4x1xf32",
                       {{"1x4x1xf32", {-1, 5, NAN, -INFINITY}},
                        {"1x3x1xf32", {1, 10, 100}}}),
            (Values{1, 0, 10, 100}));
}

TEST_F(Contraction, Pools) {
  Operand x{"1x1x4xf32", {-1, -2, -3, -4}};
  EXPECT_EQ(evaluateOp("graph.max_pool %0 kernel [3] strides [2] padding [1, 1]"
                       " dilations [1] channels_first : t0 -> ty",
                       "1x1x2xf32", {x}),
            (Values{-1, -2}));
  EXPECT_EQ(evaluateOp("graph.avg_pool %0 kernel [2] strides [2] padding [1, 1]"
                       " dilations [1] channels_first : t0 -> ty",
                       "1x1x3xf32", {x}),
            (Values{-1, -2.5, -4}));
  EXPECT_EQ(evaluateOp("graph.avg_pool %0 kernel [2] strides [2] padding [1, 1]"
                       " dilations [1] channels_first count_include_pad"
                       " : t0 -> ty",
                       "1x1x3xf32", {x}),
            (Values{-0.5, -2.5, -2}));
  // The padding of a ceil mode is not counted.
  EXPECT_EQ(evaluateOp("graph.avg_pool %0 kernel [2] strides [2] padding [1, 1]"
                       " dilations [1] channels_first count_include_pad"
                       " {ceil_padding = array<i64: 1>} : t0 -> ty",
                       "1x1x3xf32", {x}),
            (Values{-0.5, -2.5, -4}));
}

} // namespace tinh::test
