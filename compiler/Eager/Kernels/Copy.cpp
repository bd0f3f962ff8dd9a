//===- Copy.cpp - Matrices from one place to another ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Copy.h"

#include <utility>

namespace tinh::eager {

tinh_dtype_t sumsType(tinh_dtype_t dtype) {
  switch (dtype) {
  case TINH_DTYPE_F16:
  case TINH_DTYPE_BF16:
  case TINH_DTYPE_F32:
    return TINH_DTYPE_F32;
  case TINH_DTYPE_F64:
    return TINH_DTYPE_F64;
  case TINH_DTYPE_I64:
  case TINH_DTYPE_U64:
    return TINH_DTYPE_I64;
  default: // Narrower integers wrap alike.
    return TINH_DTYPE_I32;
  }
}

void copyMatrix(KernelLibrary &library, const MatrixPlace &from,
                const MatrixPlace &to, int64_t rows, int64_t columns) {
  RowStrides source = from.strides, target = to.strides;
  // Along the rows of the result, if they are contiguous, or else its columns.
  if (target.column != 1 && (target.row == 1 || source.row == 1)) {
    std::swap(rows, columns);
    source = transposed(source);
    target = transposed(target);
  }
  unsigned size = tinh_dtype_size(from.dtype);
  bool turns = source.column > 1 && source.row == 1;
  Kernel &kernel = from.dtype != to.dtype ? library.cast(from.dtype, to.dtype)
                   : turns                ? library.transpose(size)
                                          : library.copy(size);
  RowSizes<2> sizes{columns, {source, target}};
  void *buffers[] = {&sizes, const_cast<void *>(from.data),
                     const_cast<void *>(to.data)};
  kernel(buffers, nullptr, 0, rows);
}

void copyMatrix(KernelLibrary &library, const MatrixPlace &from,
                const MatrixPlace &to, int64_t rows, int64_t columns,
                void *temporary) {
  bool turns = from.strides.column > 1 && from.strides.row == 1;
  if (from.dtype == to.dtype || !turns || to.strides.column != 1)
    return copyMatrix(library, from, to, rows, columns);
  MatrixPlace between{temporary, to.dtype, {1, rows}};
  copyMatrix(library, from, between, rows, columns);
  copyMatrix(library, between, to, rows, columns);
}

void copyBox(KernelLibrary &library, MatrixPlace from,
             const std::array<int64_t, 3> &fromStrides, MatrixPlace to,
             const std::array<int64_t, 3> &toStrides,
             const std::array<int64_t, 3> &extents) {
  // Rows that can be turned in registers, or as many as possible in each call.
  auto isUnit = [&](int i) {
    return extents[i] > 1 && (fromStrides[i] == 1 || toStrides[i] == 1);
  };
  int rows = isUnit(0) != isUnit(1) ? !isUnit(0) : extents[0] <= extents[1];
  int outer = 1 - rows;
  from.strides = {fromStrides[rows], fromStrides[2]};
  to.strides = {toStrides[rows], toStrides[2]};
  for (int64_t i = 0; i < extents[outer]; ++i) {
    copyMatrix(library, from, to, extents[rows], extents[2]);
    from.data = advance(static_cast<const char *>(from.data),
                        fromStrides[outer], from.dtype);
    to.data =
        advance(static_cast<const char *>(to.data), toStrides[outer], to.dtype);
  }
}

} // namespace tinh::eager
