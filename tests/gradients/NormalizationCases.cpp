//===- NormalizationCases.cpp - Softmax, norms and attention --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

namespace tinh::test {

std::vector<GradientCase> normalizationCases() {
  return {
      {"Softmax", {"3x4"}, "3x4", "%y = graph.softmax %0 axis 1 : !t0"},
      {"SoftmaxOfFirstAxis",
       {"3x4"},
       "3x4",
       "%y = graph.softmax %0 axis 0 : !t0"},
      {"LogSoftmax", {"3x4"}, "3x4", "%y = graph.log_softmax %0 axis 1 : !t0"},
      {"LayerNorm",
       {"3x4", "4", "4"},
       "3x4",
       "%y = graph.layer_norm %0, %1, %2 axis 1 epsilon 1.0e-2 : !t0, !t1, "
       "!t2"},
      {"LayerNormOfTwoDimensions",
       {"2x2x3", "2x1", "3"},
       "2x2x3",
       "%y = graph.layer_norm %0, %1, %2 axis 1 epsilon 1.0e-2 : !t0, !t1, "
       "!t2"},
      {"LayerNormWithoutBias",
       {"3x4", "4"},
       "3x4",
       "%y = graph.layer_norm %0, %1 axis 1 epsilon 1.0e-2 : !t0, !t1"},
      {"RmsNorm",
       {"3x4", "4", "4"},
       "3x4",
       "%y = graph.layer_norm %0, %1, %2 axis 1 epsilon 1.0e-2 rms : !t0, !t1, "
       "!t2"},
      {"BatchNorm",
       {"2x3x2", "3", "3", "3", "3"},
       "2x3x2",
       "%y = graph.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-1 channels_first "
       ": !t0, !t1, !t2, !t3, !t4",
       {.low = 0.1}},
      {"BatchNormChannelsLast",
       {"2x2x3", "3", "3", "3", "3"},
       "2x2x3",
       "%y = graph.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-1 channels_last "
       ": !t0, !t1, !t2, !t3, !t4",
       {.low = 0.1}},
      {"BatchNormOfMatrix",
       {"4x3", "3", "3", "3", "3"},
       "4x3",
       "%y = graph.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-1 channels_first "
       ": !t0, !t1, !t2, !t3, !t4",
       {.low = 0.1}},
      {"BatchNormOfBatch",
       {"2x3x2", "3", "3"},
       "2x3x2",
       "%m = graph.reduce mean %0 axes [0, 2] : !t0 -> !t1\n"
       "%v = graph.variance %0 axes [0, 2] : !t0 -> !t1\n"
       "%y = graph.batch_norm %0, %1, %2, %m, %v epsilon 1.0e-1 channels_first "
       ": !t0, !t1, !t2, !t1, !t1"},
      {"Lrn",
       {"1x5x2"},
       "1x5x2",
       "%y = graph.lrn %0 size 3 alpha 0.5 beta 0.75 bias 1.0 channels_first : "
       "!t0"},
      {"LrnOfEvenSize",
       {"2x5x1x2"},
       "2x5x1x2",
       "%y = graph.lrn %0 size 4 alpha 0.5 beta 0.75 bias 1.0 channels_first : "
       "!t0"},
      {"LrnChannelsLast",
       {"2x2x5"},
       "2x2x5",
       "%y = graph.lrn %0 size 4 alpha 0.5 beta 0.75 bias 1.0 channels_last : "
       "!t0"},
      {"Attention",
       {"1x2x3x2", "1x2x4x2", "1x2x4x3"},
       "1x2x3x3",
       "%y = graph.attention %0, %1, %2 scale 0.5 : !t0, !t1, !t2"},
      {"AttentionWithMask",
       {"2x1x2x2", "2x1x3x2", "2x1x3x2", "2x1x1x3"},
       "2x1x2x2",
       "%y = graph.attention %0, %1, %2, %3 scale 0.7 : !t0, !t1, !t2, !t3"},
      {"AttentionWithMaskOfMatrix",
       {"1x2x2x2", "1x2x3x2", "1x2x3x2", "2x3"},
       "1x2x2x2",
       "%y = graph.attention %0, %1, %2, %3 scale 0.7 : !t0, !t1, !t2, !t3"},
      {"AttentionCausal",
       {"1x1x3x2", "1x1x4x2", "1x1x4x2"},
       "1x1x3x2",
       "%y = graph.attention %0, %1, %2 scale 0.5 causal : !t0, !t1, !t2"},
      {"AttentionInGroups",
       {"1x4x2x2", "1x2x3x2", "1x2x3x1", "1x4x2x3"},
       "1x4x2x1",
       "%y = graph.attention %0, %1, %2, %3 scale 0.5 causal : !t0, !t1, !t2, "
       "!t3"},
  };
}

} // namespace tinh::test
