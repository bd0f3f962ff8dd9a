//===- Matmul.h - Batches of matrix products --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_MATMUL_H
#define TINH_EAGER_KERNELS_MATMUL_H

#include "compiler/Eager/Kernels/Products.h"

namespace tinh::eager {

/// A batch of matrices: strides in elements.
struct Matrices {
  Dims batch;
  RowStrides strides;
};

/// out = a · b + bias of M × K and K × N matrices, for each of a batch.
struct MatmulShape {
  tinh_dtype_t dtype;
  int64_t m, n, k;
  Dims batch; // Extents.
  Matrices a, b, bias, out;
  bool hasBias = false;
};

/// How a product is computed: its chunks are some blocks of the results.
class Matmul : Products {
public:
  Matmul(KernelLibrary &library, const MatmulShape &shape);

  uint32_t numChunks() const;
  /// `bias` is null if there is none.
  void run(const void *a, const void *b, const void *bias, void *out,
           uint32_t begin, uint32_t end, Worker &worker) const;

private:
  enum class Method : uint8_t { Tiles, Dots };
  struct Block;
  struct Scratch;
  struct Pointers {
    const void *a, *b, *bias;
    void *out;
  };

  void transposeAll();
  double operationsPerCycle() const;
  bool packsLeft() const;
  double packCycles() const;
  double cost() const;
  /// Whether so few rows are better multiplied with the right-hand side where
  /// it lies.
  bool isUnpacked(int64_t rows) const;
  void chooseBlocks();
  void chooseTileBlocks();
  int64_t numBlocks() const;
  Block blockOf(const Pointers &pointers, int64_t index) const;
  Scratch takeScratch(Worker &worker) const;
  MatrixPlace initialSums(const Block &block, const Scratch &scratch) const;
  MatrixPlace sumsOf(const Block &block, const Scratch &scratch) const;
  MatrixPlace packRight(const Block &block, const Scratch &scratch, int64_t k0,
                        int64_t depth) const;
  Kernel &kernel() const;
  void runTiles(const Block &block, const Scratch &scratch) const;
  void runDots(const Block &block, const Scratch &scratch) const;

  MatmulShape shape;
  bool swapped = false; // The operands are b and a, transposed.
  Method method;
  int64_t rowsPerBlock, columnsPerBlock, depthPerBlock;
  int64_t rowBlocks, columnBlocks, blocksPerChunk;
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_MATMUL_H
