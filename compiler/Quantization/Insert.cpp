//===- Insert.cpp - Quantise and dequantise around layers -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Insert.h"

#include "compiler/Transforms/Constants/Constants.h"

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

static Value constantFor(OpBuilder &builder, Value original,
                         DenseElementsAttr value, StringRef role) {
  return graph::ConstantOp::create(builder, locationFor(original, role),
                                   value.getType(), value);
}

namespace {
struct ScaleAndZero {
  Value scale, zeroPoint;
};
} // namespace

/// Some engines want to be told that nothing is to be subtracted.
static ScaleAndZero createScales(OpBuilder &builder, Value original,
                                 const QuantizedWeights &weights) {
  Type i8 = weights.integers.getElementType();
  auto zeros =
      DenseElementsAttr::get(weights.scales.getType().clone(i8), int8_t(0));
  return {constantFor(builder, original, weights.scales, "scale"),
          constantFor(builder, original, zeros, "zero_point")};
}

Value createWeights(OpBuilder &builder, const Layer &layer,
                    const QuantizedWeights &weights) {
  Value original = layer.weights->get();
  ScaleAndZero by = createScales(builder, original, weights);
  return graph::DequantizeOp::create(
      builder, locationFor(original, "dequantize"), original.getType(),
      constantFor(builder, original, weights.integers, "quantized"), by.scale,
      by.zeroPoint);
}

/// The weights as one constant, and what makes bytes and floats again of it.
static LogicalResult insertFloatWeights(const Layer &layer,
                                        const QuantizedWeights &weights,
                                        MappedFiles &files) {
  OpBuilder builder(layer.op);
  Value original = layer.weights->get(), floats = original;
  if (!isa<graph::ConstantOp>(original.getDefiningOp())) {
    auto elements = evaluate(original, files);
    if (failed(elements))
      return failure();
    floats = createFloats(builder, original.getLoc(),
                          tensorType(original).getShape(), *elements);
  }
  ScaleAndZero by = createScales(builder, original, weights);
  Value integers = graph::QuantizeOp::create(
      builder, locationFor(original, "quantize"), weights.integers.getType(),
      floats, by.scale, by.zeroPoint);
  layer.weights->set(graph::DequantizeOp::create(
      builder, locationFor(original, "dequantize"), original.getType(),
      integers, by.scale, by.zeroPoint));
  return success();
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

/// Adds a constant to each channel of the result of `layer`.
static LogicalResult addToChannels(const Layer &layer,
                                   const std::vector<float> &values,
                                   MappedFiles &files) {
  if (layer.bias())
    return changeBias(
        layer, [&](size_t i, float bias) { return bias + values[i]; }, files);
  Value result = layer.result();
  OpBuilder builder(layer.op->getContext());
  builder.setInsertionPointAfter(layer.op);
  Location location = locationFor(result, "correction");
  auto sum = graph::AddOp::create(
      builder, location, result,
      createFloats(builder, location, layer.vectorShape(), values));
  result.replaceAllUsesExcept(sum.getY(), sum);
  return success();
}

LogicalResult insertQuantization(ArrayRef<const Layer *> layers,
                                 ArrayRef<const LayerPlan *> plans,
                                 const RangeOf &ranges, const IRMapping &copy,
                                 bool floatWeights, MappedFiles &files) {
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
    if (!floatWeights)
      layer.weights->set(createWeights(builder, layer, plan->weights));
    else if (failed(insertFloatWeights(layer, plan->weights, files)))
      return failure();
    if (!plan->correction.empty() &&
        failed(addToChannels(layer, plan->correction, files)))
      return failure();
  }
  return success();
}

} // namespace tinh::quantization
