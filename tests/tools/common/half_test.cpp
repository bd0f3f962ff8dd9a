//===- half_test.cpp - Rounding to half precision ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value of both formats, and what lies between two of them.
//
//===----------------------------------------------------------------------===//
#include "half.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tinh::tools;

namespace {

/// The value of the bits of a format with a sign, `exponent_bits` and a
/// mantissa; not for infinities and NaNs.
double decode(uint16_t bits, int exponent_bits) {
  int mantissa_bits = 15 - exponent_bits;
  int exponent = (bits & 0x7fff) >> mantissa_bits;
  int mantissa = bits & ((1 << mantissa_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                               : std::ldexp(mantissa + (1 << mantissa_bits),
                                            exponent - bias - mantissa_bits);
  return bits & 0x8000 ? -value : value;
}

/// Checks each positive finite value, its negative, and the three floats about
/// the middle between it and the next, where `infinity` ends the format.
void check_format(uint16_t (*round)(float), int exponent_bits,
                  uint16_t infinity) {
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    auto exact = static_cast<float>(decode(bits, exponent_bits));
    ASSERT_EQ(round(exact), bits);
    ASSERT_EQ(round(-exact), bits | 0x8000);
    double next = decode(static_cast<uint16_t>(bits + 1), exponent_bits);
    auto middle = static_cast<float>((exact + next) / 2);
    ASSERT_EQ(double(middle), (exact + next) / 2);
    ASSERT_EQ(round(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(round(std::nextafter(middle, HUGE_VALF)), bits + 1);
    ASSERT_EQ(round(middle), bits % 2 ? bits + 1 : bits);
  }
}

} // namespace

TEST(Half, RoundsToNearestEven) { check_format(to_f16, 5, 0x7c00); }

TEST(BFloat, RoundsToNearestEven) {
  // Beyond its largest value lies what a double holds and a float does not.
  check_format(to_bf16, 8, 0x7f7f);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Float8, RoundsToNearestEven) {
  // By the bits of the fraction and of the exponent that is 0; the last code is
  // not tried, as it is no number in some formats.
  for (auto [fraction, bias] :
       {std::pair{3, 7}, std::pair{3, 8}, std::pair{2, 15}, std::pair{2, 16}}) {
    auto number = [fraction = fraction, bias = bias](int bits) {
      int exponent = std::max(bits >> fraction, 1);
      int steps = bits - ((exponent - 1) << fraction);
      return std::ldexp(float(steps), exponent - bias - fraction);
    };
    for (int bits = 0; bits < 0x7a; ++bits) {
      float exact = number(bits), middle = (exact + number(bits + 1)) / 2;
      ASSERT_EQ(to_f8(exact, fraction, bias), bits);
      ASSERT_EQ(to_f8(-exact, fraction, bias), bits ? bits | 0x80 : 0);
      ASSERT_EQ(to_f8(std::nextafter(middle, 0.0f), fraction, bias), bits);
      ASSERT_EQ(to_f8(std::nextafter(middle, HUGE_VALF), fraction, bias),
                bits + 1);
      ASSERT_EQ(to_f8(middle, fraction, bias), bits % 2 ? bits + 1 : bits);
    }
    EXPECT_EQ(to_f8(-1e-30f, fraction, bias), 0);
  }
}

TEST(Half, KeepsWhatIsNoNumber) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_f16(HUGE_VALF), 0x7c00);
  EXPECT_EQ(to_f16(-HUGE_VALF), 0xfc00);
  EXPECT_EQ(to_f16(1e30f), 0x7c00);
  EXPECT_EQ(to_f16(nan) & 0x7e00, 0x7e00);
  EXPECT_EQ(to_bf16(-HUGE_VALF), 0xff80);
  EXPECT_EQ(to_bf16(nan) & 0x7fc0, 0x7fc0);
}
