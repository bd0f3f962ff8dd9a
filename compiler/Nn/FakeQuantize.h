//===- FakeQuantize.h - The gradient of rounding to integers ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_FAKEQUANTIZE_H
#define TINH_NN_FAKEQUANTIZE_H

#include "compiler/Eager/Tensor/Support.h"
#include "tinh/tensor.h"

namespace tinh::nn {

/// How floats become integers q, which stand for (q - zero point) · scale. Both
/// are floats here, and broadcast to what is quantised.
struct Quantizer {
  Tensor scale, zeroPoint;
  double low, high; ///< The least and the largest integer.
};

struct QuantizedGradients {
  Tensor x, scale;
};

/// The gradients of (q - zero point) · scale by x and the scale, for `dy`, its
/// own: rounding is taken for the identity (straight-through), and what is
/// clipped passes nothing to x. That of the scale is the learned step size's
/// (Esser et al., 2020), without its factor.
QuantizedGradients straightThrough(const Tensor &x, const Quantizer &quantizer,
                                   const Tensor &dy, const eager::Call &call);

/// The factor of the scale's gradient, 1 / √(numbers that share a scale ·
/// high). It makes steps of scales as large as those of weights.
double learnedStepFactor(int64_t numbers, double high);

} // namespace tinh::nn

#endif // TINH_NN_FAKEQUANTIZE_H
