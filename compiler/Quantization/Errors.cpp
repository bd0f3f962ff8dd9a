//===- Errors.cpp - What quantisation changes -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Errors.h"

#include "compiler/Transforms/Constants/Constants.h"

#include <cmath>

using namespace mlir;

namespace tinh::quantization {

double decibels(double signal, double noise) {
  return noise > 0 ? 10 * std::log10(signal / noise) : INFINITY;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {

/// Sums over all elements of a channel: of the squares of the result, of the
/// error, and of its square.
struct ChannelSums {
  std::vector<double> squares, errors, errorSquares;
  double count = 0; ///< Elements of a channel.
};

/// The result of `layer`, an op of the probe's copy, on bytes.
Value quantizedResult(Probe &probe, const Layer &layer, const LayerPlan &plan,
                      Range range) {
  IRMapping operands;
  operands.map(layer.input->get(),
               createBytes(probe.b, layer.input->get(), range));
  operands.map(layer.weights->get(),
               createWeights(probe.b, layer, plan.weights));
  return probe.b.clone(*layer.op, operands)->getResult(0);
}

void giveErrors(Probe &probe, const Layer &layer, Value found) {
  ImplicitLocOpBuilder &b = probe.b;
  auto give = [&](Value x) {
    probe.give(reduceAll(b, graph::ReduceKind::Sum, x, layer.resultAxis));
  };
  Value y = layer.result();
  Value error = graph::SubOp::create(b, y, found);
  give(graph::MulOp::create(b, y, y));
  give(error);
  give(graph::MulOp::create(b, error, error));
}

void add(std::vector<double> &sums, ArrayRef<float> values) {
  sums.resize(values.size());
  for (auto [sum, value] : llvm::zip_equal(sums, values))
    sum += value;
}

/// The mean error of a channel, less where it may be chance: by James and
/// Stein, since the mean of `count` errors varies by itself.
double correctionOf(double errors, double errorSquares, double count) {
  double mean = errors / count;
  double variance = std::max(0.0, errorSquares / count - mean * mean) / count;
  return mean != 0 ? mean * std::max(0.0, 1 - variance / (mean * mean)) : 0;
}

LayerError errorOf(const ChannelSums &sums) {
  LayerError result;
  double signal = 0, noise = 0;
  for (size_t i = 0; i < sums.errors.size(); ++i) {
    double added =
        correctionOf(sums.errors[i], sums.errorSquares[i], sums.count);
    result.correction.push_back(static_cast<float>(added));
    signal += sums.squares[i];
    noise += sums.errorSquares[i] - 2 * added * sums.errors[i] +
             added * added * sums.count;
  }
  result.sqnr = decibels(signal, std::max(noise, 0.0));
  return result;
}

} // namespace

FailureOr<std::vector<LayerError>> measureErrors(const Model &model,
                                                 ArrayRef<Layer> layers,
                                                 ArrayRef<LayerPlan> plans,
                                                 const RangeOf &ranges) {
  Probe probe(model);
  std::vector<ChannelSums> sums(layers.size());
  for (auto [original, plan] : llvm::zip_equal(layers, plans)) {
    Layer layer = copied(original, probe.copy);
    Range range = ranges.lookup(original.input->get());
    giveErrors(probe, layer, quantizedResult(probe, layer, plan, range));
  }
  auto visit = [&](const Results &results) {
    for (auto [i, of] : llvm::enumerate(sums)) {
      add(of.squares, results[3 * i]);
      add(of.errors, results[3 * i + 1]);
      add(of.errorSquares, results[3 * i + 2]);
      of.count += static_cast<double>(
          transforms::tensorType(layers[i].result()).getNumElements() /
          layers[i].channels());
    }
  };
  if (failed(probe.run(visit)))
    return failure();
  std::vector<LayerError> errors;
  for (const ChannelSums &of : sums)
    errors.push_back(errorOf(of));
  return errors;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

FailureOr<Outputs> Outputs::of(const Model &model) {
  Probe probe(model);
  Outputs outputs;
  Operation *end = model.main().getBody().front().getTerminator();
  for (Value value : end->getOperands())
    probe.give(probe[value]);
  auto first = transforms::tensorType(end->getOperand(0));
  if (first.getRank() > 0)
    outputs.rowSize = static_cast<size_t>(first.getShape().back());
  auto visit = [&](const Results &results) {
    outputs.values.push_back(results);
  };
  if (failed(probe.run(visit)))
    return failure();
  return outputs;
}

static size_t largest(ArrayRef<float> row) {
  return static_cast<size_t>(llvm::max_element(row) - row.begin());
}

/// In how many rows the argmax differs.
static size_t changedRows(ArrayRef<float> a, ArrayRef<float> b, size_t size) {
  size_t changed = 0;
  for (; size && !a.empty(); a = a.drop_front(size), b = b.drop_front(size))
    changed += largest(a.take_front(size)) != largest(b.take_front(size));
  return changed;
}

/// The square of the difference. Elements that are no finite numbers are equal,
/// as those of a mask are, or beyond all comparison.
static double squaredDifference(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return 0;
  double square = (x - y) * (x - y);
  return std::isnan(square) ? INFINITY : square;
}

Agreement Outputs::compare(const Outputs &expected) const {
  std::vector<double> signal(values[0].size()), noise(values[0].size());
  double rows = 0, changed = 0;
  for (auto [found, wanted] : llvm::zip_equal(values, expected.values)) {
    for (size_t i = 0; i < found.size(); ++i)
      for (auto [x, y] : llvm::zip_equal(found[i], wanted[i])) {
        signal[i] += std::isfinite(y) ? double(y) * y : 0;
        noise[i] += squaredDifference(x, y);
      }
    rows += static_cast<double>(found[0].size() / std::max<size_t>(rowSize, 1));
    changed += static_cast<double>(changedRows(found[0], wanted[0], rowSize));
  }
  Agreement agreement{INFINITY, rows > 0 ? changed / rows : 0};
  for (size_t i = 0; i < signal.size(); ++i)
    agreement.sqnr = std::min(agreement.sqnr, decibels(signal[i], noise[i]));
  return agreement;
}

} // namespace tinh::quantization
