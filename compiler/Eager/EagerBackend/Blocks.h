//===- Blocks.h - Parts of tensors that indices name ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef TINH_EAGER_EAGERBACKEND_BLOCKS_H
#define TINH_EAGER_EAGERBACKEND_BLOCKS_H

#include "compiler/Eager/EagerBackend/Iteration.h"
#include "compiler/Eager/EagerBackend/Operands.h"
#include "tinh/runtime.hpp"

namespace tinh::eager {

/// The offset of an index, which may count from the end, in a dimension.
inline int64_t offsetOfIndex(int64_t index, int64_t extent, int64_t stride,
                             uint32_t dimension) {
  int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent) [[unlikely]]
    throw Error(
        TINH_INVALID_ARGUMENT,
        "index " + std::to_string(index) + " is out of bounds for dimension " +
            std::to_string(dimension) + " of extent " + std::to_string(extent));
  return at * stride;
}

/// Dimensions of an operand, in order, of which an index tensor has entries.
struct IndexedDimensions {
  uint32_t first, count;
  Dims extents, strides;

  IndexedDimensions(const TensorImpl &x, uint32_t first, uint32_t count)
      : first(first), count(count) {
    for (uint32_t d = first; d < first + count; ++d) {
      extents.push_back(x.sizes[d]);
      strides.push_back(x.strides[d]);
    }
  }
  /// Of the tuple whose entries lie `stride` elements apart.
  int64_t offset(const int64_t *tuple, int64_t stride) const {
    int64_t offset = 0;
    for (uint32_t d = 0; d < count; ++d)
      offset +=
          offsetOfIndex(tuple[d * stride], extents[d], strides[d], first + d);
    return offset;
  }
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

#endif // TINH_EAGER_EAGERBACKEND_BLOCKS_H
