//===- Conv.cpp - Convolutions of images of any size ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of the weights, [outputs, channels · taps], and a matrix that is
// never there: its row for a channel and a tap is the channel's image, shifted.
// A chunk copies the part of the image that it needs, with its padding, to a
// slab of scratch memory; the rows of the matrix are then places in the slab,
// from which neighbouring outputs are neighbours, across the lines of the image
// too. What is computed between the end of one line and the start of the next
// one is dropped.
//
// With strides, places that are a multiple of the stride apart are neighbours:
// the slab holds one image for each remainder, a phase.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Conv.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tinh::eager {

/// Outputs whose sums are in the cache together.
static constexpr int64_t kOutputsAtOnce = 48;

static int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }
static uint64_t align(uint64_t bytes) { return (bytes + 63) & ~uint64_t(63); }
static int64_t product(const Spatial &values) {
  return values[0] * values[1] * values[2];
}

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
  bool even = merge(shape.kernel[2], shape.weights.spatial[2]) &&
              merge(shape.kernel[1], shape.weights.spatial[1]) &&
              merge(shape.kernel[0], shape.weights.spatial[0]) &&
              merge(shape.channels, shape.weights.channel);
  return !even ? 0 : std::max<int64_t>(stride, 1);
}

Conv::Conv(KernelLibrary &library, const ConvShape &shape)
    : library(&library), shape(shape), sums(sumsType(shape.dtype)),
      direct(tinh_dtype_size(sums) == tinh_dtype_size(shape.dtype)),
      panelWidth(library.panelBytes() / tinh_dtype_size(sums)),
      taps(product(shape.kernel)), weightStride(evenStride(shape)) {
  for (int i = 0; i < 3; ++i) {
    period[i] =
        shape.strides[i] / std::gcd(shape.strides[i], shape.dilations[i]);
    phases[i] = std::min(shape.kernel[i], period[i]);
  }
  chooseBlocks();
}

/// Places that `outputs` neighbours read, of one phase.
int64_t Conv::slabExtent(int i, int64_t outputs) const {
  return outputs +
         (shape.kernel[i] - 1) * shape.dilations[i] / shape.strides[i];
}

int64_t Conv::planeSize() const { return product(phases) * product(extents); }

int64_t Conv::blocksAlong(int i) const {
  return divideUp(shape.out[i], block[i]);
}

void Conv::chooseBlocks() {
  constexpr int64_t kSlabBytes = 256 << 10, kMostLine = 512, kColumns = 256,
                    kLeastLines = 4, kChunks = 16;
  constexpr double kLeastWork = 1e6;
  int64_t size = tinh_dtype_size(sums);
  block = {1, 1, std::min(shape.out[2], kMostLine)};
  block[2] = divideUp(shape.out[2], blocksAlong(2));
  auto choose = [&](int64_t lines) {
    block[1] = divideUp(shape.out[1], divideUp(shape.out[1], lines));
    for (int i = 0; i < 3; ++i)
      extents[i] = slabExtent(i, block[i]);
  };
  // As many lines as have enough columns, or as the cache has room for.
  int64_t lines =
      std::clamp<int64_t>(kColumns / slabExtent(2, block[2]), 1, shape.out[1]);
  choose(lines);
  while (lines > kLeastLines &&
         planeSize() * shape.channels * size > kSlabBytes)
    choose(--lines);
  channelsPerBlock = std::clamp<int64_t>(2 * kSlabBytes / (planeSize() * size),
                                         1, shape.channels);

  int64_t images =
      shape.batch * blocksAlong(0) * blocksAlong(1) * blocksAlong(2);
  double perGroup =
      2.0 * product(block) * shape.outputs * shape.channels * taps;
  groupsPerChunk = std::clamp<int64_t>(
      static_cast<int64_t>(kLeastWork / perGroup), 1, shape.groups);
  int64_t chunks = images * divideUp(shape.groups, groupsPerChunk);
  auto wanted = static_cast<int64_t>(std::clamp<double>(
      perGroup * shape.groups * images / kLeastWork, 1, kChunks));
  int64_t parts = std::clamp<int64_t>(divideUp(wanted, chunks), 1,
                                      divideUp(shape.outputs, kOutputsAtOnce));
  outputsPerChunk = divideUp(shape.outputs, parts);
}

uint32_t Conv::numChunks() const {
  return static_cast<uint32_t>(
      shape.batch * divideUp(shape.groups, groupsPerChunk) * blocksAlong(0) *
      blocksAlong(1) * blocksAlong(2) *
      divideUp(shape.outputs, outputsPerChunk));
}

/// Whether the columns of the product are those of the result.
bool Conv::storesInPlace() const {
  bool lines =
      block[1] == 1 || (blocksAlong(2) == 1 && extents[2] == block[2] &&
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
  uint64_t slab = align((planeSize() * channelsPerBlock + panelWidth) * size);
  uint64_t offsets = align(channelsPerBlock * taps * sizeof(int64_t));
  int64_t columns = block[1] * extents[2], rows = kOutputsAtOnce;
  if (channelsPerBlock < shape.channels)
    rows = outputsPerChunk;
  uint64_t results = storesInPlace() ? 0 : align(rows * columns * size);
  bool packs = !direct || weightStride == 0;
  uint64_t weights =
      packs ? align(kOutputsAtOnce * channelsPerBlock * taps * size) : 0;
  auto *memory = static_cast<char *>(worker.scratch(
      slab + offsets + results + weights + kOutputsAtOnce * size));
  Scratch scratch;
  scratch.slab = memory;
  scratch.offsets = reinterpret_cast<int64_t *>(memory + slab);
  scratch.sums = memory + slab + offsets;
  scratch.weights = scratch.sums + results;
  scratch.bias = scratch.weights + weights;
  return scratch;
}

void Conv::run(const void *x, const void *weights, const void *bias, void *out,
               uint32_t begin, uint32_t end, Worker &worker) const {
  Scratch scratch = takeScratch(worker);
  fillOffsets(scratch);
  for (uint32_t chunk = begin; chunk < end; ++chunk) {
    int64_t rest = chunk;
    auto take = [&](int64_t count) {
      int64_t digit = rest % count;
      rest /= count;
      return digit;
    };
    Block b;
    b.output = take(divideUp(shape.outputs, outputsPerChunk)) * outputsPerChunk;
    b.outputs = std::min(outputsPerChunk, shape.outputs - b.output);
    for (int i = 2; i >= 0; --i) {
      b.first[i] = take(blocksAlong(i)) * block[i];
      b.count[i] = std::min(block[i], shape.out[i] - b.first[i]);
    }
    b.columns = (b.count[1] - 1) * extents[2] + b.count[2];
    int64_t group =
        take(divideUp(shape.groups, groupsPerChunk)) * groupsPerChunk;
    int64_t groupEnd = std::min(group + groupsPerChunk, shape.groups);
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
  for (int64_t channel = 0; channel < shape.channels;
       channel += channelsPerBlock) {
    int64_t count = std::min(channelsPerBlock, shape.channels - channel);
    fillSlab(b, scratch, channel, count);
    for (int64_t i = 0; i < b.outputs; i += kOutputsAtOnce)
      multiply(b, scratch, channel, count, i,
               std::min(kOutputsAtOnce, b.outputs - i));
  }
}

//===----------------------------------------------------------------------===//
// The slab: [channels, phases…, extents…]
//===----------------------------------------------------------------------===//

/// Where the matrix's row for each channel and tap begins in the slab.
void Conv::fillOffsets(const Scratch &scratch) const {
  int64_t *next = scratch.offsets;
  for (int64_t channel = 0; channel < channelsPerBlock; ++channel)
    for (int64_t i = 0; i < taps; ++i) {
      Spatial tap{i / (shape.kernel[1] * shape.kernel[2]),
                  i / shape.kernel[2] % shape.kernel[1], i % shape.kernel[2]};
      int64_t phase = 0, place = 0;
      for (int d = 0; d < 3; ++d) {
        phase = phase * phases[d] + tap[d] % period[d];
        place =
            place * extents[d] + tap[d] * shape.dilations[d] / shape.strides[d];
      }
      *next++ = channel * planeSize() + phase * product(extents) + place;
    }
}

void Conv::fillSlab(const Block &b, const Scratch &scratch, int64_t channel,
                    int64_t count) const {
  bool inside = true; // Whether all that is read exists.
  for (int i = 0; i < 3; ++i) {
    int64_t first = b.first[i] * shape.strides[i] - shape.padLow[i];
    inside &=
        first >= 0 && first + extents[i] * shape.strides[i] <= shape.in[i];
  }
  int64_t size = tinh_dtype_size(sums);
  if (!inside)
    std::memset(scratch.slab, 0, planeSize() * count * size);
  int64_t line = 0; // In the slab.
  for (int64_t phase = 0; phase < product(phases); ++phase) {
    Spatial p{phase / (phases[1] * phases[2]), phase / phases[2] % phases[1],
              phase % phases[2]};
    for (int64_t e = 0; e < extents[0] * extents[1]; ++e, ++line)
      fillLine(b, {e / extents[1], e % extents[1], 0}, p,
               scratch.slab + line * extents[2] * size, channel, count);
  }
}

/// The line of all channels that begins at `place` of a phase; padding is
/// there already.
void Conv::fillLine(const Block &b, const Spatial &place, const Spatial &phase,
                    char *to, int64_t channel, int64_t count) const {
  auto source = [&](int i) { // Of place 0 along dimension i.
    return b.first[i] * shape.strides[i] - shape.padLow[i] +
           phase[i] * shape.dilations[i] % shape.strides[i];
  };
  int64_t offset = channel * shape.x.channel;
  for (int i = 0; i < 2; ++i) {
    int64_t at = source(i) + place[i] * shape.strides[i];
    if (at < 0 || at >= shape.in[i])
      return;
    offset += at * shape.x.spatial[i];
  }
  int64_t stride = shape.strides[2], start = source(2);
  int64_t low = start < 0 ? divideUp(-start, stride) : 0;
  int64_t high =
      start >= shape.in[2]
          ? 0
          : std::min(extents[2], divideUp(shape.in[2] - start, stride));
  if (low >= high)
    return;
  offset += (start + low * stride) * shape.x.spatial[2];
  tinh_dtype_t from = direct ? sums : shape.dtype;
  copyMatrix(*library,
             {advance(b.x, offset, shape.dtype),
              from,
              {shape.x.channel, stride * shape.x.spatial[2]}},
             {advance(to, low, sums), sums, {planeSize(), 1}}, count,
             high - low);
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
  int64_t width = channels * taps;
  MatrixPlace dense{scratch.weights, sums, {width, 1}};
  if (weightStride) {
    copyMatrix(*library, {from, dtype, {strides.outer, weightStride}}, dense,
               count, width);
    return dense;
  }
  int64_t lines = shape.kernel[0] * shape.kernel[1];
  for (int64_t i = 0; i < channels * lines; ++i) {
    int64_t line = i % lines;
    int64_t offset = i / lines * strides.channel +
                     line / shape.kernel[1] * strides.spatial[0] +
                     line % shape.kernel[1] * strides.spatial[1];
    copyMatrix(
        *library,
        {advance(from, offset, shape.dtype),
         dtype,
         {strides.outer, strides.spatial[2]}},
        {advance(scratch.weights, i * shape.kernel[2], sums), sums, {width, 1}},
        count, shape.kernel[2]);
  }
  return dense;
}

/// What the sums of `count` outputs start from.
MatrixPlace Conv::initialSums(const Block &b, const Scratch &scratch,
                              int64_t output, int64_t count) const {
  alignas(64) static const char zero[64] = {};
  if (!shape.hasBias)
    return {zero, sums, {0, 0}};
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
  ContractionSizes sizes{b.columns, channels * taps, weights.strides,
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
  for (int64_t line = 0; line < b.count[1]; ++line)
    copyMatrix(*library,
               {advance(static_cast<const char *>(result.data),
                        line * extents[2], sums),
                sums,
                {b.columns, 1}},
               {advance(out, line * shape.result.spatial[1], shape.dtype),
                dtype,
                {shape.result.channel, shape.result.spatial[2]}},
               count, b.count[2]);
}

} // namespace tinh::eager
