//===- ControlFlowCases.cpp - Gradients of branches and loops -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

namespace {

/// A condition that random inputs make true and false.
const std::string kCondition = R"(
  %s = graph.reduce sum %0 axes [0] : !t0 -> tensor<f64>
  %z = graph.constant dense<0.0> : tensor<f64>
  %c = graph.compare less %s, %z : tensor<f64>, tensor<f64> -> tensor<i1>
)";

std::vector<GradientCase> branchCases() {
  return {
      {"if_captured", {"4", "4"}, "4", kCondition + R"(
  %y = graph.if %c : (!y) {
    %a = graph.exp %0 : !t0
    %b = graph.mul %a, %1 : !t0, !t1 -> !y
    graph.yield %b : !y
  } else {
    %a = graph.mul %0, %0 : !t0, !t0 -> !t0
    %b = graph.tanh %a : !t0
    graph.yield %b : !y
  })"},
      {"if_results", {"3", "3"}, "3", kCondition + R"(
  %r:3 = graph.if %c : (!y, tensor<3xi1>, !y) {
    %a = graph.mul %0, %1 : !t0, !t1 -> !y
    %k = graph.compare less %0, %1 : !t0, !t1 -> tensor<3xi1>
    graph.yield %a, %k, %1 : !y, tensor<3xi1>, !y
  } else {
    %a = graph.sin %0 : !y
    %k = graph.compare less %1, %0 : !t0, !t1 -> tensor<3xi1>
    graph.yield %0, %k, %a : !y, tensor<3xi1>, !y
  }
  %w = graph.where %r#1, %r#0, %r#2 : tensor<3xi1>, !y, !y -> !y
  %y = graph.mul %w, %r#2 : !y, !y -> !y)"},
      {"if_in_if", {"2", "2"}, "2", kCondition + R"(
  %y = graph.if %c : (!y) {
    %a = graph.exp %1 : !y
    %k = graph.compare less %0, %1 : !t0, !t1 -> tensor<2xi1>
    %all = graph.reduce min %k axes [0] : tensor<2xi1> -> tensor<i1>
    %i = graph.if %all : (!y) {
      %b = graph.mul %a, %0 : !y, !y -> !y
      graph.yield %b : !y
    } else {
      %b = graph.sin %a : !y
      graph.yield %b : !y
    }
    %d = graph.mul %i, %a : !y, !y -> !y
    graph.yield %d : !y
  } else {
    graph.yield %1 : !y
  })"},
  };
}

std::vector<GradientCase> scanCases() {
  return {
      {"scan_rnn",
       {"3x2x4", "2x4", "4x4"},
       "2x4",
       R"(
  %h, %hs = graph.scan %i length 3 carry (%a = %1) over (%x = %0)
      : (!t1, !t0) -> (!t1, !t0) {
    %p = graph.matmul %a, %2 : !t1, !t2 -> !t1
    %q = graph.add %p, %x : !t1, !t1 -> !t1
    %n = graph.tanh %q : !t1
    %o = graph.sin %n : !t1
    graph.yield %n, %o : !t1, !t1
  }
  %m = graph.reduce sum %hs axes [0] : !t0 -> !t1
  %y = graph.mul %m, %h : !t1, !t1 -> !y)",
       {.low = -1, .high = 1}},
      // The carried count is an integer, the last carried value matters to no
      // result; the index counts.
      {"scan_carried",
       {"3", "3"},
       "3",
       R"(
  %n0 = graph.constant dense<1> : tensor<i64>
  %r:3 = graph.scan %i length 4 carry (%a = %0, %n = %n0, %b = %1)
      : (!t0, tensor<i64>, !t1) -> (!t0, tensor<i64>, !t1) {
    %k = graph.add %n, %i : tensor<i64>, tensor<i64> -> tensor<i64>
    %f = graph.cast %k : tensor<i64> to tensor<f64>
    %g = graph.sin %a : !t0
    %h = graph.mul %g, %f : !t0, tensor<f64> -> !t0
    %m = graph.mul %h, %1 : !t0, !t1 -> !t0
    %e = graph.mul %b, %a : !t1, !t0 -> !t1
    graph.yield %m, %k, %e : !t0, tensor<i64>, !t1
  }
  %y = graph.add %r#0, %1 : !t0, !t1 -> !y)"},
      {"scan_rows_only",
       {"3x2", "2"},
       "3x2",
       R"(
  %y = graph.scan %i length 3 over (%x = %0) : (!t0) -> (!t0) {
    %p = graph.mul %x, %1 : !t1, !t1 -> !t1
    %q = graph.mul %p, %x : !t1, !t1 -> !t1
    graph.yield %q : !t1
  })"},
      {"scan_counted",
       {"5x2", "2"},
       "5x2",
       R"(
  %n = graph.constant dense<3> : tensor<i64>
  %h, %hs = graph.scan %i length 5 trip_count %n carry (%a = %1) over (%x = %0)
      : (!t1, !t0) -> (!t1, !t0) {
    %p = graph.mul %a, %x : !t1, !t1 -> !t1
    %q = graph.sin %p : !t1
    graph.yield %q, %p : !t1, !t1
  }
  %y = graph.mul %hs, %h : !t0, !t1 -> !y)"},
      {"scan_until",
       {"6x2", "2"},
       "6x2",
       R"(
  %limit = graph.constant dense<3> : tensor<i64>
  %true = graph.constant dense<true> : tensor<i1>
  %h, %hs = graph.scan %i length 6 while %true carry (%a = %1) over (%x = %0)
      : (!t1, !t0) -> (!t1, !t0) {
    %go = graph.compare less %i, %limit : tensor<i64>, tensor<i64> -> tensor<i1>
    %p = graph.mul %a, %x : !t1, !t1 -> !t1
    %q = graph.add %p, %1 : !t1, !t1 -> !t1
    graph.yield %go, %q, %p : tensor<i1>, !t1, !t1
  }
  %y = graph.add %hs, %h : !t0, !t1 -> !y)"},
      {"scan_in_scan",
       {"2x3x2", "2"},
       "2",
       R"(
  %h = graph.scan %i length 2 carry (%a = %1) over (%x = %0)
      : (!t1, !t0) -> (!t1) {
    %j = graph.scan %k length 3 carry (%b = %a) over (%row = %x)
        : (!t1, tensor<3x2xf64>) -> (!t1) {
      %p = graph.mul %b, %row : !t1, !t1 -> !t1
      %q = graph.add %p, %a : !t1, !t1 -> !t1
      %t = graph.tanh %q : !t1
      graph.yield %t : !t1
    }
    graph.yield %j : !t1
  }
  %y = graph.mul %h, %1 : !t1, !t1 -> !y)"},
      {"if_in_scan",
       {"4x2", "2"},
       "4x2",
       R"(
  %zero = graph.constant dense<0.0> : tensor<f64>
  %h, %y = graph.scan %i length 4 carry (%a = %1) over (%x = %0)
      : (!t1, !t0) -> (!t1, !t0) {
    %s = graph.reduce sum %x axes [0] : !t1 -> tensor<f64>
    %c = graph.compare less %s, %zero : tensor<f64>, tensor<f64> -> tensor<i1>
    %n = graph.if %c : (!t1) {
      %p = graph.mul %a, %x : !t1, !t1 -> !t1
      graph.yield %p : !t1
    } else {
      %p = graph.add %a, %x : !t1, !t1 -> !t1
      %q = graph.sin %p : !t1
      graph.yield %q : !t1
    }
    %o = graph.mul %n, %1 : !t1, !t1 -> !t1
    graph.yield %n, %o : !t1, !t1
  })"},
      {"scan_in_if", {"3", "2x3"}, "3", kCondition + R"(
  %y = graph.if %c : (!y) {
    %h = graph.scan %i length 2 carry (%a = %0) over (%x = %1)
        : (!t0, !t1) -> (!t0) {
      %p = graph.mul %a, %x : !t0, !t0 -> !t0
      graph.yield %p : !t0
    }
    graph.yield %h : !y
  } else {
    %p = graph.mul %0, %0 : !t0, !t0 -> !t0
    graph.yield %p : !y
  })"},
  };
}

std::vector<GradientCase> whileCases() {
  return {
      {"while_counter",
       {"3", "3"},
       "3",
       R"(
  %first = graph.constant dense<0> : tensor<i64>
  %step = graph.constant dense<2> : tensor<i64>
  %end = graph.constant dense<5> : tensor<i64>
  %n, %y = graph.while (%i = %first, %a = %0) : (tensor<i64>, !t0) {
    %go = graph.compare less %i, %end : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.condition %go
  } do (%i, %a) {
    %j = graph.add %i, %step : tensor<i64>, tensor<i64> -> tensor<i64>
    %p = graph.mul %a, %1 : !t0, !t1 -> !t0
    %q = graph.sin %p : !t0
    graph.yield %j, %q : tensor<i64>, !t0
  })"},
      // Ends when the sum is large, or after six iterations, counted down.
      {"while_either",
       {"2", "2"},
       "2",
       R"(
  %first = graph.constant dense<6> : tensor<i32>
  %end = graph.constant dense<0> : tensor<i32>
  %one = graph.constant dense<1> : tensor<i32>
  %most = graph.constant dense<1.0> : tensor<f64>
  %y, %n = graph.while (%a = %0, %i = %first) : (!t0, tensor<i32>) {
    %more = graph.compare less %end, %i : tensor<i32>, tensor<i32> -> tensor<i1>
    %s = graph.reduce sum %a axes [0] : !t0 -> tensor<f64>
    %small = graph.compare less %s, %most : tensor<f64>, tensor<f64> -> tensor<i1>
    %go = graph.and %small, %more : tensor<i1>, tensor<i1> -> tensor<i1>
    graph.condition %go
  } do (%a, %i) {
    %q = graph.exp %1 : !t1
    %p = graph.add %a, %q : !t0, !t1 -> !t0
    %j = graph.sub %i, %one : tensor<i32>, tensor<i32> -> tensor<i32>
    graph.yield %p, %j : !t0, tensor<i32>
  })"},
  };
}

} // namespace

std::vector<GradientCase> controlFlowCases() {
  std::vector<GradientCase> cases = branchCases();
  llvm::append_range(cases, scanCases());
  llvm::append_range(cases, whileCases());
  // Its gradient is the one of x · x · c, written down.
  cases.push_back({"custom_gradient",
                   {"3", "3"},
                   "3",
                   R"(
  %y = graph.custom_gradient (%0) : (!t0) -> !y {
  ^bb0(%a: !t0):
    %p = graph.mul %a, %a : !t0, !t0 -> !t0
    graph.yield %p : !t0
  } gradient {
  ^bb0(%a: !t0, %b: !t0, %db: !t0):
    %p = graph.mul %a, %db : !t0, !t0 -> !t0
    %q = graph.add %p, %p : !t0, !t0 -> !t0
    graph.yield %q : !t0
  })"});
  return cases;
}

using ControlFlowGradients = GradientTest;

TEST_F(ControlFlowGradients, CustomGradientsAreTaken) {
  GradientCase straightThrough = {"straight_through",
                                  {"3", ""},
                                  "3",
                                  R"(
  %y = graph.custom_gradient (%0) : (!t0) -> !y {
  ^bb0(%a: !t0):
    %p = graph.round %a : !t0
    %q = graph.mul %p, %1 : !t0, !t1 -> !t0
    graph.yield %q : !t0
  } gradient {
  ^bb0(%a: !t0, %b: !t0, %db: !t0):
    %p = graph.mul %b, %db : !t0, !t0 -> !t0
    graph.yield %p : !t0
  })"};
  auto found = gradients(straightThrough, {{0.4, 1.6, 3}, {10}}, {1, 2, 3});
  EXPECT_EQ(found[0], (Values{0, 40, 90}));
  EXPECT_EQ(found[1], (Values{0})); // Read from above: a constant.
}

TEST_F(ControlFlowGradients, StopGradient) {
  GradientCase stopped = {"stopped",
                          {"2"},
                          "2",
                          R"(
  %a = graph.stop_gradient %0 : !t0
  %y = graph.mul %a, %0 : !t0, !t0 -> !y)"};
  EXPECT_EQ(gradients(stopped, {{3, 5}}, {1, 1})[0], (Values{3, 5}));
}

TEST_F(ControlFlowGradients, UnboundedLoopsAreRefused) {
  auto module = parse(R"((%x: tensor<f64>, %end: tensor<i64>) -> tensor<f64> {
    %first = graph.constant dense<0> : tensor<i64>
    %one = graph.constant dense<1> : tensor<i64>
    %n, %y = graph.while (%i = %first, %a = %x) : (tensor<i64>, tensor<f64>) {
      %go = graph.compare less %i, %end : tensor<i64>, tensor<i64> -> tensor<i1>
      graph.condition %go
    } do (%i, %a) {
      %j = graph.add %i, %one : tensor<i64>, tensor<i64> -> tensor<i64>
      %p = graph.mul %a, %a : tensor<f64>, tensor<f64> -> tensor<f64>
      graph.yield %j, %p : tensor<i64>, tensor<f64>
    }
    return %y : tensor<f64>
  })");
  EXPECT_FALSE(differentiate(*module->getOps<mlir::func::FuncOp>().begin()));
  EXPECT_NE(
      message.find("graph.while cannot be differentiated: nothing bounds"),
      std::string::npos)
      << message;
  EXPECT_NE(message.find("use a scan"), std::string::npos) << message;
}

} // namespace tinh::test
