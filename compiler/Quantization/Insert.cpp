//===- Insert.cpp - Quantise and dequantise around layers -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Insert.h"

#include "compiler/Transforms/Constants.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::quantization {

using transforms::tensorType;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// How far apart the elements of neighbouring channels are, and for how many
/// elements a channel goes on.
static int64_t channelStride(const Layer &layer) {
  ArrayRef<int64_t> shape = tensorType(layer.weights->get()).getShape();
  return ShapedType::getNumElements(shape.drop_front(layer.weightsAxis + 1));
}

/// The scales of channels whose largest magnitudes these are. All zeros are
/// zero in any scale.
static std::vector<float> scalesOf(ArrayRef<float> magnitudes) {
  constexpr float kLargest = 127;
  std::vector<float> scales;
  for (float magnitude : magnitudes) {
    float scale = magnitude / kLargest;
    scales.push_back(std::isnormal(scale) ? scale : 1);
  }
  return scales;
}

QuantizedWeights quantizeWeights(const Layer &layer, ArrayRef<float> weights) {
  auto type = tensorType(layer.weights->get());
  size_t channels = layer.channels(), stride = channelStride(layer);
  auto channelOf = [&](size_t i) { return i / stride % channels; };
  std::vector<float> magnitudes(channels);
  for (auto [i, weight] : llvm::enumerate(weights)) {
    float &most = magnitudes[channelOf(i)];
    most = std::max(most, std::abs(weight));
  }
  std::vector<float> scales = scalesOf(magnitudes);
  std::vector<int8_t> integers;
  integers.reserve(weights.size());
  for (auto [i, weight] : llvm::enumerate(weights))
    integers.push_back(
        static_cast<int8_t>(std::nearbyint(weight / scales[channelOf(i)])));
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[layer.weightsAxis] = static_cast<int64_t>(channels);
  Type i8 = IntegerType::get(type.getContext(), 8);
  return {DenseElementsAttr::get(type.clone(i8), ArrayRef<int8_t>(integers)),
          DenseElementsAttr::get(type.clone(shape), ArrayRef<float>(scales))};
}

Value createWeights(OpBuilder &builder, const Layer &layer,
                    const QuantizedWeights &weights) {
  Value original = layer.weights->get();
  auto constant = [&](DenseElementsAttr value, StringRef role) -> Value {
    return graph::ConstantOp::create(builder, locationFor(original, role),
                                     value.getType(), value);
  };
  return graph::DequantizeOp::create(
      builder, locationFor(original, "dequantize"), original.getType(),
      constant(weights.integers, "quantized"),
      constant(weights.scales, "scale"), Value());
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Value createBytes(OpBuilder &builder, Value value, Range range) {
  Parameters parameters = parametersOf(range);
  Type ui8 = IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned);
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  Value scale = transforms::createSplat(builder, locationFor(value, "scale"),
                                        scalar, parameters.scale);
  Value zero =
      transforms::createSplat(builder, locationFor(value, "zero_point"),
                              scalar.clone(ui8), parameters.zeroPoint);
  Value bytes = graph::QuantizeOp::create(
      builder, locationFor(value, "quantize"), tensorType(value).clone(ui8),
      value, scale, zero);
  return graph::DequantizeOp::create(builder, locationFor(value, "dequantize"),
                                     value.getType(), bytes, scale, zero);
}

/// Lets the inputs of `layers`, and what else reads bytes, read `value` by way
/// of bytes.
static void insertBytes(Value value, Range range,
                        const DenseSet<OpOperand *> &inputs) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Value bytes = createBytes(builder, value, range);
  Operation *quantize =
      bytes.getDefiningOp<graph::DequantizeOp>().getX().getDefiningOp();
  value.replaceUsesWithIf(bytes, [&](OpOperand &use) {
    return use.getOwner() != quantize &&
           (inputs.contains(&use) || readsBytes(use));
  });
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// Adds a constant for each channel, to the bias if there is one.
static void addToChannels(const Layer &layer, ArrayRef<float> values) {
  RankedTensorType type = tensorType(layer.result());
  SmallVector<int64_t> shape(type.getRank() - layer.resultAxis, 1);
  shape[0] = static_cast<int64_t>(values.size());
  graph::AddOp bias = layer.bias();
  OpBuilder builder(layer.op->getContext());
  builder.setInsertionPointAfter(layer.op);
  if (bias)
    builder.setInsertionPoint(bias);
  Location location = locationFor(layer.result(), "correction");
  Value correction = createFloats(builder, location, shape, values);
  if (bias) {
    OpOperand &constant =
        bias->getOpOperand(bias.getA() == layer.result() ? 1 : 0);
    constant.set(
        graph::AddOp::create(builder, location, constant.get(), correction));
    return;
  }
  Value result = layer.result();
  auto sum = graph::AddOp::create(builder, location, result, correction);
  result.replaceAllUsesExcept(sum.getY(), sum);
}

void insertQuantization(ArrayRef<const Layer *> layers,
                        ArrayRef<const LayerPlan *> plans,
                        const RangeOf &ranges, const IRMapping &copy) {
  std::vector<Layer> copies;
  for (const Layer *layer : layers)
    copies.push_back(copied(*layer, copy));
  DenseSet<OpOperand *> inputs;
  for (const Layer &layer : copies)
    inputs.insert(layer.input);
  for (Value value : activationsOf(layers))
    insertBytes(copy.lookup(value), ranges.lookup(value), inputs);
  for (auto [layer, plan] : llvm::zip_equal(copies, plans)) {
    OpBuilder builder(layer.op);
    layer.weights->set(createWeights(builder, layer, plan->weights));
    if (!plan->correction.empty())
      addToChannels(layer, plan->correction);
  }
}

} // namespace tinh::quantization
