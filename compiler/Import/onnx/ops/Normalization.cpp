//===- Normalization.cpp - Softmax and norms --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

#include <charconv>

using namespace mlir;

namespace tinh::onnx {

namespace {

int64_t product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

/// Before opset 13 the dimensions from `axis` on count as one.
template <typename OpTy> Results softmax(NodeBuilder &b) {
  Value x = b.input(0);
  bool coerced = b.opset() < 13;
  int64_t rank = b.rank(x);
  int64_t given = b.intAttribute("axis", coerced ? 1 : -1);
  if (coerced && given == rank) // nothing in each row
    return {b.reshape(b.create<OpTy>({b.reshape(x, {product(b.shape(x)), 1})},
                                     {b.attr("axis", int64_t(1))}),
                      b.shape(x))};
  auto axis = b.axis(given, rank);
  if (!axis)
    return {Value()};
  if (!coerced || *axis == rank - 1)
    return {b.create<OpTy>({x}, {b.attr("axis", *axis)})};
  Ints rows = {product(b.shape(x).take_front(*axis)),
               product(b.shape(x).drop_front(*axis))};
  Value y = b.create<OpTy>({b.reshape(x, rows)}, {b.attr("axis", int64_t(1))});
  return {b.reshape(y, b.shape(x))};
}

/// The statistics of the batch, and the running ones moved toward them. What is
/// normalised with the batch's own statistics stays written out, so that
/// gradients see them.
Results batchNormInTraining(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t rank = b.rank(x);
  if (!b.hasRank(x, 2, "an input"))
    return {Value()};
  Ints axes = {0};
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  Value mean = b.reduce(Kind::Mean, x, axes, false);
  Value centred = b.sub(x, b.perChannel(mean, rank));
  Value variance = b.reduce(Kind::Mean, b.mul(centred, centred), axes, false);
  Value epsilon = b.scalarLike(x, b.floatAttribute("epsilon", 1e-5f));
  Value scale = b.create<graph::RsqrtOp>({b.add(variance, epsilon)});
  scale = b.mul(scale, b.cast(b.input(1), b.element(x)));
  Value y = b.mul(centred, b.perChannel(scale, rank));
  y = b.add(y, b.perChannel(b.cast(b.input(2), b.element(x)), rank));
  Results results = {y};
  double momentum = b.floatAttribute("momentum", 0.9f);
  for (auto [i, now] : {std::pair{3, mean}, std::pair{4, variance}}) {
    Value running = b.input(i);
    Value kept = b.mul(running, b.scalarLike(running, momentum));
    Value moved = b.mul(now, b.scalarLike(now, 1 - momentum));
    results.push_back(
        b.add(kept, running ? b.cast(moved, b.element(running)) : Value()));
  }
  return results;
}

/// Files hold f32, and 1 - 0.9 is meant to be 0.1.
double asWritten(double value) {
  char text[32];
  auto [end, _] =
      std::to_chars(text, std::end(text), static_cast<float>(value));
  std::from_chars(text, end, value);
  return value;
}

Results batchNorm(NodeBuilder &b) {
  Value x = b.input(0);
  bool training = b.opset() < 7 ? !b.intAttribute("is_test", 0)
                                : b.intAttribute("training_mode", 0);
  if (b.opset() < 9 && b.intAttribute("spatial", 1) == 0)
    return {b.fail("spatial = 0 is not supported")};
  if (training && !b.file.isTrained)
    return batchNormInTraining(b);
  if (b.refuseOutputs(training ? 3 : 1))
    return {Value()};
  SmallVector<Value> operands = {x};
  for (int i = 1; i < 5; ++i)
    operands.push_back(b.cast(b.input(i), b.element(x)));
  Results results = {b.create<graph::BatchNormOp>(
      operands,
      {b.attr("epsilon", b.floatAttribute("epsilon", 1e-5f)),
       b.attr("momentum", asWritten(b.floatAttribute("momentum", 0.9f))),
       b.channelsFirst()})};
  for (int i = 1; i < b.numOutputs(); ++i) // The running statistics.
    results.push_back(b.input(i + 2));
  return results;
}

/// (x - mean) / sqrt(variance + epsilon) over `axes`.
Value standardise(NodeBuilder &b, Value x, ArrayRef<int64_t> axes,
                  double epsilon) {
  Value centred = b.sub(x, b.reduce(Kind::Mean, x, axes, true));
  Value variance = b.reduce(Kind::Mean, b.mul(centred, centred), axes, true);
  Value scale =
      b.create<graph::RsqrtOp>({b.add(variance, b.scalarLike(x, epsilon))});
  return b.mul(centred, scale);
}

Ints axesFrom(int64_t first, int64_t rank) {
  Ints axes;
  for (int64_t i = first; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

Results instanceNorm(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t rank = b.rank(x);
  if (!b.hasRank(x, 3, "an input"))
    return {Value()};
  Value y =
      standardise(b, x, axesFrom(2, rank), b.floatAttribute("epsilon", 1e-5f));
  y = b.mul(y, b.perChannel(b.input(1), rank));
  return {b.add(y, b.perChannel(b.input(2), rank))};
}

/// Each group of channels is a row; scale and bias are per group before opset
/// 21, then per channel.
Results groupNorm(NodeBuilder &b) {
  Value x = b.input(0);
  ArrayRef<int64_t> shape = b.shape(x);
  int64_t groups = b.intAttribute("num_groups", 0);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups)
    return {b.fail("num_groups " + Twine(groups) +
                   " does not divide the channels of " +
                   graph::shapeToString(x.getType()))};
  int64_t each = shape[1] / groups;
  Value rows =
      b.reshape(x, {shape[0], groups, each * product(shape.drop_front(2))});
  Value y = standardise(b, rows, {2}, b.floatAttribute("epsilon", 1e-5f));
  bool perGroup = b.opset() < 21;
  if (perGroup) {
    y = b.mul(y, b.perChannel(b.input(1), 3));
    y = b.add(y, b.perChannel(b.input(2), 3));
    return {b.reshape(y, shape)};
  }
  y = b.reshape(y, shape);
  y = b.mul(y, b.perChannel(b.input(1), shape.size()));
  return {b.add(y, b.perChannel(b.input(2), shape.size()))};
}

Results layerNorm(NodeBuilder &b, bool rms) {
  Value x = b.input(0);
  auto axis = b.axis(b.intAttribute("axis", -1), b.rank(x));
  if (!axis || b.refuseOutputs(rms ? 1 : 3))
    return {Value()};
  double epsilon = b.floatAttribute("epsilon", 1e-5f);
  SmallVector<Value> operands = {x, b.cast(b.input(1), b.element(x))};
  if (!rms && b.has(2))
    operands.push_back(b.cast(b.input(2), b.element(x)));
  SmallVector<NamedAttribute> attributes = {b.attr("axis", *axis),
                                            b.attr("epsilon", epsilon)};
  if (rms)
    attributes.push_back(b.unit("rms"));
  Results results = {b.create<graph::LayerNormOp>(operands, attributes)};
  if (!b.wants(1) && !b.wants(2))
    return results;
  // The statistics, for whoever wants them.
  Ints axes = axesFrom(*axis, b.rank(x));
  Value mean = b.reduce(Kind::Mean, x, axes, true);
  Value centred = b.sub(x, mean);
  Value variance = b.reduce(Kind::Mean, b.mul(centred, centred), axes, true);
  results.push_back(mean);
  results.push_back(
      b.create<graph::RsqrtOp>({b.add(variance, b.scalarLike(x, epsilon))}));
  return results;
}

Results layerNormalization(NodeBuilder &b) { return layerNorm(b, false); }
Results rmsNormalization(NodeBuilder &b) { return layerNorm(b, true); }

Results lrn(NodeBuilder &b) {
  return {b.create<graph::LrnOp>(
      {b.input(0)},
      {b.attr("size", b.intAttribute("size", 0)),
       b.attr("alpha", b.floatAttribute("alpha", 1e-4f)),
       b.attr("beta", b.floatAttribute("beta", 0.75)),
       b.attr("bias", b.floatAttribute("bias", 1)), b.channelsFirst()})};
}

Results lpNormalization(NodeBuilder &b) {
  Value x = b.input(0);
  auto axis = b.axis(b.intAttribute("axis", -1), b.rank(x));
  int64_t p = b.intAttribute("p", 2);
  if (!axis)
    return {Value()};
  if (p != 1 && p != 2)
    return {b.fail("attribute p: expected 1 or 2, found " + Twine(p))};
  Value terms = p == 1 ? b.create<graph::AbsOp>({x}) : b.mul(x, x);
  Value norm = b.reduce(Kind::Sum, terms, *axis, true);
  if (p == 2)
    norm = b.create<graph::SqrtOp>({norm});
  // A row of zeros stays one.
  Value zero = b.scalarLike(x, 0);
  Value isZero = b.compare(Predicate::Equal, norm, zero);
  return {b.where(isZero, zero, b.div(x, norm))};
}

Results meanVariance(NodeBuilder &b) {
  Value x = b.input(0);
  auto axes = b.axes(b.intsAttribute("axes", {0, 2, 3}), b.rank(x));
  if (!axes)
    return {Value()};
  Value centred = b.sub(x, b.reduce(Kind::Mean, x, *axes, true));
  Value variance = b.reduce(Kind::Mean, b.mul(centred, centred), *axes, true);
  Value deviation = b.create<graph::SqrtOp>({variance});
  return {b.div(centred, b.add(deviation, b.scalarLike(x, 1e-9)))};
}

} // namespace

OpFamily normalizationOps() {
  return {{"BatchNormalization", batchNorm},
          {"GroupNormalization", groupNorm},
          {"InstanceNormalization", instanceNorm},
          {"LRN", lrn},
          // ONNX Runtime writes it into models of older operator sets, too.
          {"LayerNormalization", layerNormalization, {1, 2, 3}},
          {"LogSoftmax", softmax<graph::LogSoftmaxOp>},
          {"LpNormalization", lpNormalization},
          {"MeanVarianceNormalization", meanVariance},
          {"RMSNormalization", rmsNormalization},
          {"SimplifiedLayerNormalization", rmsNormalization, {1, 2, 2}},
          {"Softmax", softmax<graph::SoftmaxOp>}};
}

} // namespace tinh::onnx
