//===- Conv.cpp - Convolutions of images of any size ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of the weights, [outputs, channels · slab.taps()], and a matrix
// that is never there: its row for a channel and a tap is the channel's image,
// shifted, a place in the slab of the chunk.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Conv.h"

#include <algorithm>

namespace tinh::eager {

/// Outputs whose sums are in the cache together.
static constexpr int64_t kOutputsAtOnce = 48;

/// Of any dtype.
static const double zero = 0;

static int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }
static uint64_t align(uint64_t bytes) { return (bytes + 63) & ~uint64_t(63); }

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// The stride of the weights of an output, if they are evenly spaced; else 0.
static int64_t evenStride(const ConvShape &shape) {
  int64_t stride = 0, extent = 1;
  auto merge = [&](int64_t count, int64_t step) {
    if (count == 1)
      return true;
    if (stride == 0)
      stride = step;
    bool even = step == stride * extent;
    extent *= count;
    return even;
  };
  bool even = merge(shape.windows.kernel[2], shape.weights.spatial[2]) &&
              merge(shape.windows.kernel[1], shape.weights.spatial[1]) &&
              merge(shape.windows.kernel[0], shape.weights.spatial[0]) &&
              merge(shape.channels, shape.weights.channel);
  return !even ? 0 : std::max<int64_t>(stride, 1);
}

Conv::Conv(KernelLibrary &library, const ConvShape &shape)
    : library(&library), shape(shape), slab(library, shape.windows),
      sums(sumsType(shape.dtype)),
      direct(tinh_dtype_size(sums) == tinh_dtype_size(shape.dtype)),
      panelWidth(library.panelWidth(sums)), weightStride(evenStride(shape)) {
  chooseBlocks();
}

int64_t Conv::blocksAlong(int i) const {
  return divideUp(shape.windows.out[i], block[i]);
}

void Conv::chooseBlocks() {
  constexpr int64_t kSlabBytes = 256 << 10, kMostLine = 512, kColumns = 256,
                    kProducts = 32 << 10, kLeastLines = 4, kChunks = 16;
  constexpr double kLeastWork = 1e6;
  int64_t size = tinh_dtype_size(sums);
  int64_t channels = std::max<int64_t>(shape.channels, 1);
  block = {1, 1, std::min(shape.windows.out[2], kMostLine)};
  block[2] = divideUp(shape.windows.out[2], blocksAlong(2));
  auto choose = [&](int64_t lines) {
    block[1] =
        divideUp(shape.windows.out[1], divideUp(shape.windows.out[1], lines));
    slab.setBlock(block);
  };
  // As many lines as have enough columns, or as the cache has room for.
  int64_t columns = std::max(kColumns, kProducts / (channels * slab.taps()));
  int64_t lines = std::clamp<int64_t>(columns / slab.extent(2, block[2]), 1,
                                      shape.windows.out[1]);
  choose(lines);
  while (lines > kLeastLines && slab.planeSize() * channels * size > kSlabBytes)
    choose(--lines);
  channelsPerBlock = std::clamp<int64_t>(
      2 * kSlabBytes / (slab.planeSize() * size), 1, channels);

  int64_t images =
      shape.batch * blocksAlong(0) * blocksAlong(1) * blocksAlong(2);
  double perGroup =
      2.0 * product(block) * shape.outputs * channels * slab.taps();
  groupsPerBlock = std::clamp<int64_t>(
      static_cast<int64_t>(kLeastWork / perGroup), 1, shape.groups);
  int64_t chunks = images * divideUp(shape.groups, groupsPerBlock);
  auto wanted = static_cast<int64_t>(std::clamp<double>(
      perGroup * shape.groups * images / kLeastWork, 1, kChunks));
  int64_t parts = std::clamp<int64_t>(divideUp(wanted, chunks), 1,
                                      divideUp(shape.outputs, kOutputsAtOnce));
  outputsPerBlock = divideUp(shape.outputs, parts);
  double work = perGroup * groupsPerBlock / parts;
  blocksPerChunk =
      std::clamp<int64_t>(static_cast<int64_t>(kLeastWork / work), 1,
                          std::max<int64_t>(numBlocks() / kChunks, 1));
}

int64_t Conv::numBlocks() const {
  return shape.batch * divideUp(shape.groups, groupsPerBlock) * blocksAlong(0) *
         blocksAlong(1) * blocksAlong(2) *
         divideUp(shape.outputs, outputsPerBlock);
}

uint32_t Conv::numChunks() const {
  return static_cast<uint32_t>(divideUp(numBlocks(), blocksPerChunk));
}

/// Whether the columns of the product are those of the result.
bool Conv::storesInPlace() const {
  bool lines =
      block[1] == 1 || (blocksAlong(2) == 1 && slab.lineSize() == block[2] &&
                        shape.result.spatial[1] == block[2]);
  return direct && lines && (block[2] == 1 || shape.result.spatial[2] == 1);
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// Outputs of one group, in a box of one image.
struct Conv::Block {
  const char *x, *weights, *bias; // Of the group's first channel and output.
  char *out;                      // Of the box.
  Spatial first, count;           // The box.
  int64_t output, outputs;
  /// Of the product.
  int64_t columns;
};

struct Conv::Scratch {
  char *slab, *sums, *weights, *bias;
  int64_t *offsets;
};

Conv::Scratch Conv::takeScratch(Worker &worker) const {
  uint64_t size = tinh_dtype_size(sums);
  uint64_t images =
      align((slab.planeSize() * channelsPerBlock + panelWidth) * size);
  uint64_t offsets = align(channelsPerBlock * slab.taps() * sizeof(int64_t));
  int64_t columns = block[1] * slab.lineSize(), rows = kOutputsAtOnce;
  if (channelsPerBlock < shape.channels)
    rows = outputsPerBlock;
  uint64_t results = storesInPlace() ? 0 : align(rows * columns * size);
  bool packs = !direct || weightStride == 0;
  uint64_t weights =
      packs ? align(kOutputsAtOnce * channelsPerBlock * slab.taps() * size) : 0;
  auto *memory = static_cast<char *>(worker.scratch(
      images + offsets + results + weights + kOutputsAtOnce * size));
  Scratch scratch;
  scratch.slab = memory;
  scratch.offsets = reinterpret_cast<int64_t *>(memory + images);
  scratch.sums = memory + images + offsets;
  scratch.weights = scratch.sums + results;
  scratch.bias = scratch.weights + weights;
  return scratch;
}

void Conv::run(const void *x, const void *weights, const void *bias, void *out,
               uint32_t begin, uint32_t end, Worker &worker) const {
  if (!library->contraction(sums).isCompiled())
    worker.expectDelay();
  Scratch scratch = takeScratch(worker);
  fillOffsets(scratch);
  int64_t last = std::min(end * blocksPerChunk, numBlocks());
  for (int64_t index = begin * blocksPerChunk; index < last; ++index) {
    int64_t rest = index;
    auto take = [&](int64_t count) {
      int64_t digit = rest % count;
      rest /= count;
      return digit;
    };
    Block b;
    b.output = take(divideUp(shape.outputs, outputsPerBlock)) * outputsPerBlock;
    b.outputs = std::min(outputsPerBlock, shape.outputs - b.output);
    for (int i = 2; i >= 0; --i) {
      b.first[i] = take(blocksAlong(i)) * block[i];
      b.count[i] = std::min(block[i], shape.windows.out[i] - b.first[i]);
    }
    b.columns = slab.span(b.count);
    int64_t group =
        take(divideUp(shape.groups, groupsPerBlock)) * groupsPerBlock;
    int64_t groupEnd = std::min(group + groupsPerBlock, shape.groups);
    int64_t image = rest;
    for (; group < groupEnd; ++group) {
      int64_t channel = group * shape.channels, output = group * shape.outputs;
      int64_t to = image * shape.result.outer + output * shape.result.channel;
      for (int i = 0; i < 3; ++i)
        to += b.first[i] * shape.result.spatial[i];
      b.x = advance(static_cast<const char *>(x),
                    image * shape.x.outer + channel * shape.x.channel,
                    shape.dtype);
      b.weights = advance(static_cast<const char *>(weights),
                          output * shape.weights.outer, shape.dtype);
      b.bias = advance(static_cast<const char *>(bias),
                       output * shape.biasStride, shape.dtype);
      b.out = advance(static_cast<char *>(out), to, shape.dtype);
      runGroup(b, scratch);
    }
  }
}

void Conv::runGroup(const Block &b, const Scratch &scratch) const {
  int64_t channel = 0;
  do { // Even if there is nothing to sum.
    int64_t count = std::min(channelsPerBlock, shape.channels - channel);
    const char *from = advance(b.x, channel * shape.x.channel, shape.dtype);
    slab.fill({from, direct ? sums : shape.dtype, {}}, shape.x, count, b.first,
              &zero, scratch.slab, sums);
    for (int64_t i = 0; i < b.outputs; i += kOutputsAtOnce)
      multiply(b, scratch, channel, count, i,
               std::min(kOutputsAtOnce, b.outputs - i));
    channel += channelsPerBlock;
  } while (channel < shape.channels);
}

/// Where the matrix's row for each channel and tap begins in the slab.
void Conv::fillOffsets(const Scratch &scratch) const {
  int64_t taps = slab.taps(), count = channelsPerBlock * taps;
  for (int64_t i = 0; i < std::min(taps, count); ++i)
    scratch.offsets[i] = slab.tapOffset(i);
  for (int64_t i = taps; i < count; ++i)
    scratch.offsets[i] = scratch.offsets[i - taps] + slab.planeSize();
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// The weights of `count` outputs for some channels, as a matrix.
MatrixPlace Conv::weightsOf(const Block &b, const Scratch &scratch,
                            int64_t channel, int64_t channels, int64_t output,
                            int64_t count) const {
  const ImageStrides &strides = shape.weights;
  const char *from =
      advance(b.weights, output * strides.outer + channel * strides.channel,
              shape.dtype);
  tinh_dtype_t dtype = direct ? sums : shape.dtype;
  if (direct && weightStride)
    return {from, dtype, {strides.outer, weightStride}};
  int64_t width = channels * slab.taps();
  MatrixPlace dense{scratch.weights, sums, {width, 1}};
  if (weightStride) {
    copyMatrix(*library, {from, dtype, {strides.outer, weightStride}}, dense,
               count, width);
    return dense;
  }
  int64_t lines = shape.windows.kernel[0] * shape.windows.kernel[1];
  for (int64_t i = 0; i < channels * lines; ++i) {
    int64_t line = i % lines;
    int64_t offset = i / lines * strides.channel +
                     line / shape.windows.kernel[1] * strides.spatial[0] +
                     line % shape.windows.kernel[1] * strides.spatial[1];
    copyMatrix(*library,
               {advance(from, offset, shape.dtype),
                dtype,
                {strides.outer, strides.spatial[2]}},
               {advance(scratch.weights, i * shape.windows.kernel[2], sums),
                sums,
                {width, 1}},
               count, shape.windows.kernel[2]);
  }
  return dense;
}

/// What the sums of `count` outputs start from.
MatrixPlace Conv::initialSums(const Block &b, const Scratch &scratch,
                              int64_t output, int64_t count) const {
  if (!shape.hasBias)
    return {&zero, sums, {0, 0}};
  const char *bias = advance(b.bias, output * shape.biasStride, shape.dtype);
  if (direct)
    return {bias, sums, {shape.biasStride, 0}};
  copyMatrix(*library, {bias, shape.dtype, {0, shape.biasStride}},
             {scratch.bias, sums, {0, 1}}, 1, count);
  return {scratch.bias, sums, {1, 0}};
}

/// Adds what some channels contribute to `count` outputs from `index` of the
/// block on; the last channels finish them.
void Conv::multiply(const Block &b, const Scratch &scratch, int64_t channel,
                    int64_t channels, int64_t index, int64_t count) const {
  int64_t output = b.output + index;
  bool isFirst = channel == 0, isLast = channel + channels == shape.channels;
  bool isOnly = isFirst && isLast;
  char *out = advance(b.out, output * shape.result.channel, shape.dtype);
  MatrixPlace result{out, sums, {shape.result.channel, 1}};
  if (!storesInPlace())
    result = {advance(scratch.sums, isOnly ? 0 : index * b.columns, sums),
              sums,
              {b.columns, 1}};
  MatrixPlace initial =
      isFirst ? initialSums(b, scratch, output, count) : result;
  MatrixPlace weights = weightsOf(b, scratch, channel, channels, output, count);
  ContractionSizes sizes{b.columns, channels * slab.taps(), weights.strides,
                         initial.strides, result.strides};
  void *buffers[] = {&sizes,
                     const_cast<void *>(weights.data),
                     scratch.slab,
                     scratch.offsets,
                     const_cast<void *>(initial.data),
                     const_cast<void *>(result.data)};
  library->contraction(sums)(buffers, nullptr, 0, count);
  if (!isLast || storesInPlace())
    return;
  tinh_dtype_t dtype = direct ? sums : shape.dtype;
  copyBox(
      *library, result, {b.columns, slab.lineSize(), 1}, {out, dtype, {}},
      {shape.result.channel, shape.result.spatial[1], shape.result.spatial[2]},
      {count, b.count[1], b.count[2]});
}

} // namespace tinh::eager
