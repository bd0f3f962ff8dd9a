//===- ContractionCases.cpp - Products and convolutions -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

std::vector<GradientCase> contractionCases() {
  return {
      {"Matmul",
       {"2x3", "3x4"},
       "2x4",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulTransposedLeft",
       {"3x2", "3x4"},
       "2x4",
       "%y = graph.matmul %0, %1 transpose_a : !t0, !t1 -> !y"},
      {"MatmulTransposedRight",
       {"2x3", "4x3"},
       "2x4",
       "%y = graph.matmul %0, %1 transpose_b : !t0, !t1 -> !y"},
      {"MatmulTransposedBoth",
       {"3x2", "4x3"},
       "2x4",
       "%y = graph.matmul %0, %1 transpose_a transpose_b : !t0, !t1 -> !y"},
      {"MatmulOfVectors",
       {"3", "3"},
       "",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulOfRow",
       {"3", "3x2"},
       "2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulOfRowAndStack",
       {"3", "2x3x2"},
       "2x2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulOfRowTransposedRight",
       {"3", "2x2x3"},
       "2x2",
       "%y = graph.matmul %0, %1 transpose_b : !t0, !t1 -> !y"},
      {"MatmulOfColumn",
       {"2x3", "3"},
       "2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulOfStackAndColumn",
       {"2x2x3", "3"},
       "2x2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulOfColumnTransposedLeft",
       {"2x3x2", "3"},
       "2x2",
       "%y = graph.matmul %0, %1 transpose_a : !t0, !t1 -> !y"},
      {"MatmulOfStacks",
       {"2x2x3", "2x3x2"},
       "2x2x2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulOfStackAndMatrix",
       {"2x2x3", "3x2"},
       "2x2x2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulOfStackAndMatrixTransposed",
       {"2x3x2", "2x3"},
       "2x2x2",
       "%y = graph.matmul %0, %1 transpose_a transpose_b : !t0, !t1 -> !y"},
      {"MatmulOfMatrixAndStack",
       {"2x3", "2x3x2"},
       "2x2x2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulBroadcasts",
       {"2x1x2x3", "3x3x2"},
       "2x3x2x2",
       "%y = graph.matmul %0, %1 : !t0, !t1 -> !y"},
      {"MatmulBroadcastsTransposed",
       {"2x1x3x2", "3x2x3"},
       "2x3x2x2",
       "%y = graph.matmul %0, %1 transpose_a transpose_b : !t0, !t1 -> !y"},
      {"Conv",
       {"1x2x4", "2x2x3"},
       "1x2x4",
       "%y = graph.conv %0, %1 strides [1] "
       "padding [1, 1] dilations [1] groups 1 channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvStridedDilatedChannelsLast",
       {"2x7x2", "3x2x2"},
       "2x3x3",
       "%y = graph.conv %0, %1 strides [2] "
       "padding [1, 0] dilations [2] groups 1 channels_last "
       ": !t0, !t1 -> !y"},
      {"ConvLeavesElementsOut",
       {"1x1x6", "1x1x2"},
       "1x1x2",
       "%y = graph.conv %0, %1 strides [3] "
       "padding [0, 0] dilations [1] groups 1 channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvOfPaddingAlone",
       {"1x1x2", "1x1x1"},
       "1x1x5",
       "%y = graph.conv %0, %1 strides [1] "
       "padding [2, 1] dilations [1] groups 1 channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvInGroups",
       {"1x4x3", "2x2x2"},
       "1x2x2",
       "%y = graph.conv %0, %1 strides [1] "
       "padding [0, 0] dilations [1] groups 2 channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvDepthwise2d",
       {"1x3x3x2", "4x1x2x2"},
       "1x2x3x4",
       "%y = graph.conv %0, %1 strides [2, 1] "
       "padding [1, 0, 0, 1] dilations [1, 1] groups 2 channels_last "
       ": !t0, !t1 -> !y"},
      {"Conv2d",
       {"1x2x3x3", "2x2x2x3"},
       "1x2x2x2",
       "%y = graph.conv %0, %1 strides [1, 2] "
       "padding [0, 1, 0, 1] dilations [1, 1] groups 1 channels_first "
       ": !t0, !t1 -> !y"},
      {"Conv3d",
       {"1x1x2x3x2", "1x1x2x2x1"},
       "1x1x1x2x2",
       "%y = graph.conv %0, %1 strides [1, 1, 1] "
       "padding [0, 0, 0, 0, 0, 0] dilations [1, 1, 1] groups 1 channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvTranspose",
       {"1x2x3", "2x2x3"},
       "1x2x3",
       "%y = graph.conv_transpose %0, %1 strides [1] "
       "padding [1, 1] output_padding [0] dilations [1] groups 1 "
       "channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvTransposeStrided",
       {"1x2x3", "2x1x3"},
       "1x1x6",
       "%y = graph.conv_transpose %0, %1 strides [2] "
       "padding [1, 1] output_padding [1] dilations [1] groups 1 "
       "channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvTransposeWithRoomForMore",
       {"1x1x2", "1x1x2"},
       "1x1x9",
       "%y = graph.conv_transpose %0, %1 strides [2] "
       "padding [1, 0] output_padding [5] dilations [2] groups 1 "
       "channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvTransposeCutsRoom",
       {"1x1x2", "1x1x3"},
       "1x1x5",
       "%y = graph.conv_transpose %0, %1 strides [2] "
       "padding [0, 2] output_padding [2] dilations [1] groups 1 "
       "channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvTransposeInGroups2d",
       {"1x2x2x4", "4x1x2x2"},
       "1x3x4x2",
       "%y = graph.conv_transpose %0, %1 strides [1, 2] "
       "padding [0, 0, 0, 0] output_padding [0, 0] dilations [1, 1] groups 2 "
       "channels_last "
       ": !t0, !t1 -> !y"},
      {"ConvWeightGradient",
       {"1x2x4", "1x2x4"},
       "2x2x3",
       "%y = graph.conv_weight_gradient %0, %1 kernel [3] strides [1] "
       "padding [1, 1] dilations [1] groups 1 channels_first "
       ": !t0, !t1 -> !y"},
      {"ConvWeightGradientStridedDilatedChannelsLast",
       {"2x7x2", "2x3x3"},
       "3x2x2",
       "%y = graph.conv_weight_gradient %0, %1 kernel [2] strides [2] "
       "padding [1, 0] dilations [2] groups 1 channels_last "
       ": !t0, !t1 -> !y"},
      {"ConvWeightGradientInGroups2d",
       {"1x3x3x4", "1x2x2x2"},
       "2x2x2x2",
       "%y = graph.conv_weight_gradient %0, %1 kernel [2, 2] strides [1, 1] "
       "padding [0, 0, 0, 0] dilations [1, 1] groups 2 channels_last "
       ": !t0, !t1 -> !y"},
  };
}

} // namespace tinh::test
