//===- Observers.cpp - What numbers activations hold ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Observers.h"

#include "compiler/Quantization/Layers.h"
#include "compiler/Transforms/Constants/Constants.h"

using namespace mlir;

namespace tinh::quantization {

using transforms::reshapeTo;
using transforms::tensorType;

Value createScalar(ImplicitLocOpBuilder &b, double value) {
  return transforms::createSplat(
      b, b.getLoc(), RankedTensorType::get({}, b.getF32Type()), value);
}

Value reduceAll(ImplicitLocOpBuilder &b, graph::ReduceKind kind, Value x,
                int64_t axis) {
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < tensorType(x).getRank(); ++i)
    if (i != axis)
      axes.push_back(i);
  return graph::ReduceOp::create(b, kind, x, axes, /*keepdims=*/false);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// What a message about a value begins with: a node is its location already.
static std::string subjectOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? ("input '" + inputName(argument) + "' ").str() : "";
}

/// The least and the largest numbers that were seen.
static FailureOr<RangeOf> observeLimits(const Model &model,
                                        ArrayRef<Value> values) {
  Probe probe(model);
  for (Value value : values)
    for (auto kind : {graph::ReduceKind::Min, graph::ReduceKind::Max})
      probe.give(reduceAll(probe.b, kind, probe[value]));
  RangeOf ranges;
  for (Value value : values)
    ranges[value] = {INFINITY, -INFINITY};
  auto visit = [&](const Results &results) {
    for (auto [i, entry] : llvm::enumerate(ranges)) {
      // NaN stays, in either.
      double low = results[2 * i][0], high = results[2 * i + 1][0];
      Range &range = entry.second;
      range.low = low >= range.low ? range.low : low;
      range.high = high <= range.high ? range.high : high;
    }
  };
  if (failed(probe.run(visit)))
    return failure();
  for (auto &[value, range] : ranges)
    if (!std::isfinite(range.low) || !std::isfinite(range.high))
      return emitError(value.getLoc())
             << subjectOf(value)
             << "is not finite on the samples, so that it has no scale: look "
                "for what is in the data";
  return ranges;
}

constexpr int64_t kBins = 2048;

/// Whether f32 tells the parts of a range apart. It does not where a value is
/// the same for all samples.
static bool hasBins(Range range) {
  double width = (range.high - range.low) / kBins;
  return std::isnormal(static_cast<float>(width)) &&
         std::isnormal(static_cast<float>(1 / width));
}

/// How many elements of x lie in each of the parts of `range`.
static Value countInBins(ImplicitLocOpBuilder &b, Value x, Range range) {
  int64_t size = tensorType(x).getNumElements();
  auto bins = RankedTensorType::get(kBins, b.getF32Type());
  auto vector = RankedTensorType::get(size, b.getF32Type());
  double width = (range.high - range.low) / kBins;
  Value flat = reshapeTo(b, b.getLoc(), x, size);
  Value offset = graph::SubOp::create(b, flat, createScalar(b, range.low));
  Value at = graph::MulOp::create(b, offset, createScalar(b, 1 / width));
  at = graph::MaxOp::create(b, at, createScalar(b, 0));
  at = graph::MinOp::create(b, at, createScalar(b, kBins - 1));
  Value index = graph::CastOp::create(b, vector.clone(b.getI64Type()), at);
  Value zeros = transforms::createSplat(b, b.getLoc(), bins, 0);
  Value ones = transforms::createSplat(b, b.getLoc(), vector, 1);
  return graph::ScatterElementsOp::create(b, graph::ScatterKind::Add, zeros,
                                          index, ones, /*axis=*/0);
}

FailureOr<RangeOf> observeRanges(const Model &model, ArrayRef<Value> values,
                                 Method method) {
  FailureOr<RangeOf> limits = observeLimits(model, values);
  if (failed(limits))
    return limits;
  Probe probe(model);
  std::vector<std::pair<Range *, Histogram>> counted;
  for (auto &[value, range] : *limits) {
    Histogram histogram{range, std::vector<double>(kBins)};
    if (method == Method::MinMax || !hasBins(range)) {
      range = chooseRange(histogram, Method::MinMax);
      continue;
    }
    probe.give(countInBins(probe.b, probe[value], range));
    counted.emplace_back(&range, std::move(histogram));
  }
  auto visit = [&](const Results &results) {
    for (auto [entry, counts] : llvm::zip_equal(counted, results))
      for (auto [sum, count] : llvm::zip_equal(entry.second.counts, counts))
        sum += count;
  };
  if (!counted.empty() && failed(probe.run(visit)))
    return failure();
  for (auto &[range, histogram] : counted)
    *range = chooseRange(histogram, method);
  return limits;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

FailureOr<std::vector<std::vector<float>>>
observeMagnitudes(const Model &model, ArrayRef<ChannelQuery> queries) {
  Probe probe(model);
  std::vector<std::vector<float>> found;
  for (auto [value, axis] : queries) {
    Value magnitude = graph::AbsOp::create(probe.b, probe[value]);
    probe.give(reduceAll(probe.b, graph::ReduceKind::Max, magnitude, axis));
    found.emplace_back(tensorType(value).getDimSize(axis));
  }
  auto visit = [&](const Results &results) {
    for (auto [most, result] : llvm::zip_equal(found, results))
      for (auto [a, b] : llvm::zip_equal(most, result))
        a = std::max(a, b);
  };
  if (failed(probe.run(visit)))
    return failure();
  return found;
}

} // namespace tinh::quantization
