//===- tinh/nn/quantization.h - Quantisation-aware training -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantisation-aware training (QAT) by fake quantisation: a network computes
// with the floats that integers would stand for, and is trained so, as by
// PyTorch's prepare_qat.
//
//   nn::prepare_quantization(*net);
//   … some steps                        // Scales follow what is seen.
//   nn::set_observing(*net, false);
//   … more steps                        // Scales are fixed, or learned.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_QUANTIZATION_H
#define TINH_NN_QUANTIZATION_H

#include "tinh/nn/module.h"

#include <optional>

namespace tinh {

struct FakeQuantizeOptions {
  /// The least and the largest integer.
  int64_t quant_min = 0, quant_max = 255;
  /// Of x: scale and zero point are vectors with an element for each index of
  /// it. None: they are scalars.
  std::optional<int64_t> axis = {};
  /// What the gradient of the scale is multiplied by; the learned step size
  /// takes 1 / √(elements that share a scale · quant_max).
  double grad_factor = 1;
};

/// (q - zero_point) · scale, where q = clamp(round(x / scale) + zero_point).
/// Gradients take rounding for the identity: x gets all where nothing is
/// clipped, and none elsewhere. PyTorch's fake_quantize_per_tensor_affine and
/// fake_quantize_per_channel_affine, with a gradient of the scale.
Tensor fake_quantize(Operand x, Operand scale, Operand zero_point,
                     const FakeQuantizeOptions &options = {});

namespace nn {

struct FakeQuantizeOptions {
  int64_t quant_min = 0, quant_max = 255;
  /// The zero point is 0.
  bool symmetric = false;
  /// A scale for each index of this axis.
  std::optional<int64_t> axis = {};
  /// How much of the range is that of the last batch: a moving average.
  double averaging_constant = 0.01;
  /// The scale is a parameter, which is trained when nothing is observed any
  /// more (learned step size).
  bool learn_scale = false;
};

/// Fake quantisation by a scale that follows the least and the largest number
/// seen in training, until set_observing(false).
class FakeQuantize : public Module {
public:
  explicit FakeQuantize(const FakeQuantizeOptions &options = {});
  std::string type_name() const override { return "FakeQuantize"; }

  void set_observing(bool value) { observing = value; }

  Tensor scale, zero_point; ///< [], or [extent of the axis].
  Tensor min_val, max_val;  ///< Averages; the range holds 0.
  Tensor num_batches_observed;

protected:
  Tensor forward(const Tensor &x) override;
  void infer(const Shape &input) override;

private:
  void observe(const Tensor &x);
  void setScale();

  FakeQuantizeOptions options;
  bool observing = true;
};

/// A layer that multiplies by weights, and can do so with integers.
class QuantizableLayer : public Module {
public:
  /// Lets the layer compute with what these make of its input and its weights.
  void quantize(Handle<FakeQuantize> input, Handle<FakeQuantize> weight);
  bool is_quantized() const { return inputQuantizer != nullptr; }
  /// Of the weights: where the outputs are.
  virtual int64_t output_axis() const { return 0; }

protected:
  Tensor quantized_input(const Tensor &x) const;
  Tensor quantized_weight(const Tensor &weight) const;

private:
  Handle<FakeQuantize> inputQuantizer, weightQuantizer;
};

struct QuantizationOptions {
  /// Names of layers, as in modules(), that stay as they are.
  std::vector<std::string> keep = {};
  double averaging_constant = 0.01;
  bool learn_scales = false;
};

/// Puts fake quantisation before all linear layers and convolutions of
/// `module`, as PyTorch's prepare_qat: uint8 inputs with one scale and zero
/// point, int8 weights with a scale for each output, as graph-quantize makes
/// them. Make the optimizer
/// later. A name in `keep` that is none's is an error.
void prepare_quantization(Module &module,
                          const QuantizationOptions &options = {},
                          At at = At::current());
/// Whether the scales in `module` follow what is seen (enable_observer and
/// disable_observer of PyTorch).
void set_observing(Module &module, bool value);

} // namespace nn
} // namespace tinh

#endif // TINH_NN_QUANTIZATION_H
