//===- Copy.h - Matrices from one place to another --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_COPY_H
#define TINH_EAGER_KERNELS_COPY_H

#include "compiler/Eager/Kernels/KernelLibrary.h"
#include "tinh/runtime.h"

namespace tinh::eager {

/// The dtype in which products of `dtype` are summed: f32, f64, i32 or i64.
tinh_dtype_t sumsType(tinh_dtype_t dtype);

/// `pointer` moved by so many elements of `dtype`.
template <typename Byte>
Byte *advance(Byte *pointer, int64_t elements, tinh_dtype_t dtype) {
  return pointer + elements * static_cast<int64_t>(tinh_dtype_size(dtype));
}

inline RowStrides transposed(RowStrides strides) {
  return {strides.column, strides.row};
}

/// Elements of a matrix in memory.
struct MatrixPlace {
  const void *data;
  tinh_dtype_t dtype;
  RowStrides strides;

  /// From that row and column on.
  MatrixPlace from(int64_t row, int64_t column) const {
    int64_t offset = row * strides.row + column * strides.column;
    return {advance(static_cast<const char *>(data), offset, dtype), dtype,
            strides};
  }
};

/// Copies rows × columns elements, converted to the other's dtype. Fast where
/// both are contiguous in one direction, or, without a conversion, each in its
/// own.
void copyMatrix(KernelLibrary &library, const MatrixPlace &from,
                const MatrixPlace &to, int64_t rows, int64_t columns);

/// The same for a conversion from columns to rows that are contiguous, by way
/// of `temporary`, which has room for all elements in the dtype of `to`.
void copyMatrix(KernelLibrary &library, const MatrixPlace &from,
                const MatrixPlace &to, int64_t rows, int64_t columns,
                void *temporary);

/// Copies a box of elements with strides `fromStrides` and `toStrides`,
/// converted; fast along its last dimension. The data of both is of its first
/// element; strides of the places are not used.
void copyBox(KernelLibrary &library, MatrixPlace from,
             const std::array<int64_t, 3> &fromStrides, MatrixPlace to,
             const std::array<int64_t, 3> &toStrides,
             const std::array<int64_t, 3> &extents);

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_COPY_H
