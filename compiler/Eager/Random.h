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

#include "compiler/Eager/Backend.h"

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
  double scale = std::ldexp(1.0, -bits);
  if (wide)
    for (int i = 0; i < 2; ++i)
      unit[i] = static_cast<double>(block.wide(i) >> (64 - bits)) * scale;
  else
    for (int i = 0; i < 4; ++i)
      unit[i] = (block.words[i] >> (32 - bits)) * scale;
}

/// Pairs of uniform numbers to pairs of normal ones (Box and Muller).
template <typename Real> void makeNormal(double *unit, int count) {
  for (int i = 0; i < count; i += 2) {
    Real radius = std::sqrt(Real(-2) * std::log(Real(1) - Real(unit[i])));
    Real angle = Real(2 * std::numbers::pi) * Real(unit[i + 1]);
    unit[i] = radius * std::cos(angle);
    unit[i + 1] = radius * std::sin(angle);
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
    wide ? makeNormal<double>(numbers.real, 2)
         : makeNormal<float>(numbers.real, 4);
    for (int i = 0; i < numbers.count; ++i)
      numbers.real[i] = draw.a.real + draw.b.real * numbers.real[i];
    break;
  }
  return numbers;
}

} // namespace tinh::eager

#endif // TINH_EAGER_RANDOM_H
