//===- ConvTranspose.cpp - Transposed convolution -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution, with the weights turned round, of the input spread out by the
// stride. Most of that would be zeros: of the result, every stride-th element
// is a convolution of the input with every stride-th tap.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Autocast.h"
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Elementwise.h"
#include "compiler/Eager/Tensor/Windows/Windows.h"

using namespace tinh;
using namespace tinh::eager;

/// stride - 1 zeros between neighbours.
static Tensor spread(const TensorImpl &x, const Dims &strides,
                     const Call &call) {
  Dims sizes = x.sizes;
  bool isSpread = false;
  for (uint32_t i = 0; i < strides.size(); ++i) {
    isSpread |= strides[i] != 1;
    sizes[2 + i] = std::max<int64_t>((sizes[2 + i] - 1) * strides[i] + 1, 0);
  }
  if (!isSpread)
    return TensorAccess::share(x);
  LikeScope scope(x);
  Tensor out = filled(sizes, toScalar(0, x.dtype), call);
  Tensor places = out;
  for (uint32_t i = 0; i < strides.size(); ++i)
    places = places.slice(2 + i, None, None, strides[i], call.at);
  copyInto(use(places, call), x, call);
  return out;
}

/// [C, O / groups, kernel…] as [O, C / groups, kernel… turned round].
static Tensor turnedWeights(const TensorImpl &w, int64_t groups,
                            const Call &call) {
  Dims split = w.sizes, merged = w.sizes;
  split[0] /= groups;
  split.insert(0, groups);
  Tensor grouped = reshaped(w, split, call);
  Tensor swapped = movedAxis(use(grouped, call), 2, 1);
  merged[0] = w.sizes[1] * groups;
  merged[1] = w.sizes[0] / groups;
  Tensor joined = reshaped(use(swapped, call), merged, call);
  Axes axes;
  for (int64_t i = 2; i < w.rank(); ++i)
    axes.push_back(i);
  return flip(sameCall(joined, call), axes);
}

/// The convolution of x, of which negative paddings cut the ends, with steps of
/// one.
static Tensor convolveCut(const TensorImpl &x, const Tensor &weights,
                          const Tensor &bias, Window window, const Dims &before,
                          const Dims &after, const Call &call) {
  Shape low = {0, 0}, high = {0, 0};
  window.strides = Dims::filled(before.size(), 1);
  for (uint32_t i = 0; i < before.size(); ++i) {
    window.padLow[i] = std::max<int64_t>(before[i], 0);
    window.padHigh[i] = std::max<int64_t>(after[i], 0);
    low.push_back(std::min<int64_t>(before[i], 0));
    high.push_back(std::min<int64_t>(after[i], 0));
  }
  Tensor cut = pad(TensorAccess::share(x), low, high);
  return convolve(use(cut, call), use(weights, call), bias, window, call);
}

static Tensor convolveSpread(const TensorImpl &x, const Tensor &turned,
                             const Tensor &bias, const Window &asked,
                             const Dims &extra, const Call &call) {
  Dims before, after;
  for (uint32_t i = 0; i < extra.size(); ++i) {
    int64_t reach = (asked.kernel[i] - 1) * asked.dilations[i];
    before.push_back(reach - asked.padLow[i]);
    after.push_back(reach - asked.padHigh[i] + extra[i]);
  }
  Tensor spreadOut = spread(x, asked.strides, call);
  return convolveCut(use(spreadOut, call), turned, bias, asked, before, after,
                     call);
}

/// Whether phases can be told apart by their taps, and all get the bias.
static bool hasPhases(const Window &asked, bool hasBias) {
  bool strided = false;
  for (uint32_t i = 0; i < asked.strides.size(); ++i) {
    strided |= asked.strides[i] > 1;
    if (asked.strides[i] > 1 && asked.dilations[i] > 1)
      return false;
    if (hasBias && asked.kernel[i] < asked.strides[i])
      return false;
  }
  return strided;
}

/// The phase `phase` of each dimension, into its places of `out`.
static void convolvePhase(const TensorImpl &x, const Tensor &turned,
                          const Tensor &bias, const Window &asked,
                          const Dims &phase, const Tensor &out,
                          const Call &call) {
  Window window = asked;
  Dims before, after;
  Tensor weights = turned, places = out;
  for (uint32_t i = 0; i < phase.size(); ++i) {
    int64_t stride = asked.strides[i], tap = phase[i];
    int64_t taps = (asked.kernel[i] - tap + stride - 1) / stride;
    // The first element of the phase, and the one of x that its first tap
    // meets.
    int64_t first = ((tap - asked.padLow[i]) % stride + stride) % stride;
    int64_t count = (use(out, call).sizes[2 + i] - first + stride - 1) / stride;
    if (tap >= asked.kernel[i] || count <= 0)
      return;
    int64_t at = (first + asked.padLow[i] - tap) / stride;
    int64_t reach = (taps - 1) * asked.dilations[i];
    window.kernel[i] = taps;
    before.push_back(reach - at);
    after.push_back(at + count - x.sizes[2 + i]);
    int64_t last = asked.kernel[i] - 1 - tap - (taps - 1) * stride;
    if (stride > 1) {
      weights = weights.slice(2 + i, last, None, stride, call.at);
      places = places.slice(2 + i, first, None, stride, call.at);
    }
  }
  Tensor dense = weights.contiguous(call.at);
  Tensor y = convolveCut(x, dense, bias, window, before, after, call);
  copyInto(use(places, call), use(y, call), call);
}

static Tensor convolvePhases(const TensorImpl &x, const Tensor &turned,
                             const Tensor &bias, const Window &asked,
                             const Dims &extra, const Call &call) {
  Dims sizes;
  sizes.push_back(x.sizes[0]);
  sizes.push_back(use(turned, call).sizes[0]);
  bool isWhole = true; // Whether each phase has taps.
  int64_t phases = 1;
  for (uint32_t i = 0; i < extra.size(); ++i) {
    int64_t extent = (x.sizes[2 + i] - 1) * asked.strides[i] +
                     (asked.kernel[i] - 1) * asked.dilations[i] + 1 -
                     asked.padLow[i] - asked.padHigh[i] + extra[i];
    if (extent < 1)
      fail(call, "the result's dimension ", 2 + i, " would have ", extent,
           " elements");
    sizes.push_back(extent);
    isWhole &= asked.kernel[i] >= asked.strides[i];
    phases *= asked.strides[i];
  }
  LikeScope scope(x);
  Tensor out = isWhole ? makeTensor(x.dtype, sizes)
                       : filled(sizes, toScalar(0, x.dtype), call);
  for (int64_t index = 0; index < phases; ++index) {
    Dims phase = Dims::filled(extra.size(), 0);
    int64_t rest = index;
    for (uint32_t i = 0; i < extra.size(); ++i) {
      phase[i] = rest % asked.strides[i];
      rest /= asked.strides[i];
    }
    convolvePhase(x, turned, bias, asked, phase, out, call);
  }
  return out;
}

Tensor tinh::conv_transpose(Operand x, Operand weights, const Tensor &bias,
                            const IntArray &stride, const IntArray &padding,
                            const IntArray &output_padding,
                            const IntArray &dilation, int64_t groups) {
  Call call{"conv_transpose", x.at};
  Tensor kernel = lowered(toTensor(weights, call), call);
  Tensor offset = lowered(bias, call);
  const TensorImpl &w = use(kernel, call);
  if (w.rank() < 3 || w.rank() > 5)
    fail(call, "the weight has shape ", w.sizes,
         "; it must be [C, O / groups, …] with 1 to 3 spatial dimensions");
  uint32_t rank = w.rank() - 2;
  Tensor input = lowered(withBatch(x, rank, call), call);
  const TensorImpl &impl = use(input, call);
  checkWeights(impl, w, rank, groups, call);
  if (w.sizes[0] != impl.sizes[1] || w.sizes[0] % groups != 0)
    fail(call, "a weight of shape ", w.sizes, " in ", groups,
         " groups does not fit an input of shape ", impl.sizes);
  checkBias(offset, w.sizes[1] * groups, impl.dtype, call);

  Window asked =
      makeWindow(rank, spatialSizes(w), stride, padding, dilation, call);
  Dims extra = perDimension("output_padding", output_padding, rank, 0, call);
  asked.groups = groups;
  Tensor turned = turnedWeights(w, groups, call);
  Tensor out = hasPhases(asked, offset.defined())
                   ? convolvePhases(impl, turned, offset, asked, extra, call)
                   : convolveSpread(impl, turned, offset, asked, extra, call);
  return withoutBatch(out, x, call);
}
