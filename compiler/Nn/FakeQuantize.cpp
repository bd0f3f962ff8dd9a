//===- FakeQuantize.cpp - The gradient of rounding to integers --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One formula for eager programs, traced functions and compiled training steps,
// whose integers are those of graph.quantize.
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/FakeQuantize.h"

#include "tinh/operations.h"

#include <cmath>

using namespace tinh;
using namespace tinh::eager;
using namespace tinh::nn;

/// `x`, summed to `shape`, which broadcasts to its own.
static Tensor summedTo(const Tensor &x, const Shape &shape, const Call &call) {
  Shape from = x.shape(call.at);
  if (from == shape)
    return x;
  Shape axes;
  size_t leading = from.size() - shape.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (i < leading || (shape[i - leading] == 1 && from[i] != 1))
      axes.push_back(static_cast<int64_t>(i));
  Tensor all = sum(sameCall(x, call), Axes(axes), /*keepdims=*/true);
  return all.reshape(shape, call.at);
}

QuantizedGradients nn::straightThrough(const Tensor &x,
                                       const Quantizer &quantizer,
                                       const Tensor &dy, const Call &call) {
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  auto limit = [&](double bound) {
    return sub(Operand(bound, call.at), op(quantizer.zero_point));
  };
  Tensor quotient = div(op(x), op(quantizer.scale));
  Tensor rounded = round(op(quotient));
  Tensor level = minimum(op(maximum(op(rounded), op(limit(quantizer.low)))),
                         op(limit(quantizer.high)));
  Tensor isInside = eq(op(rounded), op(level));
  Tensor apart = sub(op(level), op(where(op(isInside), op(quotient), 0)));
  return {
      where(op(isInside), op(dy), 0),
      summedTo(mul(op(dy), op(apart)), quantizer.scale.shape(call.at), call)};
}

double nn::learnedStepFactor(const Tensor &x, const Quantizer &quantizer,
                             const Call &call) {
  auto elements = static_cast<double>(x.numel(call.at));
  auto scales = static_cast<double>(quantizer.scale.numel(call.at));
  return 1 / std::sqrt(elements / scales * quantizer.high);
}
