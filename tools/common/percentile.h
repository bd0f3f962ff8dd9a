//===- percentile.h - Percentiles of times ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PERCENTILE_H
#define TINH_TOOLS_PERCENTILE_H

#include <algorithm>
#include <cmath>
#include <vector>

namespace tinh::tools {

/// The smallest value that `percent` % of the values, of which there are some,
/// do not exceed.
inline double percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

} // namespace tinh::tools

#endif // TINH_TOOLS_PERCENTILE_H
