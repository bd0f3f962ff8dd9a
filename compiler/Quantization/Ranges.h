//===- Ranges.h - Which floats integers are to stand for --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_RANGES_H
#define TINH_COMPILER_QUANTIZATION_RANGES_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace tinh::quantization {

/// How a range follows from the numbers that were seen.
enum class Method {
  MinMax,     ///< From the least to the largest.
  Percentile, ///< Without the 0.01 % at each end.
  Entropy,    ///< Where the distributions differ least (Kullback-Leibler).
  Mse         ///< Where the mean squared error is least.
};

struct Range {
  double low = 0, high = 0;
};

/// How many numbers lie in each of equal parts of a range.
struct Histogram {
  Range range;
  std::vector<double> counts;

  double width() const {
    return (range.high - range.low) / static_cast<double>(counts.size());
  }
  double centre(size_t bin) const {
    return range.low + (static_cast<double>(bin) + 0.5) * width();
  }
};

/// The range for numbers of a histogram; 0 is in it.
Range chooseRange(const Histogram &histogram, Method method);

/// The scale and the zero point of bytes for a range with 0 in it.
struct Parameters {
  double scale = 1;
  uint8_t zeroPoint = 0;
};
Parameters parametersOf(Range range);

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_RANGES_H
