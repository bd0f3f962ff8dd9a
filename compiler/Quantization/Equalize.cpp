//===- Equalize.cpp - Equalisation of channels ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Equalize.h"

#include "compiler/Quantization/Observers.h"
#include "compiler/Transforms/Constants/Constants.h"

#include <cmath>

using namespace mlir;

namespace tinh::quantization {

using transforms::tensorType;

namespace {

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

bool isDepthwise(const Layer &layer) {
  auto conv = dyn_cast<graph::ConvOp>(layer.op);
  return conv && tensorType(layer.weights->get()).getDimSize(1) == 1 &&
         static_cast<int64_t>(conv.getGroups()) == layer.channels();
}

/// Where input channels are in the weights; nothing if several share an index.
std::optional<int64_t> inputAxis(const Layer &layer) {
  if (isDepthwise(layer))
    return 0;
  if (auto conv = dyn_cast<graph::ConvOp>(layer.op))
    return conv.getGroups() == 1 ? std::optional<int64_t>(1) : std::nullopt;
  return 1 - layer.weightsAxis;
}

/// Where they are in the input.
int64_t activationAxis(const Layer &layer) {
  int64_t rank = tensorType(layer.input->get()).getRank();
  auto conv = dyn_cast<graph::ConvOp>(layer.op);
  return conv && conv.getLayout() == graph::Layout::ChannelsFirst ? 1
                                                                  : rank - 1;
}

/// The largest magnitudes along `axis` of elements of `type`.
std::vector<float> magnitudesAlong(RankedTensorType type, int64_t axis,
                                   ArrayRef<float> elements) {
  size_t extent = type.getDimSize(axis);
  size_t stride =
      ShapedType::getNumElements(type.getShape().drop_front(axis + 1));
  std::vector<float> most(extent);
  for (auto [i, x] : llvm::enumerate(elements)) {
    float &at = most[i / stride % extent];
    at = std::max(at, std::abs(x));
  }
  return most;
}

/// Multiplies the weights along `axis`.
void scaleWeights(const Layer &layer, int64_t axis, ArrayRef<float> factors) {
  Value weights = layer.weights->get();
  SmallVector<int64_t> shape(tensorType(weights).getRank(), 1);
  shape[axis] = static_cast<int64_t>(factors.size());
  OpBuilder builder(layer.op);
  Location location = weights.getLoc();
  layer.weights->set(
      graph::MulOp::create(builder, location, weights,
                           createFloats(builder, location, shape, factors)));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The layer whose result, after its bias and a ReLU, `value` alone is.
std::optional<size_t> producerOf(Value value, ArrayRef<Layer> layers) {
  Operation *op = value.getDefiningOp();
  if (auto relu = dyn_cast_or_null<graph::ReluOp>(op)) {
    value = relu.getX();
    if (!value.hasOneUse())
      return std::nullopt;
  }
  for (auto [i, layer] : llvm::enumerate(layers)) {
    graph::AddOp bias = layer.bias();
    if (bias ? bias.getY() == value : layer.result() == value)
      return i;
  }
  return std::nullopt;
}

/// Whether a layer norm gives `value`, with parameters for its last dimension.
bool isNormalised(Value value) {
  auto norm = value.getDefiningOp<graph::LayerNormOp>();
  int64_t channels = norm ? tensorType(value).getShape().back() : 0;
  auto isVector = [&](Value parameter) {
    return !parameter || (tensorType(parameter).getNumElements() == channels &&
                          transforms::isConstantExpression(parameter));
  };
  return norm && isVector(norm.getScale()) && isVector(norm.getBias());
}

/// Whether the readers are all that reads the value.
bool areAllReaders(const ChannelGroup &group) {
  return static_cast<size_t>(llvm::range_size(group.value.getUses())) ==
         group.readers.size();
}

bool canScale(ChannelGroup &group, ArrayRef<Layer> layers) {
  if (group.axis < 0)
    return false;
  if (isNormalised(group.value))
    return group.axis + 1 == tensorType(group.value).getRank();
  group.producer = producerOf(group.value, layers);
  return group.producer && areAllReaders(group) &&
         layers[*group.producer].resultAxis == group.axis;
}

} // namespace

std::vector<ChannelGroup> findGroups(ArrayRef<Layer> layers) {
  llvm::MapVector<Value, ChannelGroup> byValue;
  for (auto [i, layer] : llvm::enumerate(layers)) {
    Value value = layer.input->get();
    int64_t axis = inputAxis(layer) ? activationAxis(layer) : -1;
    ChannelGroup &group =
        byValue.try_emplace(value, ChannelGroup{value, axis, {}, {}})
            .first->second;
    group.readers.push_back(i);
    if (group.axis != axis)
      group.axis = -1;
  }
  std::vector<ChannelGroup> groups;
  for (auto &[value, group] : byValue)
    if (canScale(group, layers))
      groups.push_back(group);
  return groups;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Halfway, in the logarithm, between alike activations and alike weights. Of
/// depthwise convolutions each weight has a scale of its own: there activations
/// are alike.
static float factorOf(float activation, float weight, bool areAllDepthwise) {
  float factor = areAllDepthwise ? activation : std::sqrt(activation / weight);
  return std::isnormal(factor) ? factor : 1;
}

FailureOr<std::vector<std::vector<float>>>
chooseFactors(const Model &model, ArrayRef<Layer> layers,
              ArrayRef<ChannelGroup> groups, MappedFiles &files) {
  std::vector<ChannelQuery> queries;
  for (const ChannelGroup &group : groups)
    queries.push_back({group.value, group.axis});
  auto factors = observeMagnitudes(model, queries);
  if (failed(factors))
    return failure();
  for (auto [group, of] : llvm::zip_equal(groups, *factors)) {
    std::vector<float> weights(of.size());
    bool areAllDepthwise = true;
    for (size_t reader : group.readers) {
      const Layer &layer = layers[reader];
      areAllDepthwise &= isDepthwise(layer);
      auto elements = evaluate(layer.weights->get(), files);
      if (failed(elements))
        return failure();
      auto most = magnitudesAlong(tensorType(layer.weights->get()),
                                  *inputAxis(layer), *elements);
      for (auto [a, b] : llvm::zip_equal(weights, most))
        a = std::max(a, b);
    }
    for (auto [factor, weight] : llvm::zip_equal(of, weights))
      factor = factorOf(factor, weight, areAllDepthwise);
  }
  return factors;
}

//===----------------------------------------------------------------------===//
// Scaling
//===----------------------------------------------------------------------===//

static LogicalResult scaleNorm(graph::LayerNormOp norm,
                               ArrayRef<float> inverses, MappedFiles &files) {
  OpBuilder builder(norm);
  for (OpOperand &parameter : norm->getOpOperands().drop_front()) {
    auto values = evaluate(parameter.get(), files);
    if (failed(values))
      return failure();
    for (auto [value, inverse] : llvm::zip_equal(*values, inverses))
      value *= inverse;
    parameter.set(createFloats(builder, parameter.get().getLoc(),
                               tensorType(parameter.get()).getShape(),
                               *values));
  }
  return success();
}

/// Divides by an op what the readers read.
static void scaleReads(ArrayRef<Layer> layers, const ChannelGroup &group,
                       ArrayRef<float> inverses) {
  OpBuilder builder(group.value.getContext());
  builder.setInsertionPointAfterValue(group.value);
  Location location = locationFor(group.value, "smooth");
  Value scaled = graph::MulOp::create(
      builder, location, group.value,
      createFloats(builder, location, static_cast<int64_t>(inverses.size()),
                   inverses));
  for (size_t reader : group.readers)
    layers[reader].input->set(scaled);
}

static LogicalResult scaleProducer(const Layer &layer, ArrayRef<float> inverses,
                                   MappedFiles &files) {
  scaleWeights(layer, layer.weightsAxis, inverses);
  if (!layer.bias())
    return success();
  return changeBias(
      layer, [&](size_t i, float bias) { return bias * inverses[i]; }, files);
}

LogicalResult scaleChannels(ArrayRef<Layer> layers, const ChannelGroup &group,
                            ArrayRef<float> factors, MappedFiles &files) {
  std::vector<float> inverses;
  for (float factor : factors)
    inverses.push_back(1 / factor);
  for (size_t reader : group.readers)
    scaleWeights(layers[reader], *inputAxis(layers[reader]), factors);
  if (group.producer)
    return scaleProducer(layers[*group.producer], inverses, files);
  if (areAllReaders(group))
    return scaleNorm(group.value.getDefiningOp<graph::LayerNormOp>(), inverses,
                     files);
  scaleReads(layers, group, inverses);
  return success();
}

} // namespace tinh::quantization
