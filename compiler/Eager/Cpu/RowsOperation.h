//===- RowsOperation.h - A kernel of rows, as an operation ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the rows of an iteration and calls a kernel of rows for them.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CPU_ROWSOPERATION_H
#define TINH_EAGER_CPU_ROWSOPERATION_H

#include "compiler/Eager/Cpu/Iteration.h"
#include "compiler/Eager/Cpu/Operands.h"
#include "compiler/Eager/Kernels/Kernel.h"

namespace tinh::eager {

/// An operand of such a kernel: elements or a number.
struct RowOperand {
  Elements elements; // No storage: the number.
  uint64_t number = 0;
  uint8_t elementSize = 0;

  RowOperand() = default;
  explicit RowOperand(const TensorImpl &x)
      : elements(x),
        elementSize(static_cast<uint8_t>(eager::elementSize(x.dtype))) {}
  explicit RowOperand(const Scalar &scalar) : number(bitsOf(scalar)) {}
  explicit RowOperand(const Input &input) {
    *this = input.tensor ? RowOperand(*input.tensor) : RowOperand(input.scalar);
  }
  char *data() {
    return elements.storage ? elements.data()
                            : reinterpret_cast<char *>(&number);
  }
};

/// How rows are cut into chunks.
struct RowChunks {
  /// Rows whose neighbours lie side by side: of a cache line.
  static constexpr int64_t kSquare = 64;

  int64_t rows;            // All of them.
  int64_t rowsPerChunk;    // 0: a chunk is a piece of a row,
  int64_t columnsPerChunk; // which has that many columns.

  RowChunks(int64_t rows, int64_t columns, int64_t elementsPerChunk,
            bool canSplitRows)
      : rows(rows) {
    bool splits = canSplitRows && columns > 2 * elementsPerChunk;
    columnsPerChunk = splits ? elementsPerChunk : columns;
    rowsPerChunk =
        splits ? 0
               : std::max<int64_t>(1, elementsPerChunk /
                                          std::max<int64_t>(1, columns));
  }
  /// Several rows at a time, for a kernel that works on squares.
  void useSquares() { rowsPerChunk = std::max<int64_t>(kSquare, rowsPerChunk); }
};

/// The last operand is the result.
template <unsigned N> struct RowsOperation {
  Kernel *kernel;
  bool coversResult;
  Iteration<N> space;
  RowOperand operands[N];
  RowChunks chunks;

  /// Over the shape of `out`, which is the last of `tensors`.
  RowsOperation(Kernel &kernel, const TensorImpl *const (&tensors)[N],
                std::span<const Input> inputs)
      : RowsOperation(kernel, Iteration<N>(tensors), inputs, *tensors[N - 1]) {}
  RowsOperation(Kernel &kernel, const Iteration<N> &space,
                std::span<const Input> inputs, const TensorImpl &out,
                bool canSplitRows = true)
      : kernel(&kernel), coversResult(coversStorage(out)), space(space),
        chunks(space.rows(), space.columns(), elementsPerChunk(out.dtype),
               canSplitRows) {
    for (unsigned n = 0; n + 1 < N; ++n)
      operands[n] = RowOperand(inputs[n]);
    operands[N - 1] = RowOperand(out);
  }

  bool overwrites() const { return coversResult; }
  bool isQuick() const {
    return eager::isQuick(space.elements()) && kernel->isCompiled();
  }
  uint32_t numChunks() const {
    int64_t count = chunks.rowsPerChunk
                        ? ceilDiv(chunks.rows, chunks.rowsPerChunk)
                        : chunks.rows * pieces();
    return static_cast<uint32_t>(count);
  }

  void run(uint32_t begin, uint32_t end, Worker &worker) {
    if (!kernel->isCompiled())
      worker.expectDelay();
    RowSizes<N> sizes;
    char *bases[N];
    for (unsigned n = 0; n < N; ++n) {
      sizes.operands[n] = {space.rowStride(n), space.strides[n][0]};
      bases[n] = operands[n].data();
    }
    auto callKernel = [&](const int64_t (&offsets)[N], int64_t firstColumn,
                          int64_t columns, int64_t rows) {
      sizes.columns = columns;
      void *buffers[N + 1] = {&sizes};
      for (unsigned n = 0; n < N; ++n)
        buffers[n + 1] =
            bases[n] + (offsets[n] + firstColumn * space.strides[n][0]) *
                           operands[n].elementSize;
      (*kernel)(buffers, worker.scratch(kernel->scratchSize(columns)), 0, rows);
    };
    if (chunks.rowsPerChunk)
      return space.forRows(begin * chunks.rowsPerChunk,
                           std::min(end * chunks.rowsPerChunk, chunks.rows),
                           [&](const int64_t (&offsets)[N], int64_t count) {
                             callKernel(offsets, 0, space.columns(), count);
                           });
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      int64_t row = chunk / pieces();
      int64_t first = chunk % pieces() * chunks.columnsPerChunk;
      int64_t count = std::min(space.columns() - first, chunks.columnsPerChunk);
      space.forRows(row, row + 1, [&](const int64_t (&offsets)[N], int64_t) {
        callKernel(offsets, first, count, 1);
      });
    }
  }

private:
  int64_t pieces() const {
    return ceilDiv(space.columns(), chunks.columnsPerChunk);
  }
};

/// Copies, and converts if dtypes differ, from any strides to any strides; `x`
/// broadcasts to `out`.
RowsOperation<2> copyOperation(const TensorImpl &x, const TensorImpl &out);

} // namespace tinh::eager

#endif // TINH_EAGER_CPU_ROWSOPERATION_H
