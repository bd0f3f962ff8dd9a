//===- RangesTest.cpp - Ranges of integers from histograms ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Ranges.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tinh::quantization;

namespace {

/// Counts of a bell around 0, of deviation 1, and `outliers` at the high end.
Histogram bell(double low, double high, double outliers) {
  Histogram histogram{{low, high}, std::vector<double>(2048)};
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    double x = histogram.centre(i);
    histogram.counts[i] = std::floor(1e6 * std::exp(-x * x / 2));
  }
  histogram.counts.back() += outliers;
  return histogram;
}

constexpr Method kAll[] = {Method::MinMax, Method::Percentile, Method::Entropy,
                           Method::Mse};

TEST(Ranges, AreWithinWhatWasSeenAndHoldZero) {
  for (Method method : kAll)
    for (auto [low, high] : {std::pair(-4.0, 4.0), std::pair(0.0, 4.0),
                             std::pair(1.0, 4.0), std::pair(-4.0, -1.0)}) {
      Range range = chooseRange(bell(low, high, 0), method);
      EXPECT_LE(range.low, 0);
      EXPECT_GE(range.high, 0);
      EXPECT_GE(range.low, std::min(low, 0.0) - 1e-9);
      EXPECT_LE(range.high, std::max(high, 0.0) + 1e-9);
      EXPECT_GT(range.high - range.low, 0.5);
    }
}

TEST(Ranges, MinMaxKeepsOutliersAndTheOthersDoNot) {
  Histogram histogram = bell(-4, 400, 1);
  EXPECT_EQ(chooseRange(histogram, Method::MinMax).high, 400);
  for (Method method : {Method::Percentile, Method::Entropy, Method::Mse})
    EXPECT_LT(chooseRange(histogram, method).high, 60);
}

/// The mean squared error of what a range makes of the histogram's numbers.
double errorOf(const Histogram &histogram, Range range) {
  Parameters p = parametersOf(range);
  double sum = 0, count = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    double x = histogram.centre(i);
    double q = std::nearbyint(x / p.scale) + p.zeroPoint;
    double y = (std::fmin(std::fmax(q, 0), 255) - p.zeroPoint) * p.scale;
    sum += histogram.counts[i] * (x - y) * (x - y);
    count += histogram.counts[i];
  }
  return sum / count;
}

TEST(Ranges, MseErrsLeast) {
  for (double high : {6.0, 20.0, 100.0}) {
    Histogram histogram = bell(-6, high, 10);
    double least = errorOf(histogram, chooseRange(histogram, Method::Mse));
    for (Method method : kAll)
      EXPECT_LE(least,
                1.05 * errorOf(histogram, chooseRange(histogram, method)))
          << high;
  }
}

TEST(Ranges, GiveBytesForTheirEnds) {
  Parameters relu = parametersOf({0, 2.55});
  EXPECT_EQ(relu.zeroPoint, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(relu.scale), 0.01F);
  Parameters both = parametersOf({-1.28, 1.27});
  EXPECT_EQ(both.zeroPoint, 128);
  Parameters negative = parametersOf({-2.55, 0});
  EXPECT_EQ(negative.zeroPoint, 255);
  // All zeros: any scale will do that is one.
  Parameters none = parametersOf({0, 0});
  EXPECT_EQ(none.scale, 1);
  EXPECT_EQ(none.zeroPoint, 0);
}

} // namespace
