//===- Ranges.cpp - Which floats integers are to stand for ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Ranges.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tinh::quantization {

namespace {

constexpr double kLevels = 256;
/// How many parts of each side of a range are tried as its end.
constexpr int kSteps = 100;

double total(const Histogram &histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0);
}

/// Where the sum of the counts from the low end on is `share` of all.
double quantile(const Histogram &histogram, double share) {
  double left = share * total(histogram);
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    double count = histogram.counts[i];
    if (left < count)
      return histogram.range.low +
             (static_cast<double>(i) + left / count) * histogram.width();
    left -= count;
  }
  return histogram.range.high;
}

Range percentileRange(const Histogram &histogram) {
  constexpr double kOutside = 1e-4;
  return {std::min(0.0, quantile(histogram, kOutside)),
          std::max(0.0, quantile(histogram, 1 - kOutside))};
}

/// The squared errors of all numbers in a range: rounding within it, and what
/// lies outside becomes its end.
double squaredError(const Histogram &histogram, Range range) {
  double step = (range.high - range.low) / (kLevels - 1), sum = 0;
  double rounding = step * step / 12;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    double x = histogram.centre(i);
    double beyond = x - std::clamp(x, range.low, range.high);
    // Zero is a level of its own.
    bool isZero = std::abs(x) <= histogram.width();
    sum += histogram.counts[i] * (beyond != 0 ? beyond * beyond
                                  : isZero    ? 0
                                              : rounding);
  }
  return sum;
}

/// The divergence of the distribution in a range from what 256 levels keep of
/// it. What lies outside counts at the ends.
double divergence(const Histogram &histogram, Range range) {
  const auto &counts = histogram.counts;
  auto binOf = [&](double x) {
    double bin = (x - histogram.range.low) / histogram.width();
    return static_cast<size_t>(
        std::clamp(bin, 0.0, static_cast<double>(counts.size())));
  };
  size_t first = binOf(range.low),
         last = std::max(binOf(range.high), first + 1);
  last = std::min(last, counts.size());
  first = std::min(first, last - 1);
  std::vector<double> inside(counts.begin() + static_cast<ptrdiff_t>(first),
                             counts.begin() + static_cast<ptrdiff_t>(last));
  std::vector<double> kept(inside.size());
  auto levelOf = [&](size_t i) {
    return static_cast<size_t>(static_cast<double>(i) * kLevels /
                               static_cast<double>(inside.size()));
  };
  for (size_t begin = 0, end; begin < inside.size(); begin = end) {
    double sum = 0, filled = 0;
    for (end = begin; end < inside.size() && levelOf(end) == levelOf(begin);
         ++end) {
      sum += inside[end];
      filled += inside[end] > 0;
    }
    for (size_t i = begin; i < end; ++i)
      kept[i] = inside[i] > 0 ? sum / filled : 0;
  }
  double all = total(histogram);
  double keptAll = std::accumulate(kept.begin(), kept.end(), 0.0);
  inside.front() += std::accumulate(
      counts.begin(), counts.begin() + static_cast<ptrdiff_t>(first), 0.0);
  inside.back() += std::accumulate(
      counts.begin() + static_cast<ptrdiff_t>(last), counts.end(), 0.0);
  constexpr double kLeast = 1e-9; // For what no level stands for.
  double sum = 0;
  for (size_t i = 0; i < inside.size(); ++i)
    if (inside[i] > 0) {
      double p = inside[i] / all;
      sum += p * std::log(p / std::max(kept[i] / keptAll, kLeast));
    }
  return sum;
}

/// The range whose loss is least, with ends between 0 and those of the
/// histogram: one end after the other, until neither moves.
template <typename Loss>
Range searchRange(const Histogram &histogram, Loss loss) {
  Range best = {std::min(0.0, histogram.range.low),
                std::max(0.0, histogram.range.high)};
  const Range full = best;
  double least = loss(best);
  auto tryEnds = [&](double Range::*end) {
    bool moved = false;
    for (int i = 1; full.*end != 0 && i <= kSteps; ++i) {
      Range range = best;
      range.*end = full.*end * i / kSteps;
      double found = range.high > range.low ? loss(range) : least;
      if (found < least) {
        least = found;
        best = range;
        moved = true;
      }
    }
    return moved;
  };
  for (bool moved = true; moved;) {
    moved = tryEnds(&Range::high);
    moved |= tryEnds(&Range::low);
  }
  return best;
}

} // namespace

Range chooseRange(const Histogram &histogram, Method method) {
  switch (method) {
  case Method::MinMax:
    break;
  case Method::Percentile:
    return percentileRange(histogram);
  case Method::Entropy:
    return searchRange(
        histogram, [&](Range range) { return divergence(histogram, range); });
  case Method::Mse:
    return searchRange(
        histogram, [&](Range range) { return squaredError(histogram, range); });
  }
  return {std::min(0.0, histogram.range.low),
          std::max(0.0, histogram.range.high)};
}

Parameters parametersOf(Range range) {
  double scale = (range.high - range.low) / (kLevels - 1);
  // As it is stored.
  scale = static_cast<float>(scale);
  if (!std::isnormal(static_cast<float>(scale)))
    return {};
  double zero = std::clamp(std::nearbyint(-range.low / scale), 0.0, 255.0);
  return {scale, static_cast<uint8_t>(zero)};
}

} // namespace tinh::quantization
