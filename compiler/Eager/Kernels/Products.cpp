//===- Products.cpp - What products and convolutions share ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Products.h"

namespace tinh::eager {

void takeScratch(Worker &worker, std::initializer_list<ScratchPart> parts) {
  auto aligned = [](int64_t bytes) { return (bytes + 63) & ~int64_t(63); };
  int64_t size = 0;
  for (const ScratchPart &part : parts)
    size += aligned(part.bytes);
  auto *memory =
      static_cast<char *>(worker.scratch(static_cast<uint64_t>(size)));
  for (const ScratchPart &part : parts) {
    *part.at = memory;
    memory += aligned(part.bytes);
  }
}

Products::Products(KernelLibrary &library, tinh_dtype_t dtype)
    : library(&library), sums(sumsType(dtype)),
      direct(tinh_dtype_size(sums) == tinh_dtype_size(dtype)),
      elements(direct ? sums : dtype), panelWidth(library.panelWidth(sums)) {}

void Products::multiply(int64_t rows, int64_t columns, int64_t depth,
                        const MatrixPlace &left, const void *right,
                        const int64_t *offsets, const MatrixPlace &initial,
                        const MatrixPlace &result) const {
  ContractionSizes sizes{columns, depth, left.strides, initial.strides,
                         result.strides};
  void *buffers[] = {&sizes,
                     const_cast<void *>(left.data),
                     const_cast<void *>(right),
                     const_cast<int64_t *>(offsets),
                     const_cast<void *>(initial.data),
                     const_cast<void *>(result.data)};
  library->contraction(sums)(buffers, nullptr, 0, rows);
}

MatrixPlace Products::zeros() const {
  static const double zero = 0; // Of any dtype.
  return {&zero, sums, {0, 0}};
}

} // namespace tinh::eager
