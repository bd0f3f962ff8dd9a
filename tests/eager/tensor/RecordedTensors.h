//===- RecordedTensors.h - Tensors that were recorded -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_TENSOR_RECORDEDTENSORS_H
#define TINH_TESTS_EAGER_TENSOR_RECORDEDTENSORS_H

#include "TensorTesting.h"

#include <nlohmann/json.hpp>

namespace tinh::test {

/// A tensor from its dtype, shape and data.
Tensor tensorOf(const nlohmann::json &array);

/// Compares dtype, shape and elements; these with `factor` times what single
/// operations of the dtype may be off, relative to the largest element.
void expectNear(const Tensor &found, const nlohmann::json &expected,
                double factor = 1);

} // namespace tinh::test

#endif // TINH_TESTS_EAGER_TENSOR_RECORDEDTENSORS_H
