//===- TransformsTest.cpp - The matrices of Winograd's algorithms ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Winograd/Transforms.h"

#include <gtest/gtest.h>

using namespace tinh::cpu;

namespace {

std::vector<double> times(const Matrix &matrix, const std::vector<double> &x) {
  std::vector<double> y(matrix.rows);
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j)
      y[i] += matrix.at(i, j) * x[j];
  return y;
}

/// A vector whose elements tell apart where they are from.
std::vector<double> draw(int64_t count, double first) {
  std::vector<double> x;
  for (int64_t i = 0; i < count; ++i)
    x.push_back(first + i * i - 3 * i);
  return x;
}

TEST(Transforms, HaveGrowingTiles) {
  std::vector<int64_t> outputs;
  for (const WinogradTransform &t : winogradTransforms())
    outputs.push_back(t.outputs);
  EXPECT_EQ(outputs, (std::vector<int64_t>{2, 4, 6}));
}

TEST(Transforms, GiveTheSumsOfTheDirectConvolution) {
  for (const WinogradTransform &t : winogradTransforms()) {
    std::vector<double> image = draw(t.side(), 5),
                        filter = draw(WinogradTransform::kTaps, -2);
    std::vector<double> products = times(t.input, image);
    std::vector<double> filters = times(t.filter, filter);
    for (int64_t i = 0; i < t.side(); ++i)
      products[i] *= filters[i];
    std::vector<double> sums = times(t.output, products);
    for (int64_t i = 0; i < t.outputs; ++i) {
      double direct = 0;
      for (int64_t tap = 0; tap < WinogradTransform::kTaps; ++tap)
        direct += image[i + tap] * filter[tap];
      EXPECT_NEAR(sums[i], direct, 1e-9) << t.outputs << " outputs, at " << i;
    }
  }
}

TEST(Transforms, RestoreFilters) {
  for (const WinogradTransform &t : winogradTransforms()) {
    std::vector<double> filter = draw(WinogradTransform::kTaps, 4),
                        restored = times(t.restoring, times(t.filter, filter));
    for (int64_t tap = 0; tap < WinogradTransform::kTaps; ++tap)
      EXPECT_NEAR(restored[tap], filter[tap], 1e-12)
          << t.outputs << " outputs, tap " << tap;
  }
}

TEST(Transforms, GiveTheGradientsOfFilters) {
  for (const WinogradTransform &t : winogradTransforms()) {
    std::vector<double> image = draw(t.side(), 5),
                        gradient = draw(t.outputs, -2);
    std::vector<double> products = times(t.input, image);
    std::vector<double> numbers = times(t.output.transposed(), gradient);
    for (int64_t i = 0; i < t.side(); ++i)
      products[i] *= numbers[i];
    std::vector<double> taps = times(t.filter.transposed(), products);
    for (int64_t tap = 0; tap < WinogradTransform::kTaps; ++tap) {
      double direct = 0;
      for (int64_t i = 0; i < t.outputs; ++i)
        direct += image[i + tap] * gradient[i];
      EXPECT_NEAR(taps[tap], direct, 1e-9) << t.outputs << ", tap " << tap;
    }
  }
}

TEST(Transforms, AreNamedByWhatTheyLose) {
  EXPECT_EQ(parseAllowedTransforms("off"), AllowedTransforms::None);
  EXPECT_EQ(parseAllowedTransforms("accurate"), AllowedTransforms::Accurate);
  EXPECT_EQ(parseAllowedTransforms("fast"), AllowedTransforms::Fast);
  EXPECT_EQ(parseAllowedTransforms("slow"), std::nullopt);
}

} // namespace
