//===- Quantization.cpp - Layers that are trained for integers --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What changes from step to step are buffers, written by operations alone, so
// that a traced function observes as an eager program does.
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/quantization.h"

#include "compiler/Nn/FakeQuantize.h"
#include "tinh/autograd.h"
#include "tinh/random.h"

#include <algorithm>
#include <limits>

namespace tinh::nn {

/// Scales are not less, as in PyTorch.
static constexpr double kLeastScale = std::numeric_limits<float>::epsilon();

FakeQuantize::FakeQuantize(const FakeQuantizeOptions &options)
    : options(options) {
  if (!(options.averaging_constant > 0 && options.averaging_constant <= 1))
    throw Error(TINH_INVALID_ARGUMENT,
                "FakeQuantize: averaging_constant is " +
                    std::to_string(options.averaging_constant) +
                    "; it must be above 0 and at most 1");
  Shape shape = options.axis ? Shape{inferred} : Shape{};
  if (options.learn_scale)
    register_parameter("scale", scale, shape, init::ones());
  else
    register_buffer("scale", scale, shape, 1);
  register_buffer("zero_point", zero_point, shape, 0);
  register_buffer("min_val", min_val, shape, 0);
  register_buffer("max_val", max_val, shape, 0);
  register_buffer("num_batches_observed", num_batches_observed, {}, 0, int64);
}

/// A dimension of `rank`, which may be counted from the end.
static int64_t dimension(int64_t axis, size_t rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

void FakeQuantize::infer(const Shape &input) {
  if (!options.axis)
    return;
  int64_t axis = dimension(*options.axis, input.size());
  if (axis < 0 || axis >= static_cast<int64_t>(input.size()))
    return; // fake_quantize says that there is no such axis.
  for (Tensor *tensor : {&scale, &zero_point, &min_val, &max_val})
    set_shape(*tensor, input[axis]);
}

void FakeQuantize::observe(const Tensor &x) {
  std::vector<int64_t> others;
  int64_t kept = options.axis ? dimension(*options.axis, x.dim()) : -1;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i != kept)
      others.push_back(i);
  auto range = [&](auto reduce) {
    return others.empty() ? x : reduce(x, Axes(others));
  };
  Tensor low = range([](auto &x, auto axes) { return min(x, axes); });
  Tensor high = range([](auto &x, auto axes) { return max(x, axes); });
  // The first batch counts in full.
  Tensor rate =
      where(num_batches_observed == 0, 1.0, options.averaging_constant);
  rate = rate.to(min_val.dtype());
  min_val.copy_(lerp(min_val, minimum(low, 0), rate));
  max_val.copy_(lerp(max_val, maximum(high, 0), rate));
  num_batches_observed.add_(1);
  setScale();
}

void FakeQuantize::setScale() {
  auto low = static_cast<double>(options.quant_min),
       high = static_cast<double>(options.quant_max);
  if (options.symmetric) {
    Tensor magnitude = maximum(-min_val, max_val);
    scale.copy_(maximum(magnitude / high, kLeastScale));
    return;
  }
  scale.copy_(maximum((max_val - min_val) / (high - low), kLeastScale));
  zero_point.copy_(clamp(low - round(min_val / scale), low, high));
}

Tensor FakeQuantize::forward(const Tensor &x) {
  if (observing && is_training()) {
    NoGrad guard;
    observe(x);
  }
  bool isLearned = options.learn_scale && !observing;
  // Copies: the next call may change the buffers before gradients are asked.
  Tensor by = isLearned ? maximum(scale, kLeastScale) : detach(scale).clone();
  tinh::FakeQuantizeOptions how{options.quant_min, options.quant_max,
                                options.axis, 1};
  if (isLearned)
    how.grad_factor = learnedStepFactor(x.numel() / scale.numel(),
                                        static_cast<double>(options.quant_max));
  return fake_quantize(x, by, zero_point.clone(), how);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

void QuantizableLayer::quantize(Handle<FakeQuantize> input,
                                Handle<FakeQuantize> weight) {
  inputQuantizer = register_module("input_fake_quant", std::move(input));
  weightQuantizer = register_module("weight_fake_quant", std::move(weight));
}

Tensor QuantizableLayer::quantized_input(const Tensor &x) const {
  return inputQuantizer ? inputQuantizer(x) : x;
}

Tensor QuantizableLayer::quantized_weight(const Tensor &weight) const {
  return weightQuantizer ? weightQuantizer(weight) : weight;
}

static void prepareLayer(QuantizableLayer &layer,
                         const QuantizationOptions &options) {
  FakeQuantizeOptions input{.averaging_constant = options.averaging_constant,
                            .learn_scale = options.learn_scales};
  // The range of weights is the one that they have now.
  FakeQuantizeOptions weight{.quant_min = -128,
                             .quant_max = 127,
                             .symmetric = true,
                             .axis = layer.output_axis(),
                             .averaging_constant = 1,
                             .learn_scale = options.learn_scales};
  auto forInput = make<FakeQuantize>(input),
       forWeight = make<FakeQuantize>(weight);
  layer.quantize(forInput, forWeight);
  Generator unused(0); // Their first values are constants.
  forInput->initialize(unused);
  forWeight->initialize(unused);
}

void prepare_quantization(Module &module, const QuantizationOptions &options,
                          At at) {
  std::vector<std::string> unused = options.keep;
  for (const Module::Named &named : module.modules()) {
    auto *layer = dynamic_cast<QuantizableLayer *>(named.module);
    bool isKept = std::ranges::count(options.keep, named.name) != 0;
    std::erase(unused, named.name);
    if (layer && !isKept && !layer->is_quantized())
      prepareLayer(*layer, options);
  }
  if (!unused.empty())
    eager::fail({"nn::prepare_quantization", at}, "there is no module \"",
                unused[0], "\" that could be kept");
}

void set_observing(Module &module, bool value) {
  for (const Module::Named &named : module.modules())
    if (auto *quantizer = dynamic_cast<FakeQuantize *>(named.module))
      quantizer->set_observing(value);
}

} // namespace tinh::nn
