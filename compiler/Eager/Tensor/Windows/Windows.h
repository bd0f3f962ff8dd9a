//===- Windows.h - What convolutions and pools check ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_WINDOWS_WINDOWS_H
#define TINH_EAGER_TENSOR_WINDOWS_WINDOWS_H

#include "compiler/Eager/Tensor/Support.h"

namespace tinh::eager {

/// One number for each spatial dimension, from as many or from one.
Dims perDimension(const char *what, const IntArray &given, uint32_t rank,
                  int64_t lowest, const Call &call);

Window makeWindow(uint32_t rank, const Dims &kernel, const IntArray &stride,
                  const IntArray &padding, const IntArray &dilation,
                  const Call &call);

/// With the batch dimension that may have been left out.
Tensor withBatch(const Operand &x, uint32_t rank, const Call &call);

Tensor withoutBatch(const Tensor &out, const Operand &x, const Call &call);

void checkBias(const Tensor &bias, int64_t channels, DType dtype,
               const Call &call);

void checkWeights(const TensorImpl &x, const TensorImpl &weights, uint32_t rank,
                  int64_t groups, const Call &call);

Dims spatialSizes(const TensorImpl &weights);

Tensor convolve(const TensorImpl &x, const TensorImpl &weights,
                const Tensor &bias, const Window &window, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_WINDOWS_WINDOWS_H
