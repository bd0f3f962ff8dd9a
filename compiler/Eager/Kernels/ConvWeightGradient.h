//===- ConvWeightGradient.h - Gradients of weights --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_CONVWEIGHTGRADIENT_H
#define TINH_EAGER_KERNELS_CONVWEIGHTGRADIENT_H

#include "compiler/Eager/Kernels/Conv.h"

namespace tinh::eager {

/// How the gradient of a convolution by its weights is computed: its chunks are
/// blocks of outputs and channels and, where there are few of these, parts of
/// the batch, whose sums are for the caller to add up.
class ConvWeightGradient : Products {
public:
  /// `shape` is that of the convolution, with the strides of the gradients in
  /// place of the weights and of the result. It has no bias.
  ConvWeightGradient(KernelLibrary &library, const ConvShape &shape);

  /// If there are several parts, the gradients are [parts, O, C, kernel…].
  int64_t numParts() const { return parts; }
  void setResult(const ImageStrides &strides, int64_t stridePerPart) {
    shape.weights = strides;
    partStride = stridePerPart;
  }
  uint32_t numChunks() const;
  void run(const void *x, const void *dy, void *dw, uint32_t begin,
           uint32_t end, Worker &worker) const;

private:
  struct Block;
  struct Scratch;

  void chooseBlocks();
  void choosePositions();
  Scratch takeScratch(Worker &worker) const;
  Block blockOf(const void *x, const void *dy, void *dw, int64_t index) const;
  void runBlock(const Block &block, const Scratch &scratch) const;
  void addPositions(const Block &block, const Scratch &scratch, int64_t image,
                    int64_t images, const Spatial &first, bool isFirst) const;
  void multiply(const Block &block, const Scratch &scratch, int64_t positions,
                bool isFirst) const;
  void store(const Block &block, const Scratch &scratch) const;

  /// Taps whose channels are one row of the slab.
  int64_t tapsPerRow() const;

  ConvShape shape;
  Slab slab;      // Of some images, their channels last.
  Spatial block;  // Of windows, of as many
  int64_t images; // images, that are multiplied together.
  int64_t outputsPerBlock, channelsPerBlock, parts = 1, partStride = 0;
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_CONVWEIGHTGRADIENT_H
