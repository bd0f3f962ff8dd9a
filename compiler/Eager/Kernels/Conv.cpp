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
    : Products(library, shape.dtype), shape(shape),
      slab(library, shape.windows), weightStride(evenStride(shape)) {
  chooseBlocks();
}

void Conv::chooseBlocks() {
  // Columns of the product: a block has as many as make its panels worth the
  // weights that it reads, or more where these are few.
  constexpr int64_t kMostLine = 512, kColumns = 256, kProducts = 32 << 10,
                    kLeastLines = 4;
  constexpr int64_t kEnoughChunks = 16;
  const Spatial &out = shape.windows.out;
  int64_t channels = std::max<int64_t>(shape.channels, 1);
  int64_t resident = cpu::residentBytes(library->machine());
  block = {1, 1, cpu::evenBlock(out[2], std::min(out[2], kMostLine))};
  auto choose = [&](int64_t lines) {
    block[1] = cpu::evenBlock(out[1], lines);
    slab.setBlock(block);
  };
  // As many lines as have enough columns, or as the cache has room for.
  int64_t columns = std::max(kColumns, kProducts / (channels * slab.taps()));
  int64_t lines =
      std::clamp<int64_t>(columns / slab.extent(2, block[2]), 1, out[1]);
  choose(lines);
  while (lines > kLeastLines && bytesOf(slab.planeSize() * channels) > resident)
    choose(--lines);
  channelsPerBlock =
      std::clamp<int64_t>(resident / bytesOf(slab.planeSize()), 1, channels);

  int64_t boxes = shape.batch * shape.blocksAlong(0, block) *
                  shape.blocksAlong(1, block) * shape.blocksAlong(2, block);
  double perGroup =
      2.0 * product(block) * shape.outputs * channels * slab.taps();
  groupsPerBlock = cpu::blocksPerChunk(perGroup, shape.groups, 1);
  int64_t chunks = boxes * divideUp(shape.groups, groupsPerBlock);
  int64_t wanted =
      cpu::chunksFor(perGroup * shape.groups * boxes, kEnoughChunks);
  int64_t parts = std::clamp<int64_t>(divideUp(wanted, chunks), 1,
                                      divideUp(shape.outputs, kOutputsAtOnce));
  outputsPerBlock = divideUp(shape.outputs, parts);
  blocksPerChunk = cpu::blocksPerChunk(perGroup * groupsPerBlock / parts,
                                       numBlocks(), kEnoughChunks);
}

int64_t Conv::numBlocks() const {
  return shape.batch * divideUp(shape.groups, groupsPerBlock) *
         shape.blocksAlong(0, block) * shape.blocksAlong(1, block) *
         shape.blocksAlong(2, block) * divideUp(shape.outputs, outputsPerBlock);
}

uint32_t Conv::numChunks() const {
  return static_cast<uint32_t>(divideUp(numBlocks(), blocksPerChunk));
}

/// Whether the columns of the product are those of the result.
bool Conv::storesInPlace() const {
  bool lines = block[1] == 1 || (shape.blocksAlong(2, block) == 1 &&
                                 slab.lineSize() == block[2] &&
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
  int64_t columns = block[1] * slab.lineSize(), rows = kOutputsAtOnce;
  if (channelsPerBlock < shape.channels)
    rows = outputsPerBlock;
  int64_t depth = channelsPerBlock * slab.taps();
  bool packs = !direct || weightStride == 0;
  Scratch scratch;
  char *offsets;
  eager::takeScratch(
      worker, {{&scratch.slab,
                bytesOf(slab.planeSize() * channelsPerBlock + panelWidth)},
               {&offsets, depth * static_cast<int64_t>(sizeof(int64_t))},
               {&scratch.sums, storesInPlace() ? 0 : bytesOf(rows * columns)},
               {&scratch.weights, packs ? bytesOf(kOutputsAtOnce * depth) : 0},
               {&scratch.bias, bytesOf(kOutputsAtOnce)}});
  scratch.offsets = reinterpret_cast<int64_t *>(offsets);
  return scratch;
}

/// The block of that number, of its first group, which is said as well.
Conv::Block Conv::blockOf(int64_t index, int64_t &image, int64_t &group) const {
  Digits digits(index);
  Block b;
  b.output =
      digits.take(divideUp(shape.outputs, outputsPerBlock)) * outputsPerBlock;
  b.outputs = std::min(outputsPerBlock, shape.outputs - b.output);
  for (int i = 2; i >= 0; --i) {
    b.first[i] = digits.take(shape.blocksAlong(i, block)) * block[i];
    b.count[i] = std::min(block[i], shape.windows.out[i] - b.first[i]);
  }
  b.columns = slab.span(b.count);
  group = digits.take(divideUp(shape.groups, groupsPerBlock)) * groupsPerBlock;
  image = digits.first();
  return b;
}

void Conv::run(const void *x, const void *weights, const void *bias, void *out,
               uint32_t begin, uint32_t end, Worker &worker) const {
  if (!library->contraction(sums).isCompiled())
    worker.expectDelay();
  Scratch scratch = takeScratch(worker);
  fillOffsets(scratch);
  int64_t last = std::min(end * blocksPerChunk, numBlocks());
  for (int64_t index = begin * blocksPerChunk; index < last; ++index) {
    int64_t image, group;
    Block b = blockOf(index, image, group);
    int64_t groupEnd = std::min(group + groupsPerBlock, shape.groups);
    for (; group < groupEnd; ++group) {
      int64_t channel = group * shape.channels, output = group * shape.outputs;
      int64_t to = image * shape.result.outer + output * shape.result.channel;
      for (int i = 0; i < 3; ++i)
        to += b.first[i] * shape.result.spatial[i];
      b.x =
          advance(static_cast<const char *>(x),
                  image * shape.x.outer + channel * shape.x.channel, elements);
      b.weights = advance(static_cast<const char *>(weights),
                          output * shape.weights.outer, elements);
      b.bias = advance(static_cast<const char *>(bias),
                       output * shape.biasStride, elements);
      b.out = advance(static_cast<char *>(out), to, elements);
      runGroup(b, scratch);
    }
  }
}

void Conv::runGroup(const Block &b, const Scratch &scratch) const {
  int64_t channel = 0;
  do { // Even if there is nothing to sum.
    int64_t count = std::min(channelsPerBlock, shape.channels - channel);
    const char *from = advance(b.x, channel * shape.x.channel, elements);
    slab.fill({from, elements, {}}, shape.x, count, b.first, zeros().data,
              scratch.slab, sums);
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
  const Spatial &kernel = shape.windows.kernel;
  MatrixPlace from{b.weights, elements, {strides.outer, strides.channel}};
  from = from.from(output, channel);
  from.strides.column = weightStride;
  if (direct && weightStride)
    return from;
  int64_t width = channels * slab.taps();
  MatrixPlace dense{scratch.weights, sums, {width, 1}};
  if (weightStride) {
    copy(from, dense, count, width);
    return dense;
  }
  int64_t lines = kernel[0] * kernel[1];
  from.strides.column = strides.spatial[2];
  for (int64_t i = 0; i < channels * lines; ++i) {
    int64_t line = i % lines;
    int64_t offset = i / lines * strides.channel +
                     line / kernel[1] * strides.spatial[0] +
                     line % kernel[1] * strides.spatial[1];
    MatrixPlace place = from;
    place.data =
        advance(static_cast<const char *>(from.data), offset, elements);
    copy(place, dense.from(0, i * kernel[2]), count, kernel[2]);
  }
  return dense;
}

/// What the sums of `count` outputs start from.
MatrixPlace Conv::initialSums(const Block &b, const Scratch &scratch,
                              int64_t output, int64_t count) const {
  if (!shape.hasBias)
    return zeros();
  MatrixPlace bias{b.bias, elements, {shape.biasStride, 0}};
  bias = bias.from(output, 0);
  if (direct)
    return bias;
  MatrixPlace dense{scratch.bias, sums, {1, 0}};
  copyMatrix(*library, bias, dense, count, 1);
  return dense;
}

/// Adds what some channels contribute to `count` outputs from `index` of the
/// block on; the last channels finish them.
void Conv::multiply(const Block &b, const Scratch &scratch, int64_t channel,
                    int64_t channels, int64_t index, int64_t count) const {
  int64_t output = b.output + index;
  bool isFirst = channel == 0, isLast = channel + channels == shape.channels;
  bool isOnly = isFirst && isLast;
  MatrixPlace out{b.out, elements, {shape.result.channel, 1}};
  out = out.from(output, 0);
  MatrixPlace result = out;
  if (!storesInPlace())
    result = {advance(scratch.sums, isOnly ? 0 : index * b.columns, sums),
              sums,
              {b.columns, 1}};
  MatrixPlace initial =
      isFirst ? initialSums(b, scratch, output, count) : result;
  Products::multiply(count, b.columns, channels * slab.taps(),
                     weightsOf(b, scratch, channel, channels, output, count),
                     scratch.slab, scratch.offsets, initial, result);
  if (!isLast || storesInPlace())
    return;
  copyBox(
      *library, result, {b.columns, slab.lineSize(), 1}, out,
      {shape.result.channel, shape.result.spatial[1], shape.result.spatial[2]},
      {count, b.count[1], b.count[2]});
}

} // namespace tinh::eager
