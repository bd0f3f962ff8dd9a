//===- MathKernel.h - Kernels of one function, and errors -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CODEGEN_CPU_MATH_MATHKERNEL_H
#define TINH_TESTS_CODEGEN_CPU_MATH_MATHKERNEL_H

#include "compiler/Eager/Kernels/Jit.h"
#include "tinh/artifact.h"

#include <span>
#include <string>
#include <vector>

namespace tinh::tests {

/// A function of floats, how it is computed, and what it may be wrong by.
struct MathFunction {
  std::string name;
  /// Of one input, in f64: exact, but for what an f32 does not show.
  double (*of1)(double) = nullptr;
  /// Of two.
  double (*of2)(double, double) = nullptr;
  /// Units in the last place.
  double accurate = 0, fast = 0;
};

/// All that compiler/Codegen/CPU/Math has.
const std::vector<MathFunction> &mathFunctions();

/// The worst of many results.
struct WorstError {
  double ulps = 0;
  float x = 0, y = 0, result = 0;
  double expected = 0;

  /// Takes the worse one.
  void add(const WorstError &other) {
    if (other.ulps > ulps)
      *this = other;
  }
};

/// One function, compiled as kernels are.
class MathKernel {
public:
  static constexpr size_t kSize = 32768;

  MathKernel(eager::Jit &jit, const MathFunction &function, bool isFast);

  /// Of kSize elements each; `y` is read by functions of two inputs.
  void run(const float *x, const float *y, float *results) const;

  /// What `result` is wrong by.
  WorstError errorOf(float x, float y, float result, double expected) const;

  const MathFunction &function;
  const bool isFast;

private:
  tinh_kernel_fn code;
};

/// Computes all of `x`, any number of them, with each of the kernels, which are
/// of one function. `y` has as many elements, or none.
std::vector<WorstError> errorsOf(std::span<const MathKernel> kernels,
                                 std::span<const float> x,
                                 std::span<const float> y);

} // namespace tinh::tests

#endif // TINH_TESTS_CODEGEN_CPU_MATH_MATHKERNEL_H
