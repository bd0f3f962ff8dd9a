//===- EmulateModel.h - What instructions compute ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands, and what Intel's manual says of them.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CODEGEN_CPU_EMULATEMODEL_H
#define TINH_TESTS_CODEGEN_CPU_EMULATEMODEL_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace tinh::tests {

template <typename Value> using Values = std::vector<Value>;

inline std::mt19937 &generator() {
  static std::mt19937 random(17);
  return random;
}

/// Integers of all sizes, the largest and smallest among them often.
template <typename Value> Values<Value> integers(size_t count) {
  Values<Value> result(count);
  for (Value &value : result)
    switch (generator()() % 4) {
    case 0:
      value = std::numeric_limits<Value>::min();
      break;
    case 1:
      value = std::numeric_limits<Value>::max();
      break;
    default:
      value = static_cast<Value>(generator()());
    }
  return result;
}

/// Numbers of different sizes, zeros and denormals.
inline float anyFloat() {
  uint32_t bits = generator()();
  uint32_t exponents[] = {0, 1, 60, 100, 120, 125, 127, 130, 150};
  uint32_t exponent = exponents[generator()() % std::size(exponents)];
  return std::bit_cast<float>((bits & 0x807fffff) | exponent << 23);
}

inline Values<float> floats(size_t count) {
  Values<float> result(count);
  std::generate(result.begin(), result.end(), anyFloat);
  return result;
}

inline Values<uint16_t> bf16s(size_t count) {
  Values<uint16_t> result(count);
  for (uint16_t &value : result)
    value = std::bit_cast<uint32_t>(anyFloat()) >> 16;
  return result;
}

inline float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

inline float widen(uint16_t x) {
  return std::bit_cast<float>(uint32_t(x) << 16);
}

inline float addProduct(float sum, uint16_t x, uint16_t y) {
  return flush(std::fma(flush(widen(x)), flush(widen(y)), flush(sum)));
}

/// Bits, to compare them.
inline Values<uint32_t> bitsOf(const Values<float> &values) {
  Values<uint32_t> result;
  for (float value : values)
    result.push_back(std::bit_cast<uint32_t>(value));
  return result;
}

} // namespace tinh::tests

#endif // TINH_TESTS_CODEGEN_CPU_EMULATEMODEL_H
