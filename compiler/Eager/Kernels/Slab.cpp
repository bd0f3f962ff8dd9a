//===- Slab.cpp - Images in the order that windows read them ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Slab.h"

#include <algorithm>
#include <numeric>

namespace tinh::eager {

/// Element `index` of a box, in row-major order.
static Spatial placeIn(const Spatial &extents, int64_t index) {
  return {index / (extents[1] * extents[2]), index / extents[2] % extents[1],
          index % extents[2]};
}

Slab::Slab(KernelLibrary &library, const Windows &windows, bool channelsLast)
    : library(&library), windows(windows), channelsLast(channelsLast) {
  for (int i = 0; i < 3; ++i) {
    int64_t stride = windows.strides[i];
    period[i] = stride / std::gcd(stride, windows.dilations[i]);
    phases[i] = std::min(windows.kernel[i], period[i]);
  }
}

int64_t Slab::extent(int i, int64_t outputs) const {
  return outputs +
         (windows.kernel[i] - 1) * windows.dilations[i] / windows.strides[i];
}

void Slab::setBlock(const Spatial &outputs) {
  for (int i = 0; i < 3; ++i)
    extents[i] = extent(i, outputs[i]);
}

int64_t Slab::tapOffset(int64_t index) const {
  Spatial tap = placeIn(windows.kernel, index);
  int64_t phase = 0;
  for (int i = 0; i < 3; ++i) {
    phase = phase * phases[i] + tap[i] % period[i];
    tap[i] = tap[i] * windows.dilations[i] / windows.strides[i];
  }
  return phase * product(extents) + placeOf(tap);
}

void Slab::fill(const MatrixPlace &from, const ImageStrides &strides,
                int64_t channels, const Spatial &first, const void *padding,
                char *to, tinh_dtype_t dtype) const {
  bool inside = true; // Whether all that is read exists.
  Spatial origin;     // Of the first window.
  for (int i = 0; i < 3; ++i) {
    origin[i] = first[i] * windows.strides[i] - windows.padLow[i];
    inside &= origin[i] >= 0 &&
              origin[i] + extents[i] * windows.strides[i] <= windows.in[i];
  }
  if (!inside)
    copyMatrix(*library, {padding, dtype, {0, 0}}, {to, dtype, {0, 1}}, 1,
               planeSize() * channels);
  for (int64_t p = 0; p < product(phases); ++p) {
    Spatial phase = placeIn(phases, p), starts;
    for (int i = 0; i < 3; ++i)
      starts[i] =
          origin[i] + phase[i] * windows.dilations[i] % windows.strides[i];
    for (int64_t depth = 0; depth < extents[0]; ++depth) {
      fillLines(from, strides, channels, starts, depth, to, dtype);
      to = advance(to, extents[1] * extents[2] * (channelsLast ? channels : 1),
                   dtype);
    }
  }
}

/// The lines at `depth` of a phase that starts at `starts` in the image; their
/// padding is there already.
void Slab::fillLines(MatrixPlace from, const ImageStrides &strides,
                     int64_t channels, const Spatial &starts, int64_t depth,
                     char *to, tinh_dtype_t dtype) const {
  Spatial low, high, steps; // Of places that exist, in the slab.
  for (int i = 0; i < 3; ++i) {
    int64_t step = windows.strides[i];
    auto placesTo = [&](int64_t position) {
      int64_t distance = position - starts[i];
      return std::clamp<int64_t>((distance + step - 1) / step, 0, extents[i]);
    };
    low[i] = placesTo(0);
    high[i] = placesTo(windows.in[i]);
    steps[i] = step * strides.spatial[i];
  }
  if (depth < low[0] || depth >= high[0] || low[1] >= high[1] ||
      low[2] >= high[2])
    return;
  int64_t offset = (depth - low[0]) * steps[0];
  for (int i = 0; i < 3; ++i)
    offset += (starts[i] + low[i] * windows.strides[i]) * strides.spatial[i];
  from.data = advance(static_cast<const char *>(from.data), offset, from.dtype);
  int64_t place = placeOf({0, low[1], low[2]});
  int64_t lines = high[1] - low[1], columns = high[2] - low[2];
  if (channelsLast)
    return copyBox(*library, from, {steps[1], steps[2], strides.channel},
                   {advance(to, place * channels, dtype), dtype, {}},
                   {extents[2] * channels, channels, 1},
                   {lines, columns, channels});
  copyBox(*library, from, {strides.channel, steps[1], steps[2]},
          {advance(to, place, dtype), dtype, {}}, {planeSize(), extents[2], 1},
          {channels, lines, columns});
}

} // namespace tinh::eager
