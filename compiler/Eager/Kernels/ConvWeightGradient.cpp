//===- ConvWeightGradient.cpp - Gradients of convolutions' weights --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each tap the product of dy, [outputs, windows], and of the elements of x
// under the tap, [windows, channels]. A slab holds some lines of x with the
// channels last, so that these elements, and those of the taps beside it, are
// neighbours: one product serves a line of taps. The sums of all taps stay in
// the cache while windows are added, some lines or images at a time.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/ConvWeightGradient.h"

#include <algorithm>

namespace tinh::eager {

/// Of any dtype.
static const double zero = 0;

static int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }
static uint64_t align(uint64_t bytes) { return (bytes + 63) & ~uint64_t(63); }

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

ConvWeightGradient::ConvWeightGradient(KernelLibrary &library,
                                       const ConvShape &shape)
    : library(&library), shape(shape), sums(sumsType(shape.dtype)),
      direct(tinh_dtype_size(sums) == tinh_dtype_size(shape.dtype)),
      panelWidth(library.panelWidth(sums)) {
  choosePositions();
  chooseBlocks();
}

int64_t ConvWeightGradient::tapsPerRow() const {
  return shape.windows.dilations[2] == 1 ? shape.windows.kernel[2] : 1;
}

int64_t ConvWeightGradient::blocksAlong(int i) const {
  return divideUp(shape.windows.out[i], block[i]);
}

/// As many windows as the first-level cache has room for with a panel of their
/// channels.
void ConvWeightGradient::choosePositions() {
  constexpr int64_t kPanelBytes = 24 << 10, kMostPositions = 1024;
  const Spatial &out = shape.windows.out;
  int64_t width = std::min(shape.channels, panelWidth) * tinh_dtype_size(sums);
  int64_t left = std::clamp<int64_t>(kPanelBytes / width, 1, kMostPositions);
  for (int i = 2; i >= 0; --i) {
    block[i] = std::clamp<int64_t>(left, 1, out[i]);
    block[i] = divideUp(out[i], blocksAlong(i));
    left = block[i] == out[i] ? std::max<int64_t>(left / out[i], 1) : 1;
  }
  images = std::min(left, shape.batch);
  for (int i = 0; i < 3; ++i)
    extents[i] = (block[i] - 1) * shape.windows.strides[i] +
                 (shape.windows.kernel[i] - 1) * shape.windows.dilations[i] + 1;
}

void ConvWeightGradient::chooseBlocks() {
  constexpr int64_t kChannels = 64, kSumsBytes = 384 << 10, kTile = 12,
                    kEnoughChunks = 8;
  constexpr double kLeastWork = 4e6;
  int64_t size = tinh_dtype_size(sums), taps = product(shape.windows.kernel);
  auto even = [](int64_t all, int64_t most) {
    return divideUp(all, divideUp(all, most));
  };
  channelsPerBlock = even(shape.channels, kChannels);
  int64_t most = kSumsBytes / (size * taps * channelsPerBlock);
  outputsPerBlock =
      even(shape.outputs, std::max<int64_t>(most / kTile * kTile, kTile));
  int64_t blocks = shape.groups * divideUp(shape.channels, channelsPerBlock) *
                   divideUp(shape.outputs, outputsPerBlock);
  double work = 2.0 * shape.groups * shape.channels * shape.outputs * taps *
                product(shape.windows.out) * shape.batch;
  auto wanted = static_cast<int64_t>(
      std::clamp<double>(work / kLeastWork, 1, kEnoughChunks));
  if (direct)
    parts = std::clamp<int64_t>(divideUp(wanted, blocks), 1, shape.batch);
  parts = divideUp(shape.batch, divideUp(shape.batch, parts));
}

uint32_t ConvWeightGradient::numChunks() const {
  return static_cast<uint32_t>(parts * shape.groups *
                               divideUp(shape.channels, channelsPerBlock) *
                               divideUp(shape.outputs, outputsPerBlock));
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// Some outputs and channels of a group, for some images.
struct ConvWeightGradient::Block {
  const char *x, *dy; // Of the first channel and the first output.
  char *dw;
  int64_t channels, outputs;
  int64_t image, imageEnd;
};

struct ConvWeightGradient::Scratch {
  char *slab, *windows, *sums;
  int64_t *offsets;
};

ConvWeightGradient::Scratch
ConvWeightGradient::takeScratch(Worker &worker) const {
  uint64_t size = tinh_dtype_size(sums);
  int64_t positions = images * product(block);
  uint64_t slab =
      align((images * imageSize(channelsPerBlock) + panelWidth) * size);
  uint64_t windows = align(outputsPerBlock * positions * size);
  uint64_t results = align(outputsPerBlock * product(shape.windows.kernel) *
                           channelsPerBlock * size);
  auto *memory = static_cast<char *>(worker.scratch(
      slab + windows + results + align(positions * sizeof(int64_t))));
  Scratch scratch;
  scratch.slab = memory;
  scratch.windows = memory + slab;
  scratch.sums = scratch.windows + windows;
  scratch.offsets = reinterpret_cast<int64_t *>(scratch.sums + results);
  return scratch;
}

ConvWeightGradient::Block ConvWeightGradient::blockOf(const void *x,
                                                      const void *dy, void *dw,
                                                      int64_t index) const {
  auto take = [&](int64_t count) {
    int64_t digit = index % count;
    index /= count;
    return digit;
  };
  Block b;
  int64_t channel =
      take(divideUp(shape.channels, channelsPerBlock)) * channelsPerBlock;
  int64_t output =
      take(divideUp(shape.outputs, outputsPerBlock)) * outputsPerBlock;
  int64_t group = take(shape.groups), part = index;
  b.channels = std::min(channelsPerBlock, shape.channels - channel);
  b.outputs = std::min(outputsPerBlock, shape.outputs - output);
  int64_t imagesPerPart = divideUp(shape.batch, parts);
  b.image = part * imagesPerPart;
  b.imageEnd = std::min(b.image + imagesPerPart, shape.batch);
  int64_t firstOutput = group * shape.outputs + output;
  b.x = advance(static_cast<const char *>(x),
                (group * shape.channels + channel) * shape.x.channel,
                shape.dtype);
  b.dy = advance(static_cast<const char *>(dy),
                 firstOutput * shape.result.channel, shape.dtype);
  b.dw = advance(static_cast<char *>(dw),
                 part * partStride + firstOutput * shape.weights.outer +
                     channel * shape.weights.channel,
                 shape.dtype);
  return b;
}

void ConvWeightGradient::run(const void *x, const void *dy, void *dw,
                             uint32_t begin, uint32_t end,
                             Worker &worker) const {
  if (!library->contraction(sums).isCompiled())
    worker.expectDelay();
  Scratch scratch = takeScratch(worker);
  for (uint32_t chunk = begin; chunk < end; ++chunk)
    runBlock(blockOf(x, dy, dw, chunk), scratch);
}

void ConvWeightGradient::runBlock(const Block &b,
                                  const Scratch &scratch) const {
  bool isFirst = true;
  for (int64_t image = b.image; image < b.imageEnd; image += images) {
    int64_t count = std::min(images, b.imageEnd - image);
    for (int64_t i = 0; i < blocksAlong(0); ++i)
      for (int64_t j = 0; j < blocksAlong(1); ++j)
        for (int64_t k = 0; k < blocksAlong(2); ++k) {
          Spatial first = {i * block[0], j * block[1], k * block[2]};
          addPositions(b, scratch, image, count, first, isFirst);
          isFirst = false;
        }
  }
  store(b, scratch);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Lines of one image that windows from `first` on read, channels last; what
/// does not exist is zero.
void ConvWeightGradient::fillImages(const Block &b, const Scratch &scratch,
                                    int64_t image, const Spatial &first,
                                    const Spatial &count, char *to) const {
  tinh_dtype_t dtype = direct ? sums : shape.dtype;
  Spatial low, high; // Of places that exist, in the slab.
  bool inside = true, exists = true;
  int64_t offset = image * shape.x.outer;
  for (int i = 0; i < 3; ++i) {
    int64_t start =
        first[i] * shape.windows.strides[i] - shape.windows.padLow[i];
    int64_t used = (count[i] - 1) * shape.windows.strides[i] +
                   (shape.windows.kernel[i] - 1) * shape.windows.dilations[i] +
                   1;
    low[i] = std::clamp<int64_t>(-start, 0, used);
    high[i] = std::clamp<int64_t>(shape.windows.in[i] - start, 0, used);
    inside &= low[i] == 0 && high[i] == extents[i];
    exists &= low[i] < high[i];
    offset += (start + low[i]) * shape.x.spatial[i];
  }
  if (!inside)
    copyMatrix(*library, {&zero, sums, {0, 0}}, {to, sums, {0, 1}}, 1,
               imageSize(b.channels));
  if (!exists)
    return;
  int64_t width = high[2] - low[2];
  for (int64_t i = low[0]; i < high[0]; ++i)
    for (int64_t j = low[1]; j < high[1]; ++j) {
      int64_t place = (i * extents[1] + j) * extents[2] + low[2];
      int64_t from = offset + (i - low[0]) * shape.x.spatial[0] +
                     (j - low[1]) * shape.x.spatial[1];
      copyMatrix(*library,
                 {advance(b.x, from, shape.dtype),
                  dtype,
                  {shape.x.spatial[2], shape.x.channel}},
                 {advance(to, place * b.channels, sums), sums, {b.channels, 1}},
                 width, b.channels);
    }
}

/// Adds the windows of a box of some images.
void ConvWeightGradient::addPositions(const Block &b, const Scratch &scratch,
                                      int64_t image, int64_t count,
                                      const Spatial &first,
                                      bool isFirst) const {
  tinh_dtype_t dtype = direct ? sums : shape.dtype;
  Spatial box;
  for (int i = 0; i < 3; ++i)
    box[i] = std::min(block[i], shape.windows.out[i] - first[i]);
  int64_t positions = count * product(box), position = 0;
  const Spatial &strides = shape.windows.strides;
  for (int64_t n = 0; n < count; ++n) {
    int64_t slab = n * imageSize(b.channels);
    fillImages(b, scratch, image + n, first, box,
               advance(scratch.slab, slab, sums));
    for (int64_t i = 0; i < box[0]; ++i) {
      int64_t from = (image + n) * shape.result.outer +
                     (first[0] + i) * shape.result.spatial[0] +
                     first[1] * shape.result.spatial[1] +
                     first[2] * shape.result.spatial[2];
      copyBox(*library, {advance(b.dy, from, shape.dtype), dtype, {}},
              {shape.result.channel, shape.result.spatial[1],
               shape.result.spatial[2]},
              {advance(scratch.windows, position, sums), sums, {}},
              {positions, box[2], 1}, {b.outputs, box[1], box[2]});
      for (int64_t j = 0; j < box[1]; ++j)
        for (int64_t k = 0; k < box[2]; ++k)
          scratch.offsets[position++] =
              slab +
              ((i * strides[0] * extents[1] + j * strides[1]) * extents[2] +
               k * strides[2]) *
                  b.channels;
    }
  }
  multiply(b, scratch, positions, isFirst);
}

//===----------------------------------------------------------------------===//
// The products
//===----------------------------------------------------------------------===//

/// Adds the products of all taps to the sums, [outputs, taps, channels].
void ConvWeightGradient::multiply(const Block &b, const Scratch &scratch,
                                  int64_t positions, bool isFirst) const {
  const Spatial &kernel = shape.windows.kernel;
  const Spatial &dilations = shape.windows.dilations;
  int64_t perRow = tapsPerRow(), row = product(kernel) * b.channels;
  ContractionSizes sizes{
      perRow * b.channels, positions, {positions, 1}, {row, 1}, {row, 1}};
  if (isFirst)
    sizes.i = {0, 0};
  for (int64_t tap = 0; tap < product(kernel); tap += perRow) {
    Spatial at = {tap / (kernel[1] * kernel[2]), tap / kernel[2] % kernel[1],
                  tap % kernel[2]};
    int64_t place = (at[0] * dilations[0] * extents[1] + at[1] * dilations[1]) *
                        extents[2] +
                    at[2] * dilations[2];
    char *result = advance(scratch.sums, tap * b.channels, sums);
    const void *initial = result;
    if (isFirst)
      initial = &zero;
    void *buffers[] = {&sizes,
                       scratch.windows,
                       advance(scratch.slab, place * b.channels, sums),
                       scratch.offsets,
                       const_cast<void *>(initial),
                       result};
    library->contraction(sums)(buffers, nullptr, 0, b.outputs);
  }
}

void ConvWeightGradient::store(const Block &b, const Scratch &scratch) const {
  tinh_dtype_t dtype = direct ? sums : shape.dtype;
  const Spatial &kernel = shape.windows.kernel;
  const ImageStrides &to = shape.weights;
  bool isLine = to.spatial[1] == kernel[2] * to.spatial[2] &&
                to.spatial[0] == kernel[1] * to.spatial[1];
  // As many taps at once as are evenly spaced.
  int64_t taps = isLine ? product(kernel) : kernel[2];
  int64_t row = product(kernel) * b.channels;
  for (int64_t o = 0; o < b.outputs; ++o)
    for (int64_t tap = 0; tap < product(kernel); tap += taps) {
      int64_t line = tap / kernel[2];
      int64_t offset = o * to.outer + line / kernel[1] * to.spatial[0] +
                       line % kernel[1] * to.spatial[1];
      copyMatrix(*library,
                 {advance(scratch.sums, o * row + tap * b.channels, sums),
                  sums,
                  {b.channels, 1}},
                 {advance(b.dw, offset, shape.dtype),
                  dtype,
                  {to.spatial[2], to.channel}},
                 taps, b.channels);
    }
}

} // namespace tinh::eager
