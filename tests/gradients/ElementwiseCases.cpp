//===- ElementwiseCases.cpp - Gradients, element by element ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

namespace {

GradientCase unary(const std::string &name, Trial trial = {}) {
  return {name, {"2x3"}, "2x3", "%y = graph." + name + " %0 : !t0", trial};
}

/// Broadcast both ways.
GradientCase binary(const std::string &name, Trial trial = {}) {
  return {name,
          {"2x1x3", "4x1"},
          "2x4x3",
          "%y = graph." + name + " %0, %1 : !t0, !t1 -> !y",
          trial};
}

} // namespace

std::vector<GradientCase> elementwiseCases() {
  Trial positive = {.low = 0.3, .high = 3}, inside = {.low = -0.9, .high = 0.9};
  Trial aboveOne = {.low = 1.2, .high = 3};
  return {
      unary("neg"),
      unary("abs"),
      unary("sign"),
      unary("relu"),
      unary("exp"),
      unary("log", positive),
      unary("sqrt", positive),
      unary("rsqrt", positive),
      unary("reciprocal", positive),
      unary("erf"),
      unary("tanh"),
      unary("sigmoid"),
      unary("softplus"),
      unary("softsign"),
      unary("floor", {.low = 0.1, .high = 0.9}),
      unary("ceil", {.low = 0.1, .high = 0.9}),
      unary("round", {.low = 0.6, .high = 1.4}),
      unary("sin"),
      unary("cos"),
      unary("tan", {.low = -1, .high = 1}),
      unary("asin", inside),
      unary("acos", inside),
      unary("atan"),
      unary("sinh"),
      unary("cosh"),
      unary("asinh"),
      unary("acosh", aboveOne),
      unary("atanh", inside),
      unary("gelu"),
      {"gelu_tanh",
       {"2x3"},
       "2x3",
       "%y = graph.gelu %0 tanh_approximation : !t0"},
      {"cast",
       {"2x3xf32"},
       "2x3",
       "%y = graph.cast %0 : !t0 to !y",
       {.step = 0.125, .tolerance = 1e-6}},
      {"dequantize",
       {"2x1"},
       "2x3",
       R"(
        %x = graph.constant dense<[[1, -2, 100], [-128, 127, 0]]> : tensor<2x3xi8>
        %z = graph.constant dense<[[3], [-100]]> : tensor<2x1xi8>
        %y = graph.dequantize %x scale %0 zero_point %z
            : tensor<2x3xi8>, !t0, tensor<2x1xi8> -> !y)"},
      binary("add"),
      binary("sub"),
      binary("mul"),
      binary("div", positive),
      binary("pow", positive),
      binary("max"),
      binary("min"),
      // Within one period.
      {"mod",
       {"3", "3"},
       "3",
       R"(
         %c = graph.constant dense<[5.0, -5.0, 2.0]> : tensor<3xf64>
         %a = graph.add %0, %c : !t0, !t0 -> !t0
         %d = graph.constant dense<[2.9, 2.9, -2.9]> : tensor<3xf64>
         %b = graph.add %1, %d : !t0, !t0 -> !t0
         %y = graph.mod %a, %b : !t0, !t0 -> !y)",
       {.low = -0.3, .high = 0.3}},
      {"fmod",
       {"3", "3"},
       "3",
       R"(
         %c = graph.constant dense<[5.0, -5.0, 5.0]> : tensor<3xf64>
         %a = graph.add %0, %c : !t0, !t0 -> !t0
         %d = graph.constant dense<[2.9, 2.9, -2.9]> : tensor<3xf64>
         %b = graph.add %1, %d : !t0, !t0 -> !t0
         %y = graph.fmod %a, %b : !t0, !t0 -> !y)",
       {.low = -0.3, .high = 0.3}},
      {"where", {"2x1", "3"}, "2x3", R"(
         %c = graph.constant dense<[true, false, true]> : tensor<3xi1>
         %y = graph.where %c, %0, %1 : tensor<3xi1>, !t0, !t1 -> !y)"},
      {"used_twice", {"2x3"}, "2x3", R"(
         %a = graph.exp %0 : !t0
         %b = graph.mul %a, %0 : !t0, !t0 -> !t0
         %y = graph.add %b, %a : !t0, !t0 -> !t0)"},
  };
}

//===----------------------------------------------------------------------===//
// What finite differences cannot see
//===----------------------------------------------------------------------===//

using ElementwiseGradients = GradientTest;

TEST_F(ElementwiseGradients, HalvesAtTies) {
  for (const char *op : {"max", "min"}) {
    auto found = gradients(binary(op), {Values(6, 1.5), Values(4, 1.5)},
                           Values(24, 1.0));
    EXPECT_EQ(found[0], Values(6, 2.0)) << op;
    EXPECT_EQ(found[1], Values(4, 3.0)) << op;
  }
}

TEST_F(ElementwiseGradients, AllOfItAtBounds) {
  for (const char *op : {"max", "min"}) {
    GradientCase bounded = binary(op);
    bounded.ops.insert(bounded.ops.rfind(" : "), " {bound}");
    auto found =
        gradients(bounded, {Values(6, 1.5), Values(4, 1.5)}, Values(24, 1.0));
    EXPECT_EQ(found[0], Values(6, 4.0)) << op;
    EXPECT_EQ(found[1], Values(4, 0.0)) << op;
  }
}

TEST_F(ElementwiseGradients, NothingAtKinks) {
  for (const char *op : {"abs", "relu", "sign"})
    EXPECT_EQ(gradients(unary(op), {Values(6, 0.0)}, Values(6, 1.0))[0],
              Values(6, 0.0))
        << op;
}

/// 0^2, 0^0 and (-1)^2 have gradients by a; the first two by b, too.
TEST_F(ElementwiseGradients, PowersOfZero) {
  GradientCase pow = {
      "pow", {"3", "3"}, "3", "%y = graph.pow %0, %1 : !t0, !t1 -> !y"};
  auto found = gradients(pow, {{0, 0, -1}, {2, 0, 2}}, {1, 1, 1});
  EXPECT_EQ(found[0], (Values{0, 0, -2}));
  EXPECT_EQ(found[1][0], 0);
  EXPECT_EQ(found[1][1], 0);
}

/// What was not chosen is infinitely steep.
TEST_F(ElementwiseGradients, WhereKeepsInfinitiesOut) {
  GradientCase root = {"root", {"2"}, "2", R"(
      %z = graph.constant dense<0.0> : tensor<f64>
      %c = graph.compare greater %0, %z : !t0, tensor<f64> -> tensor<2xi1>
      %y = graph.where %c, %0, %z : tensor<2xi1>, !t0, tensor<f64> -> !y)"};
  EXPECT_EQ(gradients(root, {{-1, 4}}, {INFINITY, 1})[0], (Values{0, 1}));
}

} // namespace tinh::test
