//===- Random.h - Which numbers a draw gives --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random numbers are a function of the seed, a counter and the index of the
// element, so any thread may draw any of them: Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3") enciphers the counter, and
// each block of 128 bits gives four numbers, or two that need 64 bits.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_RANDOM_H
#define TINH_EAGER_RANDOM_H

#include "compiler/Eager/Primitives/Attributes.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace tinh::eager {

struct PhiloxBlock {
  uint32_t words[4];

  PhiloxBlock(uint64_t key, uint64_t counter)
      : words{static_cast<uint32_t>(counter),
              static_cast<uint32_t>(counter >> 32), 0, 0} {
    uint32_t key0 = static_cast<uint32_t>(key), key1 = key >> 32;
    for (int round = 0; round < 10; ++round) {
      uint64_t a = uint64_t(0xD2511F53) * words[0];
      uint64_t b = uint64_t(0xCD9E8D57) * words[2];
      words[0] = static_cast<uint32_t>(b >> 32) ^ words[1] ^ key0;
      words[1] = static_cast<uint32_t>(b);
      words[2] = static_cast<uint32_t>(a >> 32) ^ words[3] ^ key1;
      words[3] = static_cast<uint32_t>(a);
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
  }

  uint64_t wide(int half) const {
    return words[2 * half] | uint64_t(words[2 * half + 1]) << 32;
  }
};

/// Whether the numbers of a draw take 64 bits each: two to a block, not four.
inline bool drawsWideNumbers(Draw::Kind kind, tinh_dtype_t dtype) {
  return kind == Draw::Integers ||
         (dtype == TINH_DTYPE_F64 && kind != Draw::Bernoulli);
}

/// The blocks that `count` numbers take, by which a generator advances.
inline uint64_t blocksOfDraw(Draw::Kind kind, tinh_dtype_t dtype,
                             uint64_t count) {
  uint64_t perBlock = drawsWideNumbers(kind, dtype) ? 2 : 4;
  return (count + perBlock - 1) / perBlock;
}

/// Significant bits of a floating-point dtype: of a uniform number, so that
/// rounding does not make it 1.
inline int significantBits(tinh_dtype_t dtype) {
  switch (dtype) {
  case TINH_DTYPE_F64:
    return 53;
  case TINH_DTYPE_F16:
    return 11;
  case TINH_DTYPE_BF16:
    return 8;
  default:
    return 24;
  }
}

/// The numbers of one block: `count` of them, real for all but Integers.
struct DrawnNumbers {
  int count;
  double real[4];
  int64_t integer[2];
};

inline void drawUniform(const PhiloxBlock &block, bool wide, int bits,
                        double *unit) {
  double scale = 1 / static_cast<double>(uint64_t(1) << bits);
  if (wide)
    for (int i = 0; i < 2; ++i)
      unit[i] = static_cast<double>(block.wide(i) >> (64 - bits)) * scale;
  else
    for (int i = 0; i < 4; ++i)
      unit[i] = (block.words[i] >> (32 - bits)) * scale;
}

/// ln x for 2^-24 ≤ x ≤ 1, to 1 ulp. Without branches, as is what follows, so
/// that loops over it become vector code, which gives the same bits. After
/// Moshier's Cephes library.
inline float logOfUnit(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  // Of √½ ≤ m < √2 times a power of 2.
  int32_t exponent = static_cast<int32_t>(bits - 0x3F3504F3) >> 23;
  float e = static_cast<float>(exponent);
  float m = std::bit_cast<float>(bits - (uint32_t(exponent) << 23)) - 1;
  float square = m * m;
  float y = 7.0376836292E-2f * m - 1.1514610310E-1f;
  y = y * m + 1.1676998740E-1f;
  y = y * m - 1.2420140846E-1f;
  y = y * m + 1.4249322787E-1f;
  y = y * m - 1.6668057665E-1f;
  y = y * m + 2.0000714765E-1f;
  y = y * m - 2.4999993993E-1f;
  y = y * m + 3.3333331174E-1f;
  y = y * m * square - 2.12194440e-4f * e - 0.5f * square;
  return m + y + 0.693359375f * e;
}

/// The sine and cosine of `turn` whole turns, 0 ≤ turn < 1.
inline void sineAndCosine(float turn, float &sine, float &cosine) {
  int32_t quarter = static_cast<int32_t>(turn * 4 + 0.5f);
  float x = (turn - 0.25f * static_cast<float>(quarter)) * 6.2831853072f;
  float z = x * x;
  float s = x + x * z *
                    (-1.6666654611E-1f +
                     z * (8.3321608736E-3f - z * 1.9515295891E-4f));
  float c = 1 - 0.5f * z +
            z * z *
                (4.166664568298827E-2f +
                 z * (-1.388731625493765E-3f + z * 2.443315711809948E-5f));
  bool isSwapped = quarter & 1;
  sine = isSwapped ? c : s;
  cosine = isSwapped ? s : c;
  sine = quarter & 2 ? -sine : sine;
  cosine = (quarter + 1) & 2 ? -cosine : cosine;
}

/// Two uniform numbers to two normal ones (Box and Muller).
inline void makeNormal(float u, float v, float &a, float &b) {
  float radius = std::sqrt(-2 * logOfUnit(1 - u)), sine, cosine;
  sineAndCosine(v, sine, cosine);
  a = radius * cosine;
  b = radius * sine;
}
inline void makeNormal(double u, double v, double &a, double &b) {
  double radius = std::sqrt(-2 * std::log(1 - u));
  double angle = 2 * std::numbers::pi * v;
  a = radius * std::cos(angle);
  b = radius * std::sin(angle);
}

/// Uniform numbers to normal ones, in pairs.
template <typename Real> void makeNormals(double *numbers, int count) {
  for (int i = 0; i < count; i += 2) {
    Real a, b;
    makeNormal(static_cast<Real>(numbers[i]), static_cast<Real>(numbers[i + 1]),
               a, b);
    numbers[i] = a;
    numbers[i + 1] = b;
  }
}

inline DrawnNumbers drawBlock(const Draw &draw, tinh_dtype_t dtype,
                              uint64_t index) {
  PhiloxBlock block(draw.key, draw.counter + index);
  bool wide = drawsWideNumbers(draw.kind, dtype);
  DrawnNumbers numbers;
  numbers.count = wide ? 2 : 4;
  switch (draw.kind) {
  case Draw::Integers: {
    uint64_t low = draw.a.integer, range = draw.b.integer - low;
    for (int i = 0; i < 2; ++i) {
      uint64_t bits = block.wide(i);
      uint64_t below = static_cast<unsigned __int128>(bits) * range >> 64;
      numbers.integer[i] = static_cast<int64_t>(low + (range ? below : bits));
    }
    break;
  }
  case Draw::Bernoulli:
    drawUniform(block, false, 32, numbers.real);
    for (double &number : numbers.real)
      number = number < draw.a.real;
    break;
  case Draw::Uniform:
    drawUniform(block, wide, significantBits(dtype), numbers.real);
    for (int i = 0; i < numbers.count; ++i)
      numbers.real[i] =
          draw.a.real + (draw.b.real - draw.a.real) * numbers.real[i];
    break;
  case Draw::Normal:
    drawUniform(block, wide, wide ? 53 : 24, numbers.real);
    wide ? makeNormals<double>(numbers.real, 2)
         : makeNormals<float>(numbers.real, 4);
    for (int i = 0; i < numbers.count; ++i)
      numbers.real[i] = draw.a.real + draw.b.real * numbers.real[i];
    break;
  }
  return numbers;
}

} // namespace tinh::eager

#endif // TINH_EAGER_RANDOM_H
