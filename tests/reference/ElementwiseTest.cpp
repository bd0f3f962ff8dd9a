//===- ElementwiseTest.cpp - Element-wise ops of the reference --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

namespace tinh::test {

using Elementwise = ReferenceTest;

TEST_F(Elementwise, UnaryFloats) {
  auto unary = [&](const std::string &op, const Values &x) {
    std::string type = std::to_string(x.size()) + "xf32";
    return evaluateOp("graph." + op + " %0 : t0", type, {{type, x}});
  };
  expectNear(unary("neg", {1, -2, 0}), {-1, 2, 0});
  expectNear(unary("sign", {3, -0.5, 0, kNan}), {1, -1, 0, kNan});
  expectNear(unary("relu", {3, -0.5, kNan}), {3, 0, kNan});
  expectNear(unary("rsqrt", {4, 0}), {0.5, kInfinity});
  expectNear(unary("reciprocal", {4, -0.5}), {0.25, -2});
  expectNear(unary("sigmoid", {0, -1000, 1000}), {0.5, 0, 1});
  expectNear(unary("softplus", {0, -1000, 1000}), {0.6931472, 0, 1000});
  expectNear(unary("softsign", {0, -3, 1e9}), {0, -0.75, 1});
  expectNear(unary("round", {0.5, 1.5, -2.5, 2.6}), {0, 2, -2, 3});
  expectNear(unary("erf", {0, 1}), {0, 0.8427008});
  expectNear(unary("gelu", {0, 1, -1}), {0, 0.8413447, -0.1586553});
  expectNear(unary("gelu", {1}), {0.8413447});
  expectNear(evaluateOp("graph.gelu %0 tanh_approximation : t0", "1xf32",
                        {{"1xf32", {1}}}),
             {0.8411920});
  expectNear(unary("atanh", {0.5, 2}), {0.5493061, kNan});
  expectNear(unary("log", {1, 0, -1}), {0, -kInfinity, kNan});
}

TEST_F(Elementwise, RoundsToTheResultsType) {
  // 2049 lies between two f16, 257 between two bf16; halves go to even.
  EXPECT_EQ(evaluateOp("graph.add %0, %1 : t0, t1 -> ty", "2xf16",
                       {{"2xf16", {2048, 2050}}, {"f16", {1}}}),
            (Values{2048, 2052}));
  EXPECT_EQ(evaluateOp("graph.mul %0, %0 : t0, t0 -> ty", "1xf16",
                       {{"1xf16", {256}}}),
            (Values{kInfinity}));
  EXPECT_EQ(evaluateOp("graph.add %0, %1 : t0, t1 -> ty", "1xbf16",
                       {{"1xbf16", {256}}, {"bf16", {1}}}),
            (Values{256}));
  EXPECT_EQ(evaluateOp("graph.add %0, %1 : t0, t1 -> ty", "1xf32",
                       {{"1xf32", {16777216}}, {"f32", {1}}}),
            (Values{16777216}));
  EXPECT_EQ(evaluateOp("graph.add %0, %1 : t0, t1 -> ty", "1xf64",
                       {{"1xf64", {16777216}}, {"f64", {1}}}),
            (Values{16777217}));
}

TEST_F(Elementwise, FloatsOf8BitsSaturateIfAsked) {
  auto cast = [&](const std::string &type, const std::string &saturate) {
    return evaluateOp("graph.cast %0 " + saturate + ": t0 to ty", "5x" + type,
                      {{"5xf32", {449, 464, 465, -70000, kInfinity}}});
  };
  auto expectSame = [](const Values &found, const Values &expected) {
    expectNear(found, expected);
  };
  expectSame(cast("f8E4M3FN", ""), {448, 448, kNan, kNan, kNan});
  expectSame(cast("f8E4M3FN", "saturate "), {448, 448, 448, -448, 448});
  expectSame(cast("f8E4M3FNUZ", "saturate "), {240, 240, 240, -240, 240});
  expectSame(cast("f8E5M2", ""), {448, 448, 448, -kInfinity, kInfinity});
  expectSame(cast("f8E5M2", "saturate "), {448, 448, 448, -57344, 57344});
  expectSame(cast("f8E5M2FNUZ", ""), {448, 448, 448, kNan, kNan});
}

TEST_F(Elementwise, IntegersWrapInTheirOwnWidth) {
  auto binary = [&](const std::string &op, const std::string &type,
                    const Values &a, const Values &b) {
    std::string shape = std::to_string(a.size()) + "x" + type;
    return evaluateOp("graph." + op + " %0, %1 : t0, t1 -> ty", shape,
                      {{shape, a}, {shape, b}});
  };
  EXPECT_EQ(binary("add", "i8", {127, -128}, {1, -1}), (Values{-128, 127}));
  EXPECT_EQ(binary("add", "ui8", {255}, {2}), (Values{1}));
  EXPECT_EQ(binary("sub", "ui16", {0}, {1}), (Values{65535}));
  EXPECT_EQ(binary("mul", "i32", {65536}, {65537}), (Values{65536}));
  EXPECT_EQ(binary("div", "i32", {-7, 7, 5}, {2, -2, 0}), (Values{-3, -3, 0}));
  EXPECT_EQ(binary("mod", "i32", {-7, 7, 5}, {3, -3, 0}), (Values{2, -2, 0}));
  EXPECT_EQ(binary("fmod", "i32", {-7, 7}, {3, -3}), (Values{-1, 1}));
  EXPECT_EQ(binary("pow", "i32", {3, -2, 2, -1}, {4, 3, -1, -3}),
            (Values{81, -8, 0, -1}));
  EXPECT_EQ(binary("shift_left", "i8", {1, 1, 65}, {7, 8, 1}),
            (Values{-128, 0, -126}));
  EXPECT_EQ(binary("shift_right", "i8", {-128, -1, 64}, {3, 9, 9}),
            (Values{-16, -1, 0}));
  EXPECT_EQ(binary("shift_right", "ui8", {128}, {3}), (Values{16}));
  EXPECT_EQ(binary("xor", "i32", {6}, {3}), (Values{5}));
  // Larger than any signed 64 bits, and so the larger of the two.
  EXPECT_EQ(binary("max", "ui64", {0x1p63}, {1}), (Values{0x1p63}));
  EXPECT_EQ(binary("div", "ui64", {0x1p63}, {2}), (Values{0x1p62}));
  EXPECT_EQ(binary("add", "i1", {1, 1, 0}, {1, 0, 0}), (Values{1, 1, 0}));
}

TEST_F(Elementwise, BinaryFloats) {
  auto binary = [&](const std::string &op, const Values &a, const Values &b) {
    std::string type = std::to_string(a.size()) + "xf32";
    return evaluateOp("graph." + op + " %0, %1 : t0, t1 -> ty", type,
                      {{type, a}, {type, b}});
  };
  expectNear(binary("max", {1, kNan, 2}, {3, 0, kNan}), {3, kNan, kNan});
  expectNear(binary("min", {1, kNan, 2}, {3, 0, kNan}), {1, kNan, kNan});
  expectNear(binary("mod", {-7.5, 7.5}, {2, -2}), {0.5, -0.5});
  expectNear(binary("fmod", {-7.5, 7.5}, {2, -2}), {-1.5, 1.5});
  expectNear(binary("pow", {2, -8}, {0.5, 2}), {1.4142135, 64});
  expectNear(binary("div", {1, 0}, {0, 0}), {kInfinity, kNan});
}

TEST_F(Elementwise, Broadcasts) {
  EXPECT_EQ(evaluateOp("graph.sub %0, %1 : t0, t1 -> ty", "2x3xf32",
                       {{"2x1xf32", {10, 20}}, {"3xf32", {1, 2, 3}}}),
            (Values{9, 8, 7, 19, 18, 17}));
  EXPECT_EQ(evaluateOp("graph.where %0, %1, %2 : t0, t1, t2 -> ty", "2x2xi32",
                       {{"2x1xi1", {1, 0}}, {"2xi32", {1, 2}}, {"i32", {9}}}),
            (Values{1, 2, 9, 9}));
}

TEST_F(Elementwise, Tests) {
  EXPECT_EQ(evaluateOp("graph.compare not_equal %0, %1 : t0, t1 -> ty", "2xi1",
                       {{"2xf32", {kNan, 1}}, {"f32", {1}}}),
            (Values{1, 0}));
  EXPECT_EQ(evaluateOp("graph.compare less_equal %0, %1 : t0, t1 -> ty", "3xi1",
                       {{"3xf32", {kNan, 1, 2}}, {"f32", {1}}}),
            (Values{0, 1, 0}));
  EXPECT_EQ(evaluateOp("graph.isinf %0 : t0", "3xi1",
                       {{"3xf32", {kNan, -kInfinity, 2}}}),
            (Values{0, 1, 0}));
  EXPECT_EQ(evaluateOp("graph.not %0 : t0", "2xi1", {{"2xi1", {0, 1}}}),
            (Values{1, 0}));
  EXPECT_EQ(evaluateOp("graph.not %0 : t0", "1xui8", {{"1xui8", {3}}}),
            (Values{252}));
}

TEST_F(Elementwise, Casts) {
  auto convert = [&](const std::string &from, const std::string &to,
                     const Values &x) {
    std::string count = std::to_string(x.size()) + "x";
    return evaluateOp("graph.cast %0 : t0 to ty", count + to,
                      {{count + from, x}});
  };
  EXPECT_EQ(convert("f32", "i32", {2.9, -2.9}), (Values{2, -2}));
  EXPECT_EQ(convert("f32", "i1", {0.1, 0, kNan}), (Values{1, 0, 1}));
  EXPECT_EQ(convert("i32", "ui8", {-1, 300}), (Values{255, 44}));
  EXPECT_EQ(convert("ui64", "f32", {0x1p63}), (Values{0x1p63}));
  EXPECT_EQ(convert("f64", "f16", {65519, 65520}), (Values{65504, kInfinity}));
}

} // namespace tinh::test
