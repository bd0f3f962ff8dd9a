//===- Kernel.h - Code whose sizes are arguments ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is compiled by whatever worker needs it first, and once for all
// sizes; its code is kept in the cache of compiled kernels.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_KERNEL_H
#define TINH_EAGER_KERNELS_KERNEL_H

#include "tinh/artifact.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace tinh::eager {

class Jit;

/// How the elements of an operand lie in memory: strides in elements.
struct RowStrides {
  int64_t row = 0, column = 0;
};

/// buffers[0] of a kernel of rows with `N` operands: inputs, then the result. A
/// row has `columns` elements. An operand or result that has one element a row
/// has no column stride.
template <unsigned N> struct RowSizes {
  int64_t columns;
  RowStrides operands[N];
};

/// buffers[0] of a contraction: C = I + A · B of M × K and K × N matrices,
/// where I may be C. Strides are in elements. Row k of the right-hand side, N
/// elements side by side, starts at element offsets[k] of B.
struct ContractionSizes {
  int64_t n, k;
  RowStrides a, i, c;
};

class Kernel {
public:
  Kernel(Jit &jit, std::string name, std::string source,
         uint64_t scratchPerColumn = 0)
      : jit(jit), symbol(std::move(name)), text(std::move(source)),
        scratchPerColumn(scratchPerColumn) {}

  /// Its code, of which a call computes rows [begin, end). Compiles on the
  /// first call, on any thread; throws tinh::Error if that fails.
  tinh_kernel_fn code() {
    tinh_kernel_fn known = function.load(std::memory_order_acquire);
    return known ? known : compile();
  }

  /// Whether code() returns at once.
  bool isCompiled() const {
    return function.load(std::memory_order_relaxed) != nullptr;
  }

  /// Computes rows [begin, end). `buffers[0]` is the sizes.
  void operator()(void *const *buffers, void *scratch, int64_t begin,
                  int64_t end) {
    code()(buffers, scratch, begin, end);
  }

  /// Bytes of scratch memory that a call needs.
  uint64_t scratchSize(int64_t columns) const {
    return scratchPerColumn * static_cast<uint64_t>(columns);
  }

  const std::string &name() const { return symbol; }
  /// What it computes, in the graph dialect or in linalg.
  const std::string &source() const { return text; }

private:
  tinh_kernel_fn compile();

  Jit &jit;
  std::string symbol, text;
  uint64_t scratchPerColumn;
  std::mutex mutex;
  std::atomic<tinh_kernel_fn> function = nullptr;
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_KERNEL_H
