//===- NormalizationTest.cpp - Norms and attention of the reference -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

#include <cmath>

namespace tinh::test {

using Normalization = ReferenceTest;

TEST_F(Normalization, Softmax) {
  // log 1 and log 3 make weights of a quarter and three.
  Operand x{"2x2xf32", {0, std::log(3), 1000, 1000}};
  expectNear(evaluateOp("graph.softmax %0 axis 1 : t0", "2x2xf32", {x}),
             {0.25, 0.75, 0.5, 0.5});
  expectNear(evaluateOp("graph.log_softmax %0 axis 1 : t0", "2x2xf32", {x}),
             {std::log(0.25), std::log(0.75), std::log(0.5), std::log(0.5)});
  expectNear(evaluateOp("graph.softmax %0 axis 0 : t0", "2x1xf32",
                        {{"2x1xf32", {0, std::log(3)}}}),
             {0.25, 0.75});
}

TEST_F(Normalization, LayerNorm) {
  // Mean 2 and variance 1 in the first row, 0 and 4 in the second.
  Operand x{"2x2xf32", {1, 3, -2, 2}}, scale{"2xf32", {1, 10}},
      bias{"2xf32", {0, 1}};
  expectNear(evaluateOp("graph.layer_norm %0, %1, %2 axis 1 epsilon 0.0 "
                        ": t0, t1, t2",
                        "2x2xf32", {x, scale, bias}),
             {-1, 11, -1, 11});
  expectNear(evaluateOp("graph.layer_norm %0, %1 axis 1 epsilon 12.0 rms "
                        ": t0, t1",
                        "2x2xf32", {x, scale}),
             {1 / std::sqrt(17), 30 / std::sqrt(17), -0.5, 5});
}

TEST_F(Normalization, BatchNorm) {
  std::vector<Operand> operands = {{"1x2x2xf32", {1, 2, 3, 4}},
                                   {"2xf32", {1, 2}},
                                   {"2xf32", {0, 1}},
                                   {"2xf32", {1, 3}},
                                   {"2xf32", {0.25, 1}}};
  std::string op = "graph.batch_norm %0, %1, %2, %3, %4 epsilon 0.0 ";
  std::string types = " : t0, t1, t2, t3, t4";
  expectNear(evaluateOp(op + "channels_first" + types, "1x2x2xf32", operands),
             {0, 2, 1, 3});
  expectNear(evaluateOp(op + "channels_last" + types, "1x2x2xf32", operands),
             {0, -1, 4, 3});
}

TEST_F(Normalization, Lrn) {
  // size 2: each channel and the next one.
  Operand x{"1x3x1xf32", {1, 2, 3}};
  expectNear(evaluateOp("graph.lrn %0 size 2 alpha 2.0 beta 1.0 bias 1.0 "
                        "channels_first : t0",
                        "1x3x1xf32", {x}),
             {1.0 / 6, 2.0 / 14, 3.0 / 10});
}

TEST_F(Normalization, Attention) {
  // Scores 0 and log 3, so weights of a quarter and three.
  Operand q{"1x1x1x1xf32", {2}}, k{"1x1x2x1xf32", {0, std::log(3)}},
      v{"1x1x2x2xf32", {4, 0, 8, 4}};
  expectNear(evaluateOp("graph.attention %0, %1, %2 scale 0.5 : t0, t1, t2",
                        "1x1x1x2xf32", {q, k, v}),
             {7, 3});
  expectNear(evaluateOp("graph.attention %0, %1, %2, %3 scale 0.5 "
                        ": t0, t1, t2, t3",
                        "1x1x1x2xf32", {q, k, v, {"2xf32", {0, -kInfinity}}}),
             {4, 0});
}

TEST_F(Normalization, AttentionCausalAndGrouped) {
  // Two queries' heads share the key's one; the first of two queries sees the
  // first two of three keys.
  Operand q{"1x2x2x1xf32", {0, 0, 0, 0}}, k{"1x1x3x1xf32", {1, 2, 3}},
      v{"1x1x3x1xf32", {3, 6, 9}};
  expectNear(evaluateOp("graph.attention %0, %1, %2 scale 1.0 causal "
                        ": t0, t1, t2",
                        "1x2x2x1xf32", {q, k, v}),
             {4.5, 6, 4.5, 6});
}

} // namespace tinh::test
