//===- Transforms.cpp - The matrices of Winograd's algorithms ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Winograd/Transforms.h"

#include "llvm/ADT/STLExtras.h"

namespace tinh::cpu {

Matrix Matrix::transposed() const {
  Matrix result(columns, rows);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result.at(column, row) = at(row, column);
  return result;
}

std::optional<AllowedTransforms> parseAllowedTransforms(std::string_view name) {
  if (name == "off")
    return AllowedTransforms::None;
  if (name == "accurate")
    return AllowedTransforms::Accurate;
  if (name == "fast")
    return AllowedTransforms::Fast;
  return std::nullopt;
}

/// The coefficients, lowest first, of Π (x - points[j]) over all j but
/// `except`.
static std::vector<double> polynomial(llvm::ArrayRef<double> points,
                                      size_t except) {
  std::vector<double> coefficients{1};
  for (auto [j, point] : llvm::enumerate(points)) {
    if (j == except)
      continue;
    std::vector<double> next(coefficients.size() + 1);
    for (auto [i, coefficient] : llvm::enumerate(coefficients)) {
      next[i] -= point * coefficient;
      next[i + 1] += coefficient;
    }
    coefficients = std::move(next);
  }
  return coefficients;
}

/// By Toom and Cook: from values at `points`, which are 0 and pairs of opposite
/// numbers, and the highest coefficient.
static WinogradTransform makeTransform(llvm::ArrayRef<double> points,
                                       double error, double gradientError) {
  constexpr int64_t kTaps = WinogradTransform::kTaps;
  int64_t finite = points.size(), side = finite + 1, m = side - kTaps + 1;
  WinogradTransform t{m,
                      Matrix(m, side),
                      Matrix(side, kTaps),
                      Matrix(side, side),
                      Matrix(kTaps, side),
                      error,
                      gradientError};
  std::vector<double> scale(finite, 1);
  for (int64_t i = 0; i < finite; ++i) {
    for (int64_t j = 0; j < finite; ++j)
      if (j != i)
        scale[i] *= points[i] - points[j];
    double power = 1;
    for (int64_t k = 0; k < std::max(m, kTaps); ++k, power *= points[i]) {
      if (k < m)
        t.output.at(k, i) = power;
      if (k < kTaps)
        t.filter.at(i, k) = power / scale[i];
    }
    for (auto [k, each] : llvm::enumerate(polynomial(points, i)))
      t.input.at(i, k) = each;
  }
  t.output.at(m - 1, finite) = 1;
  t.filter.at(finite, kTaps - 1) = 1;
  for (auto [k, each] : llvm::enumerate(polynomial(points, finite)))
    t.input.at(finite, k) = each;
  // The first tap is what is left at 0, the last one the highest coefficient,
  // and the one between half of what tells a pair of opposite points apart.
  t.restoring.at(0, 0) = scale[0];
  t.restoring.at(1, 1) = scale[1] / (2 * points[1]);
  t.restoring.at(1, 2) = -scale[2] / (2 * points[1]);
  t.restoring.at(2, finite) = 1;
  return t;
}

/// Errors are of random images and filters, as parts of that of sums of direct
/// convolutions in the same f32: root mean squares over 64 to 256 channels,
/// from points that were searched for. With the usual 1 and 2, F(4, 3) has 3.3
/// to 4.1; with a fraction that is not exact in few bits it is no better. Those
/// of gradients are from sums over 196 to 50176 positions.
const std::vector<WinogradTransform> &winogradTransforms() {
  static const std::vector<WinogradTransform> all{
      // 0.6 to 0.8, 0.8 to 1.
      makeTransform({0, 1, -1}, /*error=*/0.8, /*gradientError=*/1),
      // 1.6 to 2.1, 1.3 to 2.
      makeTransform({0, 0.625, -0.625, 1.5, -1.5}, /*error=*/2.1,
                    /*gradientError=*/2),
      // 6.5 to 8, 3.5 to 8.
      makeTransform({0, 1, -1, 2, -2, 0.5, -0.5}, /*error=*/8,
                    /*gradientError=*/8),
  };
  return all;
}

} // namespace tinh::cpu
