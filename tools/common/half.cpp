//===- half.cpp - Conversion to half and lower precision --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bit arithmetic after IEEE 754.
//
//===----------------------------------------------------------------------===//
#include "half.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tinh::tools {

static uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

uint16_t to_bf16(float value) {
  uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) // NaN stays one.
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t to_f16(float value) {
  uint32_t bits = bits_of(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) // Rounds to 65536 or more.
    return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x33000001) // At most half of the least subnormal.
    return static_cast<uint16_t>(sign);
  uint32_t exponent = magnitude >> 23;
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  // A normal f16 drops 13 bits of the mantissa, a subnormal one more of them.
  uint32_t drop = exponent >= 113 ? 13 : 126 - exponent;
  uint32_t kept = mantissa >> drop;
  uint32_t rest = mantissa & ((1u << drop) - 1);
  uint32_t half = 1u << (drop - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  uint32_t biased = exponent >= 113 ? (exponent - 113) << 10 : 0;
  return static_cast<uint16_t>(sign | (biased + kept));
}

uint8_t to_f8(float value, int fraction_bits, int bias) {
  if (value == 0)
    return 0;
  int exponent = std::max(std::ilogb(value), 1 - bias);
  // Of what the format has in this binade, halves to even.
  auto steps = static_cast<int>(
      std::nearbyint(std::ldexp(std::fabs(value), fraction_bits - exponent)));
  int bits = ((exponent + bias - 1) << fraction_bits) + steps;
  return static_cast<uint8_t>(bits > 0 && value < 0 ? bits | 0x80 : bits);
}

uint8_t to_f4(float value) {
  uint8_t bits = to_f8(std::min(std::max(value, -6.0f), 6.0f), 1, 1);
  return static_cast<uint8_t>((bits >> 4 & 8) | (bits & 7));
}

} // namespace tinh::tools
