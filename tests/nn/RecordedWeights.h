//===- RecordedWeights.h - Weights that PyTorch has, too --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The twin of record_weights.py.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_NN_RECORDEDWEIGHTS_H
#define TINH_TESTS_NN_RECORDEDWEIGHTS_H

#include "tinh/nn.h"

namespace tinh::test {

/// float32 numbers from -0.5 to 0.5, times `factor`, by their places.
Tensor patternOf(const Shape &shape, int64_t salt, double factor = 1);

/// What a tensor of that name and number in a state dict is filled with.
Tensor weightsOf(const std::string &name, const Shape &shape, int64_t index);

} // namespace tinh::test

#endif // TINH_TESTS_NN_RECORDEDWEIGHTS_H
