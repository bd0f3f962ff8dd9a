//===- ConvTest.cpp - Convolutions against loops ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Conv.h"

#include "tests/eager/kernels/KernelsTesting.h"

#include <thread>

using namespace tinh::eager;

namespace {

/// Strides of a dense image, channels first or last.
ImageStrides strides(int64_t channels, const Spatial &extents,
                     bool channelsLast = false) {
  int64_t unit = channelsLast ? channels : 1;
  return {channels * product(extents),
          channelsLast ? 1 : product(extents),
          {extents[1] * extents[2] * unit, extents[2] * unit, unit}};
}

/// A dense convolution.
ConvShape makeShape(tinh_dtype_t dtype, int64_t batch, int64_t groups,
                    int64_t channels, int64_t outputs, Spatial in,
                    Spatial kernel, Spatial step = {1, 1, 1},
                    Spatial dilations = {1, 1, 1}, Spatial low = {},
                    Spatial high = {}) {
  ConvShape shape;
  shape.dtype = dtype;
  shape.batch = batch;
  shape.groups = groups;
  shape.channels = channels;
  shape.outputs = outputs;
  shape.windows.in = in;
  shape.windows.kernel = kernel;
  shape.windows.strides = step;
  shape.windows.dilations = dilations;
  shape.windows.padLow = low;
  for (int i = 0; i < 3; ++i)
    shape.windows.out[i] =
        (in[i] + low[i] + high[i] - (kernel[i] - 1) * dilations[i] - 1) /
            step[i] +
        1;
  shape.x = strides(groups * channels, in);
  shape.weights = strides(channels, kernel);
  shape.result = strides(groups * outputs, shape.windows.out);
  shape.hasBias = true;
  shape.biasStride = 1;
  return shape;
}

struct Case {
  Case(const ConvShape &shape, std::mt19937 &random)
      : shape(shape),
        x(shape.dtype, shape.batch * shape.groups * shape.channels *
                           product(shape.windows.in)),
        weights(shape.dtype, shape.groups * shape.outputs * shape.channels *
                                 product(shape.windows.kernel)),
        bias(shape.dtype, shape.groups * shape.outputs),
        out(shape.dtype, shape.batch * shape.groups * shape.outputs *
                             product(shape.windows.out)) {
    for (Memory *memory : {&x, &weights, &bias, &out})
      memory->fill(random);
  }

  void run(const Conv &conv, uint32_t begin, uint32_t end) {
    Worker worker;
    conv.run(x.data(), weights.data(), shape.hasBias ? bias.data() : nullptr,
             out.data(), begin, end, worker);
  }
  void expectRight();
  void expectOutput(int64_t image, int64_t output, const Spatial &place);

  ConvShape shape;
  Memory x, weights, bias, out;
};

int64_t offset(const ImageStrides &strides, int64_t outer, int64_t channel,
               const Spatial &place) {
  int64_t sum = outer * strides.outer + channel * strides.channel;
  for (int i = 0; i < 3; ++i)
    sum += place[i] * strides.spatial[i];
  return sum;
}

Spatial placeOf(int64_t index, const Spatial &extents) {
  return {index / (extents[1] * extents[2]), index / extents[2] % extents[1],
          index % extents[2]};
}

void Case::expectOutput(int64_t image, int64_t output, const Spatial &place) {
  int64_t group = output / shape.outputs;
  double sum = shape.hasBias ? bias.get(output * shape.biasStride) : 0,
         size = std::abs(sum);
  for (int64_t c = 0; c < shape.channels; ++c)
    for (int64_t i = 0; i < product(shape.windows.kernel); ++i) {
      Spatial tap = placeOf(i, shape.windows.kernel), at;
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        at[d] = place[d] * shape.windows.strides[d] +
                tap[d] * shape.windows.dilations[d] - shape.windows.padLow[d];
        inside &= at[d] >= 0 && at[d] < shape.windows.in[d];
      }
      if (!inside)
        continue;
      double value =
          x.get(offset(shape.x, image, group * shape.channels + c, at)) *
          weights.get(offset(shape.weights, output, c, tap));
      sum += value;
      size += std::abs(value);
    }
  ASSERT_NEAR(out.get(offset(shape.result, image, output, place)), sum,
              tolerance(shape.dtype, size))
      << "image " << image << ", output " << output << ", at " << place[0]
      << " " << place[1] << " " << place[2];
}

void Case::expectRight() {
  for (int64_t image = 0; image < shape.batch; ++image)
    for (int64_t o = 0; o < shape.groups * shape.outputs; ++o)
      for (int64_t i = 0; i < product(shape.windows.out); ++i) {
        expectOutput(image, o, placeOf(i, shape.windows.out));
        if (testing::Test::HasFatalFailure())
          return;
      }
  EXPECT_TRUE(out.marginsAreWhole());
}

class ConvTest : public ForCpus {
protected:
  void check(const ConvShape &shape) {
    Case convolution(shape, random);
    Conv conv(library(), shape);
    convolution.run(conv, 0, conv.numChunks());
    convolution.expectRight();
  }
  std::mt19937 random{1};
};

} // namespace

TEST_P(ConvTest, ofOneDimension) {
  check(makeShape(TINH_DTYPE_F32, 2, 1, 3, 5, {1, 1, 700}, {1, 1, 4}));
  check(makeShape(TINH_DTYPE_F32, 1, 1, 3, 5, {1, 1, 1200}, {1, 1, 5},
                  {1, 1, 2}, {1, 1, 3}, {0, 0, 4}, {0, 0, 1}));
}

TEST_P(ConvTest, ofImages) {
  for (int64_t stride : {1, 2, 3})
    for (int64_t dilation : {1, 2})
      for (int64_t kernel : {1, 3, 4})
        check(makeShape(TINH_DTYPE_F32, 2, 1, 5, 7, {1, 17, 23},
                        {1, kernel, kernel}, {1, stride, stride},
                        {1, dilation, dilation}, {0, 2, 1}, {0, 0, 3}));
}

TEST_P(ConvTest, ofVolumes) {
  check(makeShape(TINH_DTYPE_F32, 1, 1, 3, 4, {5, 9, 11}, {3, 3, 2}, {2, 1, 2},
                  {1, 2, 1}, {1, 1, 0}, {0, 2, 1}));
}

TEST_P(ConvTest, ofGroups) {
  check(makeShape(TINH_DTYPE_F32, 2, 3, 4, 5, {1, 9, 10}, {1, 3, 3}, {1, 1, 1},
                  {1, 1, 1}, {0, 1, 1}, {0, 1, 1}));
  // Depthwise, with and without a multiplier.
  for (int64_t outputs : {1, 2})
    check(makeShape(TINH_DTYPE_F32, 2, 9, 1, outputs, {1, 20, 30}, {1, 3, 3},
                    {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}));
}

/// More channels than a slab holds, more outputs than are computed together.
TEST_P(ConvTest, ofManyChannels) {
  check(makeShape(TINH_DTYPE_F32, 1, 1, 300, 100, {1, 24, 24}, {1, 3, 3},
                  {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}));
}

TEST_P(ConvTest, ofAnyDtype) {
  for (tinh_dtype_t dtype : {TINH_DTYPE_F16, TINH_DTYPE_BF16, TINH_DTYPE_F64,
                             TINH_DTYPE_I32, TINH_DTYPE_I64})
    for (int64_t kernel : {1, 3})
      check(makeShape(dtype, 1, 1, 20, 50, {1, 9, 10}, {1, kernel, kernel}));
}

TEST_P(ConvTest, ofAnyStrides) {
  ConvShape shape =
      makeShape(TINH_DTYPE_F32, 2, 1, 6, 10, {1, 9, 10}, {1, 3, 3}, {1, 1, 1},
                {1, 1, 1}, {0, 1, 1}, {0, 1, 1});
  shape.x = strides(6, shape.windows.in, /*channelsLast=*/true);
  shape.weights = strides(6, shape.windows.kernel, /*channelsLast=*/true);
  shape.result = strides(10, shape.windows.out, /*channelsLast=*/true);
  check(shape);
  shape.biasStride = 0;
  shape.x.spatial = {0, 0, 0};
  check(shape);
}

TEST_P(ConvTest, ofNoChannels) {
  check(makeShape(TINH_DTYPE_F32, 2, 1, 0, 5, {1, 7, 8}, {1, 3, 3}));
}

TEST_P(ConvTest, sameBitsForAnyWorkers) {
  ConvShape shape =
      makeShape(TINH_DTYPE_F32, 1, 1, 64, 96, {1, 30, 30}, {1, 3, 3});
  Case convolution(shape, random);
  Conv conv(library(), shape);
  uint32_t chunks = conv.numChunks();
  ASSERT_GT(chunks, 3u);
  convolution.run(conv, 0, chunks);
  Memory whole = convolution.out;
  convolution.out.fill(random);
  std::thread other([&] { convolution.run(conv, chunks / 3, chunks); });
  convolution.run(conv, 0, chunks / 3);
  other.join();
  EXPECT_EQ(0, std::memcmp(whole.data(), convolution.out.data(),
                           whole.count * sizeof(float)));
}

INSTANTIATE_TEST_SUITE_P(Cpu, ConvTest, testedCpus(), cpuName);
