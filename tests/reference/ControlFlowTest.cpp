//===- ControlFlowTest.cpp - Branches and loops of the reference ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

namespace tinh::test {

class ControlFlow : public ReferenceTest {
protected:
  /// Doubles %x until it is at least 100.
  Values doubled(double x);
  /// Running sums of the rows of %x [3, 2], for the scan that `head` begins;
  /// `result` is one of its two.
  Values sums(const std::string &head, const std::string &next, int result);
};

Values ControlFlow::doubled(double x) {
  return evaluate(R"((%x: tensor<f32>) -> tensor<f32> {
      %limit = graph.constant dense<100.0> : tensor<f32>
      %0 = graph.while (%a = %x) : (tensor<f32>) {
        %1 = graph.compare less %a, %limit : tensor<f32>, tensor<f32> -> tensor<i1>
        graph.condition %1
      } do (%a) {
        %1 = graph.add %a, %a : tensor<f32>, tensor<f32> -> tensor<f32>
        graph.yield %1 : tensor<f32>
      }
      return %0 : tensor<f32> })",
                  {{x}});
}

Values ControlFlow::sums(const std::string &head, const std::string &next,
                         int result) {
  std::string type = result ? "tensor<3x2xf32>" : "tensor<2xf32>";
  return evaluate("(%x: tensor<3x2xf32>, %n: tensor<i64>) -> " + type + R"( {
      %zero = graph.constant dense<0.0> : tensor<2xf32>
      %one = graph.constant dense<1> : tensor<i64>
      %true = graph.constant dense<true> : tensor<i1>
      %0:2 = graph.scan %i length 3 )" +
                      head + R"(carry (%a = %zero) over (%r = %x)
          : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
        %1 = graph.add %a, %r : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
        %2 = graph.compare less %i, %one : tensor<i64>, tensor<i64> -> tensor<i1>
        graph.yield )" +
                      next + R"(
      }
      return %0#)" + std::to_string(result) +
                      " : " + type + " }",
                  {{1, 2, 3, 4, 5, 6}, {2}});
}

TEST_F(ControlFlow, IfRunsOneBranch) {
  for (double c : {0, 1})
    EXPECT_EQ(evaluate(R"((%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = graph.neg %x : tensor<2xf32>
      %1:2 = graph.if %c : (tensor<2xf32>, tensor<2xf32>) {
        %3 = graph.add %0, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
        graph.yield %3, %x : tensor<2xf32>, tensor<2xf32>
      } else {
        graph.yield %x, %0 : tensor<2xf32>, tensor<2xf32>
      }
      %2 = graph.sub %1#0, %1#1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
      return %2 : tensor<2xf32> })",
                       {{c}, {1, 3}}),
              c != 0 ? (Values{-1, -3}) : (Values{2, 6}));
}

TEST_F(ControlFlow, WhileMayNotRunAtAll) {
  EXPECT_EQ(doubled(7), Values{112});
  EXPECT_EQ(doubled(100), Values{100});
}

TEST_F(ControlFlow, ScanRunsToItsEnd) {
  std::string next = "%1, %1 : tensor<2xf32>, tensor<2xf32>";
  EXPECT_EQ(sums("", next, 0), (Values{9, 12}));
  EXPECT_EQ(sums("", next, 1), (Values{1, 2, 4, 6, 9, 12}));
}

/// Rows that are not reached are zeros.
TEST_F(ControlFlow, ScanEndsEarlier) {
  std::string next = "%1, %1 : tensor<2xf32>, tensor<2xf32>";
  EXPECT_EQ(sums("trip_count %n ", next, 0), (Values{4, 6}));
  EXPECT_EQ(sums("trip_count %n ", next, 1), (Values{1, 2, 4, 6, 0, 0}));
  // After iteration 1 the condition does not hold.
  next = "%2, %1, %1 : tensor<i1>, tensor<2xf32>, tensor<2xf32>";
  EXPECT_EQ(sums("while %true ", next, 0), (Values{4, 6}));
  EXPECT_EQ(sums("while %true ", next, 1), (Values{1, 2, 4, 6, 0, 0}));
  EXPECT_EQ(sums("trip_count %one while %true ", next, 0), (Values{1, 2}));
}

/// Each iteration sees the values from above, and constants in files.
TEST_F(ControlFlow, OpsWithGradientsOfTheirOwn) {
  EXPECT_EQ(evaluate(R"((%x: tensor<2xf32>) -> tensor<2xf32> {
      %d = graph.dropout %x ratio 0.5 : tensor<2xf32>
      %0 = graph.stop_gradient %d : tensor<2xf32>
      %1:2 = graph.custom_gradient (%0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      ^bb0(%a: tensor<2xf32>):
        %3 = graph.add %a, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
        graph.yield %3, %a : tensor<2xf32>, tensor<2xf32>
      } gradient {
      ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>,
           %db: tensor<2xf32>, %dc: tensor<2xf32>):
        graph.yield %dc : tensor<2xf32>
      }
      %2 = graph.mul %1#0, %1#1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
      return %2 : tensor<2xf32> })",
                     {{1, 3}}),
            (Values{2, 18}));
}

TEST_F(ControlFlow, NestedLoops) {
  EXPECT_EQ(evaluate(R"((%x: tensor<2xf32>) -> tensor<2x3x2xf32> {
      %0 = graph.constant #graph.external<"file", 4, 8> : tensor<2xf32>
      %1 = graph.scan %i length 2 : () -> (tensor<2x3x2xf32>) {
        %2 = graph.cast %i : tensor<i64> to tensor<f32>
        %3 = graph.scan %j length 3 : () -> (tensor<3x2xf32>) {
          %4 = graph.cast %j : tensor<i64> to tensor<f32>
          %5 = graph.mul %2, %0 : tensor<f32>, tensor<2xf32> -> tensor<2xf32>
          %6 = graph.mul %4, %x : tensor<f32>, tensor<2xf32> -> tensor<2xf32>
          %7 = graph.add %5, %6 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
          graph.yield %7 : tensor<2xf32>
        }
        graph.yield %3 : tensor<3x2xf32>
      }
      return %1 : tensor<2x3x2xf32> })",
                     {{1, 2}}),
            (Values{0, 0, 1, 2, 2, 4, 20, 30, 21, 32, 22, 34}));
}

} // namespace tinh::test
