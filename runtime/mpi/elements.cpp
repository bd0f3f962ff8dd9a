//===- elements.cpp - Elements of collectives, reduced in order -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace tinh::mpi {

namespace {

/// How elements are stored, and what they are added as.
template <typename T> struct Number {
  using Stored = T;
  using Sum = T;
  static Sum load(Stored x) { return x; }
  static Stored store(Sum x) { return x; }
};

struct Half {
  using Stored = _Float16;
  using Sum = float;
  static Sum load(Stored x) { return static_cast<float>(x); }
  static Stored store(Sum x) { return static_cast<_Float16>(x); }
};

struct BFloat {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored x) {
    return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
  }
  static Stored store(Sum x) {
    auto bits = std::bit_cast<uint32_t>(x);
    if (x != x)
      return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
};

template <typename Sum> Sum combine(tinh_reduction_t reduction, Sum a, Sum b) {
  if (reduction == TINH_REDUCE_MAX)
    return a != a || a > b ? a : b;      // A NaN stays one.
  if constexpr (std::is_integral_v<Sum>) // Wraps around.
    return static_cast<Sum>(static_cast<std::make_unsigned_t<Sum>>(a) +
                            static_cast<std::make_unsigned_t<Sum>>(b));
  else
    return a + b;
}

template <typename Element>
void reduce_elements(tinh_reduction_t reduction,
                     std::span<const void *const> parts, size_t count,
                     void *output) {
  using Sum = typename Element::Sum;
  using Stored = typename Element::Stored;
  auto *to = static_cast<Stored *>(output);
  constexpr size_t kBlock = 512; // Of sums, within the first-level cache.
  Sum sums[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    size_t n = std::min(kBlock, count - begin);
    const auto *first = static_cast<const Stored *>(parts[0]) + begin;
    for (size_t i = 0; i < n; ++i)
      sums[i] = Element::load(first[i]);
    for (const void *part : parts.subspan(1)) {
      const auto *row = static_cast<const Stored *>(part) + begin;
      for (size_t i = 0; i < n; ++i)
        sums[i] = combine<Sum>(reduction, sums[i], Element::load(row[i]));
    }
    if (reduction == TINH_REDUCE_MEAN)
      for (size_t i = 0; i < n; ++i)
        sums[i] /= static_cast<Sum>(parts.size());
    for (size_t i = 0; i < n; ++i)
      to[begin + i] = Element::store(sums[i]);
  }
}

} // namespace

size_t element_size(tinh_dtype_t dtype) {
  switch (dtype) {
  case TINH_DTYPE_F64:
  case TINH_DTYPE_I64:
  case TINH_DTYPE_U64:
    return 8;
  case TINH_DTYPE_F32:
  case TINH_DTYPE_I32:
  case TINH_DTYPE_U32:
    return 4;
  case TINH_DTYPE_F16:
  case TINH_DTYPE_BF16:
  case TINH_DTYPE_I16:
  case TINH_DTYPE_U16:
    return 2;
  case TINH_DTYPE_BOOL:
  case TINH_DTYPE_I8:
  case TINH_DTYPE_U8:
  case TINH_DTYPE_F8E4M3FN:
  case TINH_DTYPE_F8E4M3FNUZ:
  case TINH_DTYPE_F8E5M2:
  case TINH_DTYPE_F8E5M2FNUZ:
  case TINH_DTYPE_F8E8M0FNU:
  case TINH_DTYPE_F4E2M1FN:
    return 1;
  }
  return 0;
}

bool is_reducible(tinh_dtype_t dtype, tinh_reduction_t reduction) {
  switch (dtype) {
  case TINH_DTYPE_F16:
  case TINH_DTYPE_BF16:
  case TINH_DTYPE_F32:
  case TINH_DTYPE_F64:
    return true;
  case TINH_DTYPE_I32:
  case TINH_DTYPE_I64:
    return reduction != TINH_REDUCE_MEAN;
  default:
    return false;
  }
}

void reduce(tinh_dtype_t dtype, tinh_reduction_t reduction,
            std::span<const void *const> parts, size_t count, void *output) {
  auto run = [&]<typename Element>(Element) {
    reduce_elements<Element>(reduction, parts, count, output);
  };
  switch (dtype) {
  case TINH_DTYPE_F16:
    return run(Half());
  case TINH_DTYPE_BF16:
    return run(BFloat());
  case TINH_DTYPE_F32:
    return run(Number<float>());
  case TINH_DTYPE_F64:
    return run(Number<double>());
  case TINH_DTYPE_I32:
    return run(Number<int32_t>());
  case TINH_DTYPE_I64:
    return run(Number<int64_t>());
  default:
    return; // Not reducible.
  }
}

void round_to_bf16(const float *from, size_t count, uint16_t *to) {
  for (size_t i = 0; i < count; ++i)
    to[i] = BFloat::store(from[i]);
}

void extend_bf16(const uint16_t *from, size_t count, float *to) {
  for (size_t i = 0; i < count; ++i)
    to[i] = BFloat::load(from[i]);
}

} // namespace tinh::mpi
