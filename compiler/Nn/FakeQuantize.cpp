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

#include "tinh/autograd.h"
#include "tinh/nn/quantization.h"
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
    return sub(Operand(bound, call.at), op(quantizer.zeroPoint));
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

double nn::learnedStepFactor(int64_t numbers, double high) {
  return 1 / std::sqrt(static_cast<double>(numbers) * high);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// A parameter in a shape that broadcasts to that of x.
static Tensor aligned(const Operand &parameter, const Tensor &x,
                      const tinh::FakeQuantizeOptions &options,
                      std::string_view what, const Call &call) {
  Tensor given = toTensor(parameter, call);
  Shape shape = given.shape(call.at), of = x.shape(call.at);
  if (!options.axis) {
    if (given.numel(call.at) != 1)
      fail(call, "the ", what, " has shape ", shape,
           "; without an axis it is one number");
    return given.reshape({}, call.at);
  }
  auto rank = static_cast<int64_t>(of.size());
  int64_t axis = *options.axis < 0 ? *options.axis + rank : *options.axis;
  if (axis < 0 || axis >= rank)
    fail(call, "there is no axis ", *options.axis, " in shape ", of);
  if (shape.size() != 1 || shape[0] != of[axis])
    fail(call, "the ", what, " has shape ", shape, "; axis ", axis,
         " of shape ", of, " has ", of[axis], " indices");
  std::vector<int64_t> broadcast(of.size(), 1);
  broadcast[axis] = of[axis];
  return given.reshape(Shape(broadcast), call.at);
}

/// (q - zero point) · scale
static Tensor quantised(const Tensor &x, const Quantizer &quantizer,
                        const Call &call) {
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor quotient = div(op(x), op(quantizer.scale));
  Tensor level = add(op(round(op(quotient))), op(quantizer.zeroPoint));
  level = clamp(op(level), quantizer.low, quantizer.high);
  level = sub(op(level), op(quantizer.zeroPoint));
  return mul(op(level), op(quantizer.scale));
}

Tensor tinh::fake_quantize(Operand x, Operand scale, Operand zeroPoint,
                           const FakeQuantizeOptions &options) {
  Call call{"fake_quantize", x.at};
  Tensor given = toTensor(x, call);
  if (options.quant_min >= options.quant_max)
    fail(call, "quant_min is ", options.quant_min, " and quant_max ",
         options.quant_max, "; the second one must be larger");
  if (!given.dtype(call.at).is_floating_point())
    fail(call, "x has dtype ", given.dtype(call.at),
         "; only floating-point numbers are quantised");
  Tensor by = aligned(scale, given, options, "scale", call);
  Quantizer quantizer{{},
                      aligned(zeroPoint, given, options, "zero point", call)
                          .to(given.dtype(call.at), call.at),
                      static_cast<double>(options.quant_min),
                      static_cast<double>(options.quant_max)};
  std::vector<Tensor> inputs{given, by};
  auto with = [quantizer](const Tensor &scale) {
    Quantizer complete = quantizer;
    complete.scale = scale;
    return complete;
  };
  return custom_gradient(
      [=](std::span<const Tensor> in) {
        return std::vector{quantised(in[0], with(in[1]), call)};
      },
      [=, factor = options.grad_factor](std::span<const Tensor> in,
                                        std::span<const Tensor>,
                                        std::span<const Tensor> dy) {
        auto found = straightThrough(in[0], with(in[1]), dy[0], call);
        return std::vector{found.x, mul(sameCall(found.scale, call), factor)};
      },
      inputs, call.at)[0];
}
