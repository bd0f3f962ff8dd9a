//===- PoolingCases.cpp - Pools -------------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

std::vector<GradientCase> poolingCases() {
  return {
      {"MaxPool",
       {"1x2x6"},
       "1x2x3",
       "%y = graph.max_pool %0 kernel [2] strides [2] padding [0, 0] "
       "dilations [1] channels_first : !t0 -> !y"},
      {"MaxPoolOverlapping",
       {"2x1x5"},
       "2x1x5",
       "%y = graph.max_pool %0 kernel [3] strides [1] padding [1, 1] "
       "dilations [1] channels_first : !t0 -> !y"},
      {"MaxPoolDilatedChannelsLast",
       {"1x7x2"},
       "1x3x2",
       "%y = graph.max_pool %0 kernel [2] strides [2] padding [1, 0] "
       "dilations [3] channels_last : !t0 -> !y"},
      {"MaxPool2d",
       {"1x2x4x5"},
       "1x2x2x3",
       "%y = graph.max_pool %0 kernel [3, 3] strides [2, 2] padding [1, 1, 1, "
       "1] "
       "dilations [1, 1] channels_first : !t0 -> !y"},
      {"MaxPool2dChannelsLast",
       {"1x4x5x2"},
       "1x2x3x2",
       "%y = graph.max_pool %0 kernel [3, 3] strides [2, 2] padding [1, 1, 1, "
       "1] "
       "dilations [1, 1] channels_last : !t0 -> !y"},
      {"MaxPoolGradient",
       {"2x2x5", "2x2x3"},
       "2x2x5",
       "%y = graph.max_pool_gradient %0, %1 kernel [3] strides [2] "
       "padding [1, 1] dilations [1] channels_first : !t0, !t1"},
      {"MaxPoolGradient2dChannelsLast",
       {"1x4x5x2", "1x2x3x2"},
       "1x4x5x2",
       "%y = graph.max_pool_gradient %0, %1 kernel [3, 3] strides [2, 2] "
       "padding [1, 1, 1, 1] dilations [1, 1] channels_last : !t0, !t1"},
      {"AvgPoolOfTiles",
       {"1x2x6"},
       "1x2x3",
       "%y = graph.avg_pool %0 kernel [2] strides [2] padding [0, 0] "
       "dilations [1] channels_first : !t0 -> !y"},
      {"AvgPoolOfAll",
       {"2x2x3x2"},
       "2x2x1x1",
       "%y = graph.avg_pool %0 kernel [3, 2] strides [1, 1] padding [0, 0, 0, "
       "0] "
       "dilations [1, 1] channels_first : !t0 -> !y"},
      {"AvgPoolOfAllChannelsLast",
       {"2x3x2x2"},
       "2x1x1x2",
       "%y = graph.avg_pool %0 kernel [3, 2] strides [5, 5] padding [0, 0, 0, "
       "0] "
       "dilations [1, 1] channels_last : !t0 -> !y"},
      {"AvgPoolLeavesElementsOut",
       {"1x1x7"},
       "1x1x3",
       "%y = graph.avg_pool %0 kernel [2] strides [2] padding [0, 0] "
       "dilations [1] channels_first : !t0 -> !y"},
      {"AvgPoolOverlapping",
       {"1x2x5"},
       "1x2x5",
       "%y = graph.avg_pool %0 kernel [3] strides [1] padding [1, 1] "
       "dilations [1] channels_first : !t0 -> !y"},
      {"AvgPoolCountsPadding",
       {"1x2x5"},
       "1x2x5",
       "%y = graph.avg_pool %0 kernel [3] strides [1] padding [1, 1] "
       "dilations [1] channels_first count_include_pad : !t0 -> !y"},
      {"AvgPoolCeil",
       {"1x1x4"},
       "1x1x3",
       "%y = graph.avg_pool %0 kernel [2] strides [2] padding [1, 1] "
       "dilations [1] channels_first count_include_pad {ceil_padding = "
       "array<i64: 1>} : !t0 -> !y"},
      {"AvgPoolDilatedChannelsLast",
       {"1x7x2"},
       "1x3x2",
       "%y = graph.avg_pool %0 kernel [3] strides [2] padding [1, 1] "
       "dilations [2] channels_last : !t0 -> !y"},
      {"AvgPool2d",
       {"1x2x4x5"},
       "1x2x2x3",
       "%y = graph.avg_pool %0 kernel [3, 3] strides [2, 2] padding [1, 1, 1, "
       "1] "
       "dilations [1, 1] channels_first : !t0 -> !y"},
  };
}

} // namespace tinh::test
