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

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Windows that begin at each place: the slab has all that they read.
static Windows everyPlace(Windows windows) {
  windows.strides = {1, 1, 1};
  return windows;
}

ConvWeightGradient::ConvWeightGradient(KernelLibrary &library,
                                       const ConvShape &shape)
    : Products(library, shape.dtype), shape(shape),
      slab(library, everyPlace(shape.windows), /*channelsLast=*/true) {
  choosePositions();
  chooseBlocks();
}

int64_t ConvWeightGradient::tapsPerRow() const {
  return shape.windows.dilations[2] == 1 ? shape.windows.kernel[2] : 1;
}

/// As many windows as half of the first-level cache has room for with a panel
/// of their channels. The other half is for the rows that it is multiplied by.
void ConvWeightGradient::choosePositions() {
  constexpr int64_t kMostPositions = 1024;
  const Spatial &out = shape.windows.out;
  int64_t width = bytesOf(std::min(shape.channels, panelWidth));
  int64_t left = std::clamp<int64_t>(library->machine().l1.bytes / 2 / width, 1,
                                     kMostPositions);
  Spatial places;
  for (int i = 2; i >= 0; --i) {
    block[i] = cpu::evenBlock(out[i], std::clamp<int64_t>(left, 1, out[i]));
    left = block[i] == out[i] ? std::max<int64_t>(left / out[i], 1) : 1;
    places[i] = (block[i] - 1) * shape.windows.strides[i] + 1;
  }
  images = std::min(left, shape.batch);
  slab.setBlock(places);
}

void ConvWeightGradient::chooseBlocks() {
  // Parts of the batch have gradients of their own, which are added up: only
  // for a few chunks more, each of several times the usual work.
  constexpr int64_t kEnoughChunks = 8, kPanels = 2;
  int64_t taps = product(shape.windows.kernel);
  int64_t tile =
      cpu::mostTileRows(cpu::kTileVectors, library->machine().vectorRegisters);
  channelsPerBlock = cpu::evenBlock(shape.channels, kPanels * panelWidth);
  int64_t most =
      cpu::residentBytes(library->machine()) / bytesOf(taps * channelsPerBlock);
  outputsPerBlock = cpu::evenBlock(shape.outputs,
                                   std::max<int64_t>(most / tile * tile, tile));
  double work = 2.0 * shape.groups * shape.channels * shape.outputs * taps *
                product(shape.windows.out) * shape.batch;
  int64_t wanted = cpu::chunksFor(work / 4, kEnoughChunks);
  if (direct)
    parts = std::clamp<int64_t>(divideUp(wanted, numChunks()), 1, shape.batch);
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
  int64_t positions = images * product(block);
  int64_t places = images * slab.planeSize();
  Scratch scratch;
  char *offsets;
  eager::takeScratch(
      worker, {{&scratch.slab, bytesOf(places * channelsPerBlock + panelWidth)},
               {&scratch.windows, bytesOf(outputsPerBlock * positions)},
               {&scratch.sums,
                bytesOf(outputsPerBlock * slab.taps() * channelsPerBlock)},
               {&offsets, positions * static_cast<int64_t>(sizeof(int64_t))}});
  scratch.offsets = reinterpret_cast<int64_t *>(offsets);
  return scratch;
}

ConvWeightGradient::Block ConvWeightGradient::blockOf(const void *x,
                                                      const void *dy, void *dw,
                                                      int64_t index) const {
  Digits digits(index);
  Block b;
  int64_t channel = digits.take(divideUp(shape.channels, channelsPerBlock)) *
                    channelsPerBlock;
  int64_t output =
      digits.take(divideUp(shape.outputs, outputsPerBlock)) * outputsPerBlock;
  int64_t group = digits.take(shape.groups), part = digits.first();
  b.channels = std::min(channelsPerBlock, shape.channels - channel);
  b.outputs = std::min(outputsPerBlock, shape.outputs - output);
  int64_t imagesPerPart = divideUp(shape.batch, parts);
  b.image = part * imagesPerPart;
  b.imageEnd = std::min(b.image + imagesPerPart, shape.batch);
  int64_t firstOutput = group * shape.outputs + output;
  b.x = advance(static_cast<const char *>(x),
                (group * shape.channels + channel) * shape.x.channel, elements);
  b.dy = advance(static_cast<const char *>(dy),
                 firstOutput * shape.result.channel, elements);
  b.dw = advance(static_cast<char *>(dw),
                 part * partStride + firstOutput * shape.weights.outer +
                     channel * shape.weights.channel,
                 elements);
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
    for (int64_t i = 0; i < shape.windows.out[0]; i += block[0])
      for (int64_t j = 0; j < shape.windows.out[1]; j += block[1])
        for (int64_t k = 0; k < shape.windows.out[2]; k += block[2]) {
          addPositions(b, scratch, image, count, {i, j, k}, isFirst);
          isFirst = false;
        }
  }
  store(b, scratch);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Adds the windows of a box of some images.
void ConvWeightGradient::addPositions(const Block &b, const Scratch &scratch,
                                      int64_t image, int64_t count,
                                      const Spatial &first,
                                      bool isFirst) const {
  const ImageStrides &dy = shape.result;
  const Spatial &strides = shape.windows.strides;
  Spatial box, start;
  for (int i = 0; i < 3; ++i) {
    box[i] = std::min(block[i], shape.windows.out[i] - first[i]);
    start[i] = first[i] * strides[i];
  }
  int64_t positions = count * product(box), position = 0;
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = n * slab.planeSize() * b.channels;
    const char *x = advance(b.x, (image + n) * shape.x.outer, elements);
    slab.fill({x, elements, {}}, shape.x, b.channels, start, zeros().data,
              advance(scratch.slab, offset, sums), sums);
    for (int64_t i = 0; i < box[0]; ++i) {
      int64_t from = (image + n) * dy.outer + (first[0] + i) * dy.spatial[0] +
                     first[1] * dy.spatial[1] + first[2] * dy.spatial[2];
      copyBox(*library, {advance(b.dy, from, elements), elements, {}},
              {dy.channel, dy.spatial[1], dy.spatial[2]},
              {advance(scratch.windows, position, sums), sums, {}},
              {positions, box[2], 1}, {b.outputs, box[1], box[2]});
      for (int64_t j = 0; j < box[1]; ++j)
        for (int64_t k = 0; k < box[2]; ++k)
          scratch.offsets[position++] =
              offset +
              slab.placeOf({i * strides[0], j * strides[1], k * strides[2]}) *
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
  int64_t perRow = tapsPerRow(), row = slab.taps() * b.channels;
  MatrixPlace left{scratch.windows, sums, {positions, 1}};
  MatrixPlace results{scratch.sums, sums, {row, 1}};
  for (int64_t tap = 0; tap < slab.taps(); tap += perRow) {
    MatrixPlace result = results.from(0, tap * b.channels);
    Products::multiply(
        b.outputs, perRow * b.channels, positions, left,
        advance(scratch.slab, slab.tapOffset(tap) * b.channels, sums),
        scratch.offsets, isFirst ? zeros() : result, result);
  }
}

void ConvWeightGradient::store(const Block &b, const Scratch &scratch) const {
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
                 {advance(b.dw, offset, elements),
                  elements,
                  {to.spatial[2], to.channel}},
                 taps, b.channels);
    }
}

} // namespace tinh::eager
