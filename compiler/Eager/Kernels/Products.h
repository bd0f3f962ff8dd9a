//===- Products.h - What products and convolutions share --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_PRODUCTS_H
#define TINH_EAGER_KERNELS_PRODUCTS_H

#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Eager/Engine/Engine.h"
#include "compiler/Eager/Kernels/Copy.h"

#include <initializer_list>

namespace tinh::eager {

using cpu::divideUp;

/// The digits of a number whose bases are given from the last one on.
class Digits {
public:
  explicit Digits(int64_t number) : rest(number) {}
  int64_t take(int64_t base) {
    int64_t digit = rest % base;
    rest /= base;
    return digit;
  }
  /// What is left: the first digit.
  int64_t first() const { return rest; }

private:
  int64_t rest;
};

/// Part of a worker's scratch memory: where it is, and its bytes.
struct ScratchPart {
  char **at;
  int64_t bytes;
};
/// Finds a place for each of them.
void takeScratch(Worker &worker, std::initializer_list<ScratchPart> parts);

/// Products of matrices of one dtype, in register tiles.
class Products {
protected:
  Products(KernelLibrary &library, tinh_dtype_t dtype);

  /// result = initial + left · right; row k of `right` begins at offsets[k].
  void multiply(int64_t rows, int64_t columns, int64_t depth,
                const MatrixPlace &left, const void *right,
                const int64_t *offsets, const MatrixPlace &initial,
                const MatrixPlace &result) const;
  void copy(const MatrixPlace &from, const MatrixPlace &to, int64_t rows,
            int64_t columns) const {
    copyMatrix(*library, from, to, rows, columns);
  }
  /// Zeros, however many.
  MatrixPlace zeros() const;
  int64_t bytesOf(int64_t sumsCount) const {
    return sumsCount * static_cast<int64_t>(tinh_dtype_size(sums));
  }

  KernelLibrary *library;
  tinh_dtype_t sums;     // In which all is computed.
  bool direct;           // Whether operands are that already,
  tinh_dtype_t elements; // whose dtype it is otherwise.
  int64_t panelWidth;    // Columns of a register tile.
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_PRODUCTS_H
