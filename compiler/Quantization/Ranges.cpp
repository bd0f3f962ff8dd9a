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

/// The counts of the bins in a range, of which there is at least one. What lies
/// outside is added to the ends by `foldEnds`.
std::vector<double> binsWithin(const Histogram &histogram, Range range,
                               bool foldEnds) {
  auto last = static_cast<double>(histogram.counts.size() - 1);
  auto binOf = [&](double x) {
    return std::clamp((x - histogram.range.low) / histogram.width(), 0.0, last);
  };
  auto first = static_cast<size_t>(binOf(range.low));
  size_t count = static_cast<size_t>(binOf(range.high)) - first + 1;
  std::vector<double> bins(count);
  for (size_t i = 0; i < histogram.counts.size(); ++i)
    if (foldEnds || (i >= first && i < first + count))
      bins[std::clamp(i, first, first + count - 1) - first] +=
          histogram.counts[i];
  return bins;
}

/// What 256 levels keep of a distribution: the bins of a level that are not
/// empty are alike.
std::vector<double> levelled(const std::vector<double> &bins) {
  std::vector<double> kept(bins.size());
  auto levelOf = [&](size_t i) {
    return std::floor(static_cast<double>(i) * kLevels /
                      static_cast<double>(bins.size()));
  };
  for (size_t begin = 0, end = 0; begin < bins.size(); begin = end) {
    double sum = 0, filled = 0;
    for (; end < bins.size() && levelOf(end) == levelOf(begin); ++end) {
      sum += bins[end];
      filled += bins[end] > 0;
    }
    for (size_t i = begin; i < end; ++i)
      kept[i] = bins[i] > 0 ? sum / filled : 0;
  }
  return kept;
}

/// The divergence of the distribution in a range from what levels keep of it.
/// Fewer bins than levels would say nothing.
double divergence(const Histogram &histogram, Range range) {
  constexpr double kLeast = 1e-9; // For what no level stands for.
  std::vector<double> bins = binsWithin(histogram, range, /*foldEnds=*/true);
  if (static_cast<double>(bins.size()) < kLevels)
    return INFINITY;
  std::vector<double> kept = levelled(binsWithin(histogram, range, false));
  double all = std::accumulate(bins.begin(), bins.end(), 0.0);
  double keptAll = std::accumulate(kept.begin(), kept.end(), 0.0), sum = 0;
  for (size_t i = 0; i < bins.size(); ++i)
    if (double p = bins[i] / all; p > 0)
      sum += p * std::log(p / std::max(kept[i] / keptAll, kLeast));
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
