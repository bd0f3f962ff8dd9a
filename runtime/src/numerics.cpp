//===- numerics.cpp - Looking for numbers that are not finite ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers are compared as bits: the exponents of those that are not finite are
// all ones, and the fractions of infinities are zero; but for some floats of 8
// bits.
//
//===----------------------------------------------------------------------===//
#include "numerics.h"

#include <algorithm>
#include <cmath>

namespace tinh::runtime {
namespace {

/// A floating-point type by its bits.
template <typename Word, unsigned kFractionBits> struct Format {
  using Bits = Word;
  static constexpr Word kSign = Word(1) << (8 * sizeof(Word) - 1);
  static constexpr Word kFraction = (Word(1) << kFractionBits) - 1;
  static constexpr Word kInfinity = Word(~(kSign | kFraction));

  /// All that is larger than `limit`, but for the sign, is looked for.
  static constexpr Word limit(tinh_check_numerics_t wanted) {
    return wanted == TINH_CHECK_NANS ? kInfinity : Word(kInfinity - 1);
  }
  static bool is_above(Word bits, Word limit) {
    return Word(bits & ~kSign) > limit;
  }
  static double value(Word bits) {
    if (Word(bits & ~kSign) > kInfinity)
      return NAN;
    return bits & kSign ? -INFINITY : INFINITY;
  }
};

/// A float of 8 bits without infinities: E4M3FN, whose NaNs have all bits set
/// but the sign, or one whose NaN is what -0 is in others.
template <bool kHasNegativeZero> struct ByteFormat {
  using Bits = uint8_t;
  static constexpr uint8_t limit(tinh_check_numerics_t) { return 0x7e; }
  static bool is_above(uint8_t bits, uint8_t limit) {
    return kHasNegativeZero ? (bits & 0x7f) > limit : bits == 0x80;
  }
  static double value(uint8_t) { return NAN; }
};

template <typename Format> class Search {
  using Word = typename Format::Bits;

public:
  Search(const NumberArray &array, tinh_check_numerics_t wanted)
      : array(array), limit(Format::limit(wanted)), index(array.rank) {}

  std::optional<NotFinite> run() {
    uint64_t total = 1;
    for (size_t d = 0; d < array.rank; ++d)
      total *= static_cast<uint64_t>(array.dims[d]);
    if (total > 0)
      search(0, static_cast<const Word *>(array.data));
    if (found)
      found->total = total;
    return std::move(found);
  }

private:
  /// All elements whose first `dim` indices are those of `index`.
  void search(size_t dim, const Word *at) {
    if (dim == array.rank)
      return search_row(at, 1, 1);
    int64_t extent = array.dims[dim], stride = array.strides[dim];
    if (dim + 1 == array.rank)
      return search_row(at, extent, stride);
    for (int64_t i = 0; i < extent; ++i) {
      index[dim] = i;
      search(dim + 1, at + i * stride);
    }
  }

  void search_row(const Word *at, int64_t extent, int64_t stride) {
    uint64_t count = 0;
    if (stride == 1)
      for (int64_t i = 0; i < extent; ++i)
        count += Format::is_above(at[i], limit);
    else
      for (int64_t i = 0; i < extent; ++i)
        count += Format::is_above(at[i * stride], limit);
    if (count == 0)
      return;
    if (!found) {
      int64_t first = 0;
      while (!Format::is_above(at[first * stride], limit))
        ++first;
      if (array.rank > 0)
        index.back() = first;
      found = {Format::value(at[first * stride]), index, 0, 0};
    }
    found->count += count;
  }

  const NumberArray &array;
  const Word limit;
  std::vector<int64_t> index;
  std::optional<NotFinite> found;
};

} // namespace

std::string NotFinite::text() const {
  std::string text = std::isnan(value) ? "NaN"
                     : value > 0       ? "infinity"
                                       : "-infinity";
  text += " at [";
  for (size_t d = 0; d < index.size(); ++d)
    text.append(d ? ", " : "").append(std::to_string(index[d]));
  text += ']';
  if (total > 1)
    text += ", the first of " + std::to_string(count) + " among " +
            std::to_string(total) + " numbers";
  return text;
}

std::optional<NotFinite> find_not_finite(const NumberArray &array,
                                         tinh_check_numerics_t wanted) {
  if (wanted == TINH_CHECK_NOTHING)
    return std::nullopt;
  switch (array.dtype) {
  case TINH_DTYPE_F16:
    return Search<Format<uint16_t, 10>>(array, wanted).run();
  case TINH_DTYPE_BF16:
    return Search<Format<uint16_t, 7>>(array, wanted).run();
  case TINH_DTYPE_F32:
    return Search<Format<uint32_t, 23>>(array, wanted).run();
  case TINH_DTYPE_F64:
    return Search<Format<uint64_t, 52>>(array, wanted).run();
  case TINH_DTYPE_F8E5M2:
    return Search<Format<uint8_t, 2>>(array, wanted).run();
  case TINH_DTYPE_F8E4M3FN:
    return Search<ByteFormat<true>>(array, wanted).run();
  case TINH_DTYPE_F8E4M3FNUZ:
  case TINH_DTYPE_F8E5M2FNUZ:
    return Search<ByteFormat<false>>(array, wanted).run();
  default:
    return std::nullopt;
  }
}

} // namespace tinh::runtime
