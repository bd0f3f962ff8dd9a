//===- MovementCases.cpp - Gradients of ops that move elements ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

std::vector<GradientCase> movementCases() {
  return {
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
}

} // namespace tinh::test
