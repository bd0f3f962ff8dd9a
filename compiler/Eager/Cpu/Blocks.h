//===- Blocks.h - Parts of tensors that indices name ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef TINH_EAGER_CPU_BLOCKS_H
#define TINH_EAGER_CPU_BLOCKS_H

#include "compiler/Eager/Cpu/Iteration.h"
#include "compiler/Eager/Cpu/Operands.h"
#include "tinh/runtime.hpp"

#include <string>
#include <vector>

namespace tinh::eager {

/// A dimension that indices name elements of.
struct IndexedDimension {
  int64_t extent, stride;
  uint32_t number;

  IndexedDimension(const TensorImpl &x, uint32_t dimension)
      : extent(x.sizes[dimension]), stride(x.strides[dimension]),
        number(dimension) {}

  /// Where the element of an index is, which may count from the end.
  int64_t offset(int64_t index) const {
    int64_t at = index < 0 ? index + extent : index;
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(extent)) [[unlikely]]
      refuse(index);
    return at * stride;
  }

private:
  [[noreturn, gnu::noinline]] void refuse(int64_t index) const {
    throw Error(
        TINH_INVALID_ARGUMENT,
        "index " + std::to_string(index) + " is out of bounds for dimension " +
            std::to_string(number) + " of extent " + std::to_string(extent));
  }
};

/// The dimensions that a tuple of indices names an element of.
class IndexedDimensions {
public:
  IndexedDimensions(const TensorImpl &x, uint32_t first, uint32_t count) {
    for (uint32_t d = first; d < first + count; ++d)
      dimensions.emplace_back(x, d);
  }
  /// Of the tuple whose entries lie `stride` elements apart.
  int64_t offset(const int64_t *tuple, int64_t stride) const {
    int64_t offset = 0;
    for (const IndexedDimension &dimension : dimensions) {
      offset += dimension.offset(*tuple);
      tuple += stride;
    }
    return offset;
  }
  /// If there is only one.
  const IndexedDimension *single() const {
    return dimensions.size() == 1 ? dimensions.data() : nullptr;
  }

private:
  std::vector<IndexedDimension> dimensions;
};

/// Dimensions [first, end) of two tensors, in row-major order.
inline Iteration<2> sharedDimensions(const TensorImpl &a, uint32_t firstOfA,
                                     const TensorImpl &b, uint32_t firstOfB,
                                     uint32_t count) {
  Iteration<2> space;
  for (uint32_t d = count; d-- > 0;)
    if (b.sizes[firstOfB + d] != 1)
      space.add(b.sizes[firstOfB + d],
                {a.strides[firstOfA + d], b.strides[firstOfB + d]});
  space.merge();
  return space;
}

/// Calls body(a, b) with the offsets of each row of a block.
template <typename Body> void forRuns(const Iteration<2> &block, Body body) {
  block.forRows(0, block.rows(),
                [&](const int64_t (&offsets)[2], int64_t rows) {
                  for (int64_t row = 0; row < rows; ++row)
                    body(offsets[0] + row * block.rowStride(0),
                         offsets[1] + row * block.rowStride(1));
                });
}

} // namespace tinh::eager

#endif // TINH_EAGER_CPU_BLOCKS_H
