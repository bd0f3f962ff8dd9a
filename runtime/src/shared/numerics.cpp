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
// Beside it: this source is compiled by others, too, without our folders.
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

  explicit Format(tinh_check_numerics_t wanted)
      : limit(wanted == TINH_CHECK_NANS ? kInfinity : Word(kInfinity - 1)) {}

  bool is_wanted(Word bits) const { return Word(bits & ~kSign) > limit; }
  static double value(Word bits) {
    if (Word(bits & ~kSign) > kInfinity)
      return NAN;
    return bits & kSign ? -INFINITY : INFINITY;
  }

  /// All that is larger than this, but for the sign, is looked for.
  Word limit;
};

/// The floats of 8 bits: what is looked for has some of its bits, and some of
/// them the other way round, above a limit.
struct Float8 {
  using Bits = uint8_t;

  Float8(uint32_t dtype, tinh_check_numerics_t wanted) {
    if (dtype == TINH_DTYPE_F8E5M2)
      limit = wanted == TINH_CHECK_NANS ? 0x7c : 0x7b;
    else if (dtype == TINH_DTYPE_F8E8M0FNU)
      kept = 0xff, limit = 0xfe;
    else if (dtype != TINH_DTYPE_F8E4M3FN) // NaN is what -0 is in others.
      kept = 0xff, flipped = 0x7f, limit = 0xfe;
  }

  bool is_wanted(uint8_t bits) const {
    return uint8_t((bits & kept) ^ flipped) > limit;
  }
  double value(uint8_t bits) const {
    bool is_infinity = limit < 0x7e && (bits & 0x7f) == 0x7c;
    return !is_infinity ? NAN : bits & 0x80 ? -INFINITY : INFINITY;
  }

  uint8_t kept = 0x7f, flipped = 0, limit = 0x7e; // Of E4M3FN.
};

template <typename Format> class Search {
  using Word = typename Format::Bits;

public:
  Search(const NumberArray &array, Format format)
      : array(array), format(format), index(array.rank) {}

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
        count += format.is_wanted(at[i]);
    else
      for (int64_t i = 0; i < extent; ++i)
        count += format.is_wanted(at[i * stride]);
    if (count == 0)
      return;
    if (!found) {
      int64_t first = 0;
      while (!format.is_wanted(at[first * stride]))
        ++first;
      if (array.rank > 0)
        index.back() = first;
      found = {format.value(at[first * stride]), index, 0, 0};
    }
    found->count += count;
  }

  const NumberArray &array;
  const Format format;
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
    return Search(array, Format<uint16_t, 10>(wanted)).run();
  case TINH_DTYPE_BF16:
    return Search(array, Format<uint16_t, 7>(wanted)).run();
  case TINH_DTYPE_F32:
    return Search(array, Format<uint32_t, 23>(wanted)).run();
  case TINH_DTYPE_F64:
    return Search(array, Format<uint64_t, 52>(wanted)).run();
  case TINH_DTYPE_F8E4M3FN:
  case TINH_DTYPE_F8E4M3FNUZ:
  case TINH_DTYPE_F8E5M2:
  case TINH_DTYPE_F8E5M2FNUZ:
  case TINH_DTYPE_F8E8M0FNU:
    return Search(array, Float8(array.dtype, wanted)).run();
  default:
    return std::nullopt;
  }
}

} // namespace tinh::runtime
