//===- MathTest.cpp - exp, log … of some floats -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `./dev check` tries all floats (MathErrors.cpp).
//
//===----------------------------------------------------------------------===//
#include "MathKernel.h"

#include "compiler/Codegen/CPU/Target.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tinh::tests {
namespace {

/// Some floats of all sizes, and those around which functions change.
std::vector<float> someFloats() {
  std::vector<float> floats;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 19997)
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float x : {0.0f,        0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f,
                  1.0f,        kInfinity, 0.921875f,        3.92f,
                  9.02f,       18.0f,     65536.0f,         87.3f,
                  88.72284f,   103.97f,   104.0f,           126.0f,
                  128.0f,      149.0f,    0.70710678f,      1.41421356f,
                  3.14159274f, 0x1p127f,  0x1.fffffep127f})
    for (float sign : {x, -x})
      for (float near : {std::nextafter(sign, -kInfinity), sign,
                         std::nextafter(sign, kInfinity)})
        floats.push_back(near);
  floats.push_back(std::numeric_limits<float>::quiet_NaN());
  return floats;
}

/// All pairs of these, which have all cases of powers among them.
void addSpecialPairs(std::vector<float> &x, std::vector<float> &y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> numbers = {
      0,   0x1p-149f, 0x1p-126f,   0.5f, 1,     1.5f,      2,   3,
      127, 128,       16777215.0f, 1e8f, 1e38f, kInfinity, kNan};
  for (size_t i = 0, end = numbers.size(); i < end; ++i)
    numbers.push_back(-numbers[i]);
  for (float left : numbers)
    for (float right : numbers) {
      x.push_back(left);
      y.push_back(right);
    }
}

/// And some whose powers are finite.
void addPairs(std::vector<float> &x, std::vector<float> &y) {
  for (float base : someFloats()) {
    float logarithm = std::log2(std::fabs(base));
    x.push_back(base);
    y.push_back(std::fmod(static_cast<float>(x.size()), 270.0f) - 145);
    if (std::isnormal(logarithm))
      y.back() /= logarithm;
  }
}

void expectSmallErrors(eager::Jit &jit, const MathFunction &function) {
  const MathKernel kernels[] = {{jit, function, false}, {jit, function, true}};
  std::vector<float> x = function.of2 ? std::vector<float>() : someFloats(), y;
  if (function.of2) {
    addSpecialPairs(x, y);
    addPairs(x, y);
  }
  std::vector<WorstError> worst = errorsOf(kernels, x, y);
  for (int fast : {0, 1})
    EXPECT_LE(worst[fast].ulps, fast ? function.fast : function.accurate)
        << function.name << (fast ? ", fast: " : ": ") << worst[fast].result
        << " instead of " << worst[fast].expected << " for " << worst[fast].x
        << ", " << worst[fast].y;
}

TEST(Math, ErrorsAreSmall) {
  for (const char *cpu : {"native", "x86-64-v3"}) {
    SCOPED_TRACE(cpu);
    eager::Jit jit(cpu, "");
    for (const MathFunction &function : mathFunctions())
      expectSmallErrors(jit, function);
  }
}

} // namespace
} // namespace tinh::tests
