//===- Transforms.h - The matrices of Winograd's algorithms -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(m, 3) computes m neighbouring outputs of a filter of three taps with m + 2
// multiplications: of polynomials, each by its values at m + 1 points and
// infinity. In two dimensions
//
//   Y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A
//
// are m × m outputs of the image's part d and the filter g. What gradient y
// has, g has by the same numbers, transposed:
//
//   dg = Gᵀ [(A dy Aᵀ) ⊙ (Bᵀ d B)] G
//
// Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2015).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WINOGRAD_TRANSFORMS_H
#define TINH_CODEGEN_CPU_WINOGRAD_TRANSFORMS_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tinh::cpu {

struct Matrix {
  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), elements(rows * columns) {}
  double &at(int64_t row, int64_t column) {
    return elements[row * columns + column];
  }
  double at(int64_t row, int64_t column) const {
    return elements[row * columns + column];
  }
  Matrix transposed() const;
  int64_t rows, columns;
  std::vector<double> elements; // Row by row.
};

/// F(m, 3).
struct WinogradTransform {
  static constexpr int64_t kTaps = 3;

  int64_t outputs;  // m, in each dimension.
  Matrix output;    // Aᵀ, m × (m + 2).
  Matrix filter;    // G, (m + 2) × 3.
  Matrix input;     // Bᵀ, (m + 2) × (m + 2).
  Matrix restoring; // L, 3 × (m + 2): L G = 1.
  /// Of its sums of random numbers, as a part of that of direct ones: the root
  /// mean square, at most.
  double error;
  /// The same of the gradients of filters.
  double gradientError;

  /// m + 2: the side of the image's part that a tile of outputs needs.
  int64_t side() const { return outputs + kTaps - 1; }
  /// The numbers that each channel of such a part, or a filter, becomes.
  int64_t products() const { return side() * side(); }
};

/// What --winograd says: none, those that lose little, or all.
enum class AllowedTransforms : uint8_t { None, Accurate, Fast };
/// off, accurate or fast.
std::optional<AllowedTransforms> parseAllowedTransforms(std::string_view name);

/// All that there are, the fewest outputs first.
const std::vector<WinogradTransform> &winogradTransforms();

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WINOGRAD_TRANSFORMS_H
