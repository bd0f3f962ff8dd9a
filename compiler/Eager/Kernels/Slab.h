//===- Slab.h - Images in the order that windows read them ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolution and pooling read, for each tap of a window, the image shifted. A
// slab is a copy of the part of the images that a block of outputs needs, with
// its padding, in which these shifted images are places: neighbouring outputs
// are neighbours there, across the lines of the image too. (What is computed
// between the end of one line and the start of the next one is dropped.)
//
// With strides, places that are a multiple of the stride apart are neighbours:
// the slab holds one image for each remainder, a phase. It is
// [channels, phases…, extents…], or [phases…, extents…, channels].
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_SLAB_H
#define TINH_EAGER_KERNELS_SLAB_H

#include "compiler/Eager/Kernels/Products.h"

namespace tinh::eager {

/// A value for each of three spatial dimensions; of fewer, the first ones have
/// extent 1.
using Spatial = std::array<int64_t, 3>;

inline int64_t product(const Spatial &values) {
  return values[0] * values[1] * values[2];
}

/// Strides, in elements, of [N, C, spatial…] or [O, C, kernel…].
struct ImageStrides {
  int64_t outer = 0, channel = 0;
  Spatial spatial = {};
};

struct Windows {
  Spatial in, kernel, strides, dilations, padLow, out;
};

class Slab {
public:
  Slab(KernelLibrary &library, const Windows &windows,
       bool channelsLast = false);

  /// For blocks of so many outputs, or fewer.
  void setBlock(const Spatial &outputs);

  int64_t taps() const { return product(windows.kernel); }
  /// Elements of a line.
  int64_t lineSize() const { return extents[2]; }
  /// Elements of a channel.
  int64_t planeSize() const { return product(phases) * product(extents); }
  /// Lines that `outputs` neighbours of dimension `i` read, of one phase.
  int64_t extent(int i, int64_t outputs) const;
  /// Elements from the first output of `count` to the last one, if these are
  /// lines of one image.
  int64_t span(const Spatial &count) const {
    return (count[1] - 1) * extents[2] + count[2];
  }

  /// The number of a place in the image of a phase.
  int64_t placeOf(const Spatial &at) const {
    return (at[0] * extents[1] + at[1]) * extents[2] + at[2];
  }
  /// That of the first output's element for a tap, in a channel.
  int64_t tapOffset(int64_t tap) const;

  /// Fills the slab at `to`, in `dtype`, with `channels` channels from `from`
  /// on for outputs from `first` on; what does not exist is the element
  /// `padding`.
  void fill(const MatrixPlace &from, const ImageStrides &strides,
            int64_t channels, const Spatial &first, const void *padding,
            char *to, tinh_dtype_t dtype) const;

private:
  void fillLines(MatrixPlace from, const ImageStrides &strides,
                 int64_t channels, const Spatial &starts, int64_t depth,
                 char *to, tinh_dtype_t dtype) const;

  KernelLibrary *library;
  Windows windows;
  bool channelsLast;
  /// Taps so far apart read the same phase, of so many.
  Spatial period, phases;
  Spatial extents = {1, 1, 1}; // Of the image of each phase.
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_SLAB_H
