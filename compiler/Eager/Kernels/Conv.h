//===- Conv.h - Convolutions of images of any size --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_CONV_H
#define TINH_EAGER_KERNELS_CONV_H

#include "compiler/Eager/Kernels/Slab.h"

namespace tinh::eager {

struct ConvShape {
  tinh_dtype_t dtype;
  int64_t batch, groups;
  int64_t channels, outputs; // Of each group.
  Windows windows;
  ImageStrides x, weights, result;
  bool hasBias = false;
  int64_t biasStride = 0;

  /// Blocks of so many windows that there are along dimension `i`.
  int64_t blocksAlong(int i, const Spatial &block) const {
    return divideUp(windows.out[i], block[i]);
  }
};

/// How a convolution is computed: its chunks are some blocks of the result's
/// images.
class Conv : Products {
public:
  Conv(KernelLibrary &library, const ConvShape &shape);

  uint32_t numChunks() const;
  /// `bias` is null if there is none.
  void run(const void *x, const void *weights, const void *bias, void *out,
           uint32_t begin, uint32_t end, Worker &worker) const;

private:
  struct Block;
  struct Scratch;

  void chooseBlocks();
  int64_t numBlocks() const;
  bool storesInPlace() const;
  Scratch takeScratch(Worker &worker) const;
  Block blockOf(int64_t index, int64_t &image, int64_t &group) const;
  void runGroup(const Block &block, const Scratch &scratch) const;
  void fillOffsets(const Scratch &scratch) const;
  MatrixPlace weightsOf(const Block &block, const Scratch &scratch,
                        int64_t channel, int64_t channels, int64_t output,
                        int64_t count) const;
  MatrixPlace initialSums(const Block &block, const Scratch &scratch,
                          int64_t output, int64_t count) const;
  void multiply(const Block &block, const Scratch &scratch, int64_t channel,
                int64_t channels, int64_t index, int64_t count) const;

  ConvShape shape;
  Slab slab;
  int64_t weightStride; // Of an output's weights; 0: they are not even.
  Spatial block;        // Of outputs that are computed together.
  int64_t channelsPerBlock, outputsPerBlock, groupsPerBlock, blocksPerChunk;
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_CONV_H
