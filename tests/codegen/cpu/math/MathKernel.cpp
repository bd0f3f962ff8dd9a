//===- MathKernel.cpp - Kernels of one function, and errors -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "MathKernel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tinh::tests {

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<MathFunction> &mathFunctions() {
  static const std::vector<MathFunction> functions = {
      {"exp", std::exp, nullptr, 1, 3},
      {"exp2", std::exp2, nullptr, 1, 3},
      {"expm1", std::expm1, nullptr, 2, 2},
      {"sigmoid", sigmoid, nullptr, 2, 4},
      {"tanh", std::tanh, nullptr, 2, 6},
      {"log", std::log, nullptr, 1.5, 5},
      {"log2", std::log2, nullptr, 1.5, 5},
      {"log10", std::log10, nullptr, 1.5, 5},
      {"log1p", std::log1p, nullptr, 2, 5},
      {"erf", std::erf, nullptr, 1.5, 7},
      {"sin", std::sin, nullptr, 2, 2},
      {"cos", std::cos, nullptr, 2, 2},
      {"powf", nullptr, std::pow, 1.5, 8},
  };
  return functions;
}

/// The ops of a kernel's body on %x and %y, whose result is %r.
static std::string bodyOf(const MathFunction &function, bool isFast) {
  std::string flags = isFast ? " fastmath<afn>" : "";
  if (function.name == "sigmoid")
    return "%one = arith.constant 1.0 : f32\n"
           "%n = arith.negf %x : f32\n"
           "%e = math.exp %n" +
           flags +
           " : f32\n"
           "%d = arith.addf %one, %e : f32\n"
           "%r = arith.divf %one, %d : f32\n";
  return "%r = math." + function.name + " %x" + (function.of2 ? ", %y" : "") +
         flags + " : f32\n";
}

static std::string textOf(const std::string &symbol, const std::string &body,
                          unsigned lanes) {
  std::string type = "tensor<" + std::to_string(MathKernel::kSize) + "xf32>";
  std::string map = "affine_map<(d0) -> (d0)>";
  return "func.func @" + symbol + "(%a: " + type + ", %b: " + type + ") -> " +
         type + " attributes {graph.plan = #cpu.rows<outer = 0, lanes = " +
         std::to_string(lanes) +
         ", block = 1024, units = 1>, graph.chunks = 32 : i64, graph.scratch = "
         "0 : i64} {\n"
         "%0 = tensor.empty() : " +
         type + "\n%1 = linalg.generic {indexing_maps = [" + map + ", " + map +
         ", " + map +
         "], iterator_types = [\"parallel\"]} ins(%a, %b : " + type + ", " +
         type + ") outs(%0 : " + type +
         ") {\n^bb0(%x: f32, %y: f32, %out: f32):\n" + body +
         "linalg.yield %r : f32\n} -> " + type + "\nreturn %1 : " + type +
         "\n}\n";
}

MathKernel::MathKernel(eager::Jit &jit, const MathFunction &function,
                       bool isFast)
    : function(function), isFast(isFast) {
  std::string symbol = function.name + (isFast ? "_fast" : "_accurate");
  std::string text = textOf(symbol, bodyOf(function, isFast),
                            jit.machine().vectorBytes / sizeof(float));
  code = reinterpret_cast<tinh_kernel_fn>(jit.compile(symbol, text));
}

void MathKernel::run(const float *x, const float *y, float *results) const {
  void *buffers[] = {const_cast<float *>(x), const_cast<float *>(y), results};
  code(buffers, nullptr, 0, kSize / 1024);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// The distance of floats near `x`, from its bits.
static double ulpOf(double x) {
  constexpr int kBias = 1023;
  int exponent =
      static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff) - kBias;
  uint64_t ulp = std::clamp(exponent, -126, 127) - 23 + kBias;
  return std::bit_cast<double>(ulp << 52);
}

/// Infinity as the number that would follow the largest one.
static double bounded(double x) { return std::clamp(x, -0x1p128, 0x1p128); }

/// Whether fast functions may take it as 0.
static bool isTiny(double x) { return std::fabs(x) < 0x1p-125; }

static double ulpsBetween(float result, double expected) {
  if (std::isnan(result) || std::isnan(expected))
    return std::isnan(result) && std::isnan(expected)
               ? 0
               : std::numeric_limits<double>::infinity();
  // Signs of zeros.
  if (result == 0 && expected == 0)
    return std::signbit(result) == std::signbit(expected) ? 0 : 1e9;
  double nearest = bounded(expected);
  return std::fabs(bounded(result) - nearest) / ulpOf(nearest);
}

static double expectedOf(const MathFunction &function, double x, double y) {
  return function.of1 ? function.of1(x) : function.of2(x, y);
}

WorstError MathKernel::errorOf(float x, float y, float result,
                               double expected) const {
  WorstError error{ulpsBetween(result, expected), x, y, result, expected};
  if (!isFast)
    return error;
  if (isTiny(expected) && isTiny(result))
    error.ulps = 0;
  if (error.ulps > function.fast && x != 0 && std::fabs(x) < 0x1p-126f) {
    double flushed = expectedOf(function, std::copysign(0.0, x), y);
    error.ulps = std::min(error.ulps, ulpsBetween(result, flushed));
  }
  return error;
}

/// The same of up to kSize elements; the buffers have that many.
static void addErrorsOf(std::span<const MathKernel> kernels, size_t count,
                        const std::vector<float> &x,
                        const std::vector<float> &y,
                        std::vector<WorstError> &worst) {
  std::vector<double> expected(count);
  for (size_t i = 0; i < count; ++i)
    expected[i] = expectedOf(kernels[0].function, x[i], y[i]);
  std::vector<float> results(MathKernel::kSize);
  for (auto [kernel, error] : llvm::zip(kernels, worst)) {
    kernel.run(x.data(), y.data(), results.data());
    for (size_t i = 0; i < count; ++i)
      error.add(kernel.errorOf(x[i], y[i], results[i], expected[i]));
  }
}

std::vector<WorstError> errorsOf(std::span<const MathKernel> kernels,
                                 std::span<const float> x,
                                 std::span<const float> y) {
  constexpr size_t kSize = MathKernel::kSize;
  std::vector<WorstError> worst(kernels.size());
  std::vector<float> left(kSize), right(kSize);
  for (size_t start = 0; start < x.size(); start += kSize) {
    size_t count = std::min(kSize, x.size() - start);
    std::copy_n(x.begin() + start, count, left.begin());
    if (!y.empty())
      std::copy_n(y.begin() + start, count, right.begin());
    addErrorsOf(kernels, count, left, right, worst);
  }
  return worst;
}

} // namespace tinh::tests
