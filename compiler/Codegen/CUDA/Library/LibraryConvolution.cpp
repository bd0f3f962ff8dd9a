//===- LibraryConvolution.cpp - Products that are convolutions --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is a convolution if loops of the rows, or columns, and of the depth
// index dimensions of one factor, the image, together: position · stride + tap
// · dilation - padding. What role each dimension has follows from the loops in
// it; so images may lie as they like, and filters too.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Library/LibraryDescriber.h"

using namespace mlir;

namespace tinh::cuda {

namespace {

/// A loop along a dimension, by so many elements a step.
struct Step {
  std::optional<unsigned> loop; ///< None: one step alone.
  int64_t size = 1;
};

/// A dimension of the image along which the filter moves.
struct Spatial {
  int64_t extent, stride; ///< Of the image in memory.
  Step position, tap;
  int64_t low;
};

class ConvolutionMatcher {
public:
  ConvolutionMatcher(const Product &p, const Factor &image,
                     const Factor &filter)
      : p(p), image(*image.access), filter(*filter.access),
        positions(image.loops), outputs(filter.loops),
        filterSteps(filter.access->steps) {}

  bool match();

  SmallVector<Spatial> spatial;
  Step images, channels, group, output;
  int64_t imagesStride = 0, channelsStride = 0, groupStride = 0;

  int64_t extentOf(const Step &step) const {
    return step.loop ? p.extents[*step.loop] : 1;
  }

private:
  bool classify(unsigned dim);
  void takeChannels();
  bool isLinearFilter() const;
  int64_t lastRead(const Spatial &dim) const {
    return (extentOf(dim.position) - 1) * dim.position.size +
           (extentOf(dim.tap) - 1) * dim.tap.size - dim.low;
  }

  /// Whether a filter that moves as far as it can comes to no more positions
  /// than there are.
  bool comesToPositions(const Spatial &dim) const {
    return dim.extent - 1 - lastRead(dim) < dim.position.size;
  }

  const Product &p;
  const MemoryAccess &image, &filter;
  const Loops &positions, &outputs;
  ArrayRef<int64_t> filterSteps;
  SmallVector<unsigned> seen; ///< Loops that index the image.
};

/// Finds the role of a dimension of the image; the first one that only images
/// or positions index is that of images. Those that only the depth indexes are
/// spatial until takeChannels().
bool ConvolutionMatcher::classify(unsigned dim) {
  Step position, tap, batch;
  for (unsigned loop = 0; loop < p.extents.size(); ++loop) {
    int64_t size = image.coefficient(dim, loop);
    if (size == 0 || p.extents[loop] == 1)
      continue;
    Step &step = llvm::is_contained(positions, loop) ? position
                 : llvm::is_contained(p.depth, loop) ? tap
                                                     : batch;
    if (size < 0 || step.loop || llvm::is_contained(seen, loop))
      return false;
    step = {loop, size};
    seen.push_back(loop);
  }
  int64_t extent = image.shape[dim], low = -image.constant(dim),
          stride = image.strides[dim];
  if (batch.loop) {
    if (position.loop || group.loop || low != 0)
      return false;
    group = batch;
    groupStride = batch.size * stride;
    channels = tap; // Of one group, in the same dimension.
    channelsStride = stride;
    return (extentOf(batch) - 1) * batch.size + extentOf(tap) <= extent &&
           (!tap.loop || (tap.size == 1 && batch.size == extentOf(tap)));
  }
  if (!position.loop && !tap.loop && low == 0)
    return true; // One element of it.
  if (position.loop && !tap.loop && position.size == 1 && low == 0 &&
      !images.loop && extentOf(position) <= extent) {
    images = position;
    imagesStride = stride;
    return true;
  }
  spatial.push_back({extent, stride, position, tap, low});
  return low >= 0;
}

/// Of the dimensions that only the depth indexes, the one whose elements lie
/// closest has the channels.
void ConvolutionMatcher::takeChannels() {
  Spatial *best = nullptr;
  if (channels.loop)
    return;
  for (Spatial &dim : spatial)
    if (!dim.position.loop && dim.tap.size == 1 && dim.low == 0 &&
        extentOf(dim.tap) == dim.extent && (!best || dim.stride < best->stride))
      best = &dim;
  if (!best)
    return; // There is one channel.
  channels = best->tap;
  channelsStride = best->stride;
  spatial.erase(best);
}

/// Whether the filter is read from its first element on, and each step of the
/// depth leads on in it.
bool ConvolutionMatcher::isLinearFilter() const {
  return filter.staysInside(p.extents) &&
         llvm::all_of(p.depth,
                      [&](unsigned loop) { return filterSteps[loop] > 0; });
}

bool ConvolutionMatcher::match() {
  if (outputs.size() > 1 || p.batch.size() > 1)
    return false;
  for (unsigned dim = 0; dim < image.shape.size(); ++dim)
    if (!classify(dim))
      return false;
  size_t wanted = positions.size() + p.depth.size() + p.batch.size();
  if (seen.size() != wanted || !isLinearFilter())
    return false;
  takeChannels();
  if (!outputs.empty())
    output = {outputs.front(), 1};
  if (group.loop &&
      ((channels.loop && groupStride != channelsStride * extentOf(channels)) ||
       filterSteps[*group.loop] !=
           (output.loop ? filterSteps[*output.loop] * extentOf(output)
                        : filterSteps[*group.loop])))
    return false;
  if (spatial.empty() || spatial.size() > 3)
    return false;
  for (Spatial &dim : spatial) // What lies behind is not read.
    if (!comesToPositions(dim))
      dim.extent = std::min(dim.extent, lastRead(dim) + 1);
  return llvm::all_of(spatial, [](Spatial &dim) { return dim.extent >= 1; });
}

/// Collects the dimensions of the views.
class Views {
public:
  Views(const ConvolutionMatcher &m, ArrayRef<int64_t> filterSteps)
      : m(m), filterSteps(filterSteps) {
    int64_t groups = m.extentOf(m.group);
    add(imageShape, imageStrides, m.extentOf(m.images), m.imagesStride);
    add(imageShape, imageStrides, m.extentOf(m.channels) * groups,
        m.channels.loop ? m.channelsStride : m.groupStride);
    const Step &outputs = m.output.loop ? m.output : m.group;
    add(filterShape, filterStrides, m.extentOf(m.output) * groups,
        step(outputs, filterSteps));
    add(filterShape, filterStrides, m.extentOf(m.channels),
        step(m.channels, filterSteps));
    // Libraries know no less than two dimensions.
    if (m.spatial.size() == 1)
      addSpatial({1, m.spatial[0].extent * m.spatial[0].stride, {}, {}, 0});
    for (const Spatial &dim : m.spatial)
      addSpatial(dim);
  }

  /// Those of a tensor of the result's shape that loops step through so.
  SmallVector<int64_t> resultStrides(ArrayRef<int64_t> steps) const {
    SmallVector<int64_t> strides{
        step(m.images, steps), step(m.output.loop ? m.output : m.group, steps)};
    if (m.spatial.size() == 1)
      strides.push_back(m.extentOf(m.spatial[0].position) *
                        step(m.spatial[0].position, steps));
    for (const Spatial &dim : m.spatial)
      strides.push_back(step(dim.position, steps));
    return strides;
  }
  SmallVector<int64_t> resultShape() const {
    SmallVector<int64_t> shape{imageShape[0], filterShape[0]};
    if (m.spatial.size() == 1)
      shape.push_back(1);
    for (const Spatial &dim : m.spatial)
      shape.push_back(m.extentOf(dim.position));
    return shape;
  }

  SmallVector<int64_t> imageShape, imageStrides, filterShape, filterStrides;
  SmallVector<int64_t> low, high, strides, dilations;

private:
  static void add(SmallVector<int64_t> &shape, SmallVector<int64_t> &strides,
                  int64_t extent, int64_t stride) {
    shape.push_back(extent);
    strides.push_back(stride);
  }
  static int64_t step(const Step &step, ArrayRef<int64_t> steps) {
    return step.loop ? steps[*step.loop] : 0;
  }

  void addSpatial(const Spatial &dim) {
    int64_t positions = m.extentOf(dim.position), taps = m.extentOf(dim.tap);
    add(imageShape, imageStrides, dim.extent, dim.stride);
    add(filterShape, filterStrides, taps, step(dim.tap, filterSteps));
    low.push_back(dim.low);
    int64_t last =
        (positions - 1) * dim.position.size + (taps - 1) * dim.tap.size;
    high.push_back(std::max<int64_t>(last + 1 - dim.extent - dim.low, 0));
    strides.push_back(dim.position.size);
    dilations.push_back(dim.tap.size);
  }

  const ConvolutionMatcher &m;
  ArrayRef<int64_t> filterSteps;
};

} // namespace

graph::LibraryAttr LibraryDescriber::convolution() {
  if (auto found = convolution(p.left, p.right))
    return found;
  return convolution(p.right, p.left);
}

graph::LibraryAttr LibraryDescriber::convolution(const Factor &image,
                                                 const Factor &filter) {
  ConvolutionMatcher m(p, image, filter);
  if (epilogue.activation == graph::Activation::GeluTanh || !m.match())
    return {};
  Views views(m, filter.access->steps);
  auto viewOf = [&](unsigned operand, ArrayRef<int64_t> steps) {
    // Channels of all groups are one dimension.
    if (m.group.loop && m.output.loop &&
        steps[*m.group.loop] != steps[*m.output.loop] * m.extentOf(m.output))
      return graph::ViewAttr();
    return makeView(operand, views.resultShape(), views.resultStrides(steps));
  };
  auto result = resultView(viewOf);
  if (!result)
    return {};
  auto isBias = [](graph::ViewAttr view) {
    ArrayRef<int64_t> strides = view.getStrides();
    return strides[1] == 1 &&
           llvm::count(strides, 0) == static_cast<int64_t>(strides.size()) - 1;
  };
  auto isResidual = [&](graph::ViewAttr view) {
    return view.getStrides() == result.getStrides();
  };
  auto added = addends(viewOf, isBias, isResidual);
  if (!added)
    return {};
  auto list = [&](ArrayRef<int64_t> values) {
    return DenseI64ArrayAttr::get(kernel.getContext(), values);
  };
  return makeCall(graph::LibraryKind::Convolution,
                  makeView(image.access->argument.getArgNumber(),
                           views.imageShape, views.imageStrides),
                  makeView(filter.access->argument.getArgNumber(),
                           views.filterShape, views.filterStrides),
                  result, *added,
                  graph::WindowAttr::get(kernel.getContext(), list(views.low),
                                         list(views.high), list(views.strides),
                                         list(views.dilations)));
}

} // namespace tinh::cuda
