//===- Half.h - Half-precision numbers on the host --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_HALF_H
#define TINH_EAGER_TENSOR_HALF_H

#include <bit>
#include <cstdint>

namespace tinh::eager {

/// The bits of f16, rounded to nearest even, and back.
inline uint16_t floatToHalf(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}
inline float halfToFloat(uint16_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

/// The same of bf16, the upper half of f32.
inline uint16_t floatToBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40); // NaN stays NaN.
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline float bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_HALF_H
