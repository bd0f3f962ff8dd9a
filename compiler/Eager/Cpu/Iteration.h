//===- Iteration.h - Elements of several tensors, in step -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of tensors of one shape are visited together, in an order that
// suits the result's memory and with as few dimensions as their strides allow.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CPU_ITERATION_H
#define TINH_EAGER_CPU_ITERATION_H

#include "compiler/Eager/Tensor/TensorImpl.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tinh::eager {

/// The innermost dimension comes first: its elements are the columns of rows,
/// and the next dimension counts rows. Strides are in elements.
template <unsigned N> struct Iteration {
  uint32_t rank = 0; // At least 1 when it is complete.
  int64_t extents[TINH_MAX_RANK];
  int64_t strides[N][TINH_MAX_RANK];

  Iteration() {}
  Iteration(const Iteration &other) { *this = other; }
  Iteration &operator=(const Iteration &other) {
    rank = other.rank;
    std::copy_n(other.extents, rank, extents);
    for (unsigned n = 0; n < N; ++n)
      std::copy_n(other.strides[n], rank, strides[n]);
    return *this;
  }
  /// Over the shape of the last operand, to which the others are broadcast.
  /// Null operands are numbers.
  explicit Iteration(const TensorImpl *const (&operands)[N]) {
    const Dims &sizes = operands[N - 1]->sizes;
    for (uint32_t d = sizes.size(); d-- > 0;) {
      if (sizes[d] == 1)
        continue;
      extents[rank] = sizes[d];
      for (unsigned n = 0; n < N; ++n)
        strides[n][rank] = broadcastStride(operands[n], d, sizes.size());
      ++rank;
    }
    sort(N - 1);
    merge();
  }

  /// An outer dimension more.
  void add(int64_t extent, const int64_t (&itsStrides)[N]) {
    extents[rank] = extent;
    for (unsigned n = 0; n < N; ++n)
      strides[n][rank] = itsStrides[n];
    ++rank;
  }

  void swap(uint32_t a, uint32_t b) {
    std::swap(extents[a], extents[b]);
    for (unsigned n = 0; n < N; ++n)
      std::swap(strides[n][a], strides[n][b]);
  }

  /// Dimensions from `first` on by ascending strides of operand n.
  void sort(unsigned n, uint32_t first = 0) {
    for (uint32_t i = first + 1; i < rank; ++i)
      for (uint32_t j = i; j > first && strides[n][j] < strides[n][j - 1]; --j)
        swap(j, j - 1);
  }

  /// Joins dimensions from `first` on that are one for all operands; afterwards
  /// there is one at least.
  void merge(uint32_t first = 0) {
    if (rank == 0)
      add(1, {});
    if (first >= rank)
      return;
    uint32_t last = first;
    for (uint32_t i = first + 1; i < rank; ++i) {
      bool joins = true;
      for (unsigned n = 0; n < N; ++n)
        joins &= strides[n][i] == strides[n][last] * extents[last];
      if (joins)
        extents[last] *= extents[i];
      else if (++last != i)
        swap(last, i);
    }
    rank = last + 1;
  }

  int64_t columns() const { return extents[0]; }
  /// Of all rows.
  int64_t rows() const {
    int64_t count = 1;
    for (uint32_t i = 1; i < rank; ++i)
      count *= extents[i];
    return count;
  }
  int64_t elements() const { return columns() * rows(); }
  int64_t rowStride(unsigned n) const { return rank > 1 ? strides[n][1] : 0; }

  /// Calls body(offsets, count) for rows from `begin` to `end`, as many at a
  /// time as lie at rowStride() of each other; `offsets` are the elements where
  /// the first of them starts.
  template <typename Body>
  void forRows(int64_t begin, int64_t end, Body body) const {
    int64_t neighbours = rank > 1 ? extents[1] : 1;
    while (begin < end) {
      int64_t offsets[N];
      int64_t row = begin % neighbours, outer = begin / neighbours;
      for (unsigned n = 0; n < N; ++n)
        offsets[n] = row * rowStride(n);
      for (uint32_t i = 2; i < rank; outer /= extents[i++])
        for (unsigned n = 0; n < N; ++n)
          offsets[n] += outer % extents[i] * strides[n][i];
      int64_t count = std::min(neighbours - row, end - begin);
      body(offsets, count);
      begin += count;
    }
  }

  /// Where an element is.
  void locate(int64_t element, int64_t (&offsets)[N]) const {
    for (unsigned n = 0; n < N; ++n)
      offsets[n] = 0;
    for (uint32_t i = 0; i < rank; element /= extents[i++])
      for (unsigned n = 0; n < N; ++n)
        offsets[n] += element % extents[i] * strides[n][i];
  }

private:
  static int64_t broadcastStride(const TensorImpl *x, uint32_t d,
                                 uint32_t rank) {
    uint32_t lead = x ? rank - x->rank() : rank;
    return d < lead || x->sizes[d - lead] == 1 ? 0 : x->strides[d - lead];
  }
};

} // namespace tinh::eager

#endif // TINH_EAGER_CPU_ITERATION_H
