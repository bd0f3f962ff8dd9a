//===- FunctionCases.cpp - Higher derivatives of functions ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

/// Functions of several ops, differentiated two or three times.
std::vector<GradientCase> functionCases() {
  Trial thrice = {.low = -1, .high = 1, .order = 3};
  Trial positive = {.low = 0.5, .high = 2, .order = 3};
  return {
      {"cubic",
       {"4"},
       "4",
       R"(
         %two = graph.constant dense<2.0> : tensor<f64>
         %square = graph.mul %0, %0 : !t0, !t0 -> !t0
         %cube = graph.mul %square, %0 : !t0, !t0 -> !t0
         %line = graph.mul %0, %two : !t0, tensor<f64> -> !t0
         %y = graph.sub %cube, %line : !t0, !t0 -> !y)",
       thrice},
      {"exp_of_sin",
       {"4"},
       "4",
       R"(
         %a = graph.sin %0 : !t0
         %y = graph.exp %a : !t0)",
       thrice},
      {"log_of_square",
       {"4"},
       "4",
       R"(
         %one = graph.constant dense<1.0> : tensor<f64>
         %a = graph.mul %0, %0 : !t0, !t0 -> !t0
         %b = graph.add %a, %one : !t0, tensor<f64> -> !t0
         %y = graph.log %b : !t0)",
       thrice},
      {"silu",
       {"4"},
       "4",
       R"(
         %a = graph.sigmoid %0 : !t0
         %y = graph.mul %a, %0 : !t0, !t0 -> !y)",
       thrice},
      {"angle",
       {"4", "4"},
       "4",
       R"(
         %a = graph.div %0, %1 : !t0, !t1 -> !t0
         %y = graph.atan %a : !t0)",
       positive},
      {"power_of_sum",
       {"2x3", "2"},
       "2",
       R"(
         %a = graph.reduce sum %0 axes [1] : !t0 -> !t1
         %y = graph.pow %a, %1 : !t1, !t1 -> !y)",
       {.low = 0.3, .high = 1, .order = 2}},
      {"rosenbrock",
       {"4"},
       "",
       R"(
         %one = graph.constant dense<1.0> : tensor<f64>
         %ten = graph.constant dense<10.0> : tensor<f64>
         %a = graph.slice %0 starts [0] sizes [3] steps [1] : !t0 -> tensor<3xf64>
         %b = graph.slice %0 starts [1] sizes [3] steps [1] : !t0 -> tensor<3xf64>
         %c = graph.mul %a, %a : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
         %d = graph.sub %b, %c : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
         %e = graph.mul %d, %ten : tensor<3xf64>, tensor<f64> -> tensor<3xf64>
         %f = graph.mul %e, %d : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
         %g = graph.sub %one, %a : tensor<f64>, tensor<3xf64> -> tensor<3xf64>
         %h = graph.mul %g, %g : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
         %i = graph.add %f, %h : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
         %y = graph.reduce sum %i axes [0] : tensor<3xf64> -> !y)",
       thrice},
      {"norm", {"2x3"}, "2", R"(
         %a = graph.mul %0, %0 : !t0, !t0 -> !t0
         %b = graph.reduce sum %a axes [1] : !t0 -> !y
         %y = graph.sqrt %b : !y)"},
      {"log_sum_exp", {"2x3"}, "2", R"(
         %m = graph.reduce max %0 axes [1] keepdims : !t0 -> tensor<2x1xf64>
         %a = graph.sub %0, %m : !t0, tensor<2x1xf64> -> !t0
         %b = graph.exp %a : !t0
         %c = graph.reduce sum %b axes [1] : !t0 -> !y
         %d = graph.log %c : !y
         %e = graph.reshape %m : tensor<2x1xf64> to !y
         %y = graph.add %d, %e : !y, !y -> !y)"},
      {"perceptron", {"3x2", "2x4", "4", "4x1"}, "3x1", R"(
         %a = graph.matmul %0, %1 : !t0, !t1 -> tensor<3x4xf64>
         %b = graph.add %a, %2 : tensor<3x4xf64>, !t2 -> tensor<3x4xf64>
         %c = graph.tanh %b : tensor<3x4xf64>
         %y = graph.matmul %c, %3 : tensor<3x4xf64>, !t3 -> !y)"},
      {"whitened", {"4x2"}, "4x2", R"(
         %e = graph.constant dense<0.1> : tensor<f64>
         %m = graph.reduce mean %0 axes [0] : !t0 -> tensor<2xf64>
         %v = graph.variance %0 axes [0] : !t0 -> tensor<2xf64>
         %a = graph.add %v, %e : tensor<2xf64>, tensor<f64> -> tensor<2xf64>
         %r = graph.rsqrt %a : tensor<2xf64>
         %d = graph.sub %0, %m : !t0, tensor<2xf64> -> !t0
         %y = graph.mul %d, %r : !t0, tensor<2xf64> -> !y)"},
  };
}

} // namespace tinh::test
