//===- Regions.cpp - Regions of images, deformed convolutions ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Windows.h"
#include "compiler/Import/onnx/ops/images/Sampling.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Positions are computed in f32 at least: halves cannot tell pixels apart.
Value positionsOf(NodeBuilder &b, Value x) {
  if (!x)
    return {};
  return b.element(x).isF64() ? x : b.cast(x, b.graph.raw().getF32Type());
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

struct RoiAlign {
  NodeBuilder &b;
  Value x, regions, images; ///< [N, C, H, W], [R, 4], [R]
  int64_t pooled[2], samples;
  double scale;
  bool isHalfPixel, isMax;

  bool read();
  Value positions(int d);
  Value onPoints(Value value, int d);
  Value inside(int d, Value at);
  Value run();
  Value asMany(Value y);

  int64_t count() const { return NodeBuilder::shape(regions)[0]; }
  int64_t extent(int d) const { return NodeBuilder::shape(x)[2 + d]; }
  /// The samples along a dimension of a region.
  int64_t along(int d) const { return pooled[d] * samples; }
};

bool RoiAlign::read() {
  x = b.input(0);
  regions = b.input(1);
  images = b.input(2);
  if (b.rank(x) != 4 || b.rank(regions) != 2 || b.shape(regions)[1] != 4 ||
      b.shape(images) != ArrayRef<int64_t>{b.shape(regions)[0]} ||
      b.type(x).getNumElements() == 0)
    b.fail("expected an image [N, C, H, W] with regions [R, 4] and the number "
           "of the image of each, [R], found " +
           graph::shapeToString(x.getType()) + ", " +
           graph::shapeToString(regions.getType()) + " and " +
           graph::shapeToString(images.getType()));
  pooled[0] = b.intAttribute("output_height", 1);
  pooled[1] = b.intAttribute("output_width", 1);
  samples = b.intAttribute("sampling_ratio", 0);
  scale = b.floatAttribute("spatial_scale", 1);
  constexpr int64_t kMost = 4096;
  for (int64_t size : {pooled[0], pooled[1]})
    if (size < 1 || size > kMost)
      b.fail("expected an output_height and an output_width from 1 to " +
             Twine(kMost) + ", found " + Twine(size));
  if (samples == 0)
    b.fail("sampling_ratio 0 lets the number of samples depend on the size of "
           "each region; export the model with a fixed one, such as 2");
  else if (samples < 0 || samples > kMost)
    b.fail("attribute sampling_ratio: expected 1 to " + Twine(kMost) +
           ", found " + Twine(samples));
  std::string mode = b.stringAttribute("mode", "avg");
  std::string pixels =
      b.stringAttribute("coordinate_transformation_mode",
                        b.opset() < 16 ? "output_half_pixel" : "half_pixel");
  isMax = mode == "max";
  isHalfPixel = pixels == "half_pixel";
  if (!isMax && mode != "avg")
    b.fail("attribute mode: expected avg or max, found \"" + mode + "\"");
  if (!isHalfPixel && pixels != "output_half_pixel")
    b.fail("attribute coordinate_transformation_mode: expected half_pixel or "
           "output_half_pixel, found \"" +
           pixels + "\"");
  return !b.failed();
}

/// Where the samples of each region are along a dimension, [R, samples].
Value RoiAlign::positions(int d) {
  Value corners = positionsOf(b, regions);
  auto corner = [&](int64_t column) {
    Value at = b.sliceAxis(corners, 1, column, 1);
    return b.sub(b.mul(at, b.scalarLike(at, scale)),
                 b.scalarLike(at, isHalfPixel ? 0.5 : 0));
  };
  // Regions have the last dimension first: x1, y1, x2, y2.
  Value start = corner(1 - d), size = b.sub(corner(3 - d), start);
  if (!isHalfPixel)
    size = b.max(size, b.scalarLike(size, 1));
  Value bin = b.div(size, b.scalarLike(size, static_cast<double>(pooled[d])));
  SmallVector<double> steps;
  for (int64_t i = 0; i < along(d); ++i)
    steps.push_back((static_cast<double>(i) + 0.5) /
                    static_cast<double>(samples));
  if (b.failed())
    return {};
  Value step = b.constantFloats(b.element(bin), {1, along(d)}, steps);
  return b.add(start, b.mul(bin, step));
}

/// What is known of rows or columns, on all points: [1, points].
Value RoiAlign::onPoints(Value value, int d) {
  Ints shape = {count(), d == 0 ? along(0) : 1, d == 0 ? 1 : along(1)};
  return b.reshape(
      b.broadcast(b.reshape(value, shape), {count(), along(0), along(1)}),
      {1, count() * along(0) * along(1)});
}

/// Samples more than an element outside of the image count as zeros.
Value RoiAlign::inside(int d, Value at) {
  double last = static_cast<double>(extent(d));
  return b.create<graph::AndOp>(
      {b.compare(Predicate::GreaterEqual, at, b.scalarLike(at, -1)),
       b.compare(Predicate::LessEqual, at, b.scalarLike(at, last))});
}

/// The mean or the largest of the samples in each bin. The largest is that of
/// the elements' shares, as ONNX defines it.
Value RoiAlign::run() {
  int64_t channels = b.shape(x)[1], pixels = extent(0) * extent(1);
  int64_t points = count() * along(0) * along(1);
  Sampler sampler{b, /*alignCorners=*/true, Surrounding::Border};
  SmallVector<SampledDimension> dimensions;
  Value isInside;
  for (int d : {0, 1}) {
    Value at = positions(d);
    if (!at)
      return {};
    Value holds = onPoints(inside(d, at), d);
    isInside = isInside ? b.create<graph::AndOp>({isInside, holds}) : holds;
    at = sampler.wrap(at, extent(d)); // moved in before it is interpolated
    dimensions.push_back({extent(d), d == 0 ? extent(1) : 1, onPoints(at, d)});
  }
  Type i64 = b.graph.raw().getI64Type();
  Value image =
      b.mul(b.cast(images, i64), b.scalar(i64, static_cast<double>(pixels)));
  Value first = b.reshape(b.broadcast(b.reshape(image, {count(), 1}),
                                      {count(), along(0) * along(1)}),
                          {1, points});
  Value flat = b.reshape(b.transpose(x, {1, 0, 2, 3}),
                         {1, channels, b.shape(x)[0] * pixels});
  Value y;
  SmallVector<Contribution> all = sampler.contributions(dimensions, "linear");
  for (Contribution &one : all)
    one.index = b.add(one.index, first);
  if (!isMax)
    y = sumContributions(b, flat, points, all);
  else
    for (const Contribution &one : all) {
      Value share = sumContributions(b, flat, points, one);
      y = y ? b.max(y, share) : share;
    }
  y = b.where(b.reshape(isInside, {1, 1, points}), y, b.scalarLike(y, 0));
  y = b.reshape(y, {channels, count(), pooled[0], samples, pooled[1], samples});
  return b.transpose(b.reduce(isMax ? Kind::Max : Kind::Mean, y, {3, 5}, false),
                     {1, 0, 2, 3});
}

/// As many results as there are regions, where the run decides that.
Value RoiAlign::asMany(Value y) {
  if (!y || !b.graph.isBounded(regions, 0))
    return y;
  y = b.setDimensionSize(y, 0, b.dimensionSize(regions, 0));
  llvm::SmallBitVector first(4);
  b.graph.markBounded(y, first.set(0));
  return y;
}

Results roiAlign(NodeBuilder &b) {
  RoiAlign op{b, {}, {}, {}, {}, 0, 0, false, false};
  return {op.read() ? op.asMany(op.run()) : Value()};
}

//===----------------------------------------------------------------------===//
// MaxRoiPool
//===----------------------------------------------------------------------===//

struct MaxRoiPool {
  NodeBuilder &b;
  Value x, regions; ///< [N, C, H, W], [R, 5]
  Ints pooled;
  double scale;

  bool read();
  Value rounded(Value x);
  Value inBins(int d);
  Value run();

  int64_t count() const { return NodeBuilder::shape(regions)[0]; }
};

bool MaxRoiPool::read() {
  x = b.input(0);
  regions = b.input(1);
  pooled = b.intsAttribute("pooled_shape");
  scale = b.floatAttribute("spatial_scale", 1);
  if (b.failed())
    return false;
  constexpr int64_t kMost = 4096;
  bool isRight =
      b.rank(x) == 4 && b.type(x).getNumElements() > 0 &&
      b.rank(regions) == 2 && b.shape(regions)[1] == 5 && pooled.size() == 2 &&
      llvm::all_of(pooled, [](int64_t n) { return n >= 1 && n <= kMost; });
  if (!isRight)
    b.fail("expected an image [N, C, H, W], regions [R, 5] and two numbers "
           "from 1 to " +
           Twine(kMost) + " as pooled_shape, found " +
           graph::shapeToString(x.getType()) + ", " +
           graph::shapeToString(regions.getType()) + " and " +
           formatShape(pooled));
  return isRight;
}

/// The nearest integer, and of two the one farther from 0, as C has it.
Value MaxRoiPool::rounded(Value x) {
  Value up = b.add(b.create<graph::AbsOp>({x}), b.scalarLike(x, 0.5));
  return b.mul(b.create<graph::SignOp>({x}), b.create<graph::FloorOp>({up}));
}

/// Whether rows or columns belong to each bin of each region: [R, bins,
/// extent].
Value MaxRoiPool::inBins(int d) {
  int64_t extent = b.shape(x)[2 + d], bins = pooled[d];
  // A region is the number of its image, x1, y1, x2 and y2.
  Value corners = positionsOf(b, regions);
  auto corner = [&](int64_t column) {
    Value at = b.sliceAxis(corners, 1, column, 1);
    return at ? b.reshape(rounded(b.mul(at, b.scalarLike(at, scale))),
                          {count(), 1, 1})
              : at;
  };
  Value start = corner(2 - d), end = corner(4 - d);
  if (b.failed())
    return {};
  Value one = b.scalarLike(start, 1);
  Value size = b.max(b.add(b.sub(end, start), one), one);
  Value bin = b.div(size, b.scalarLike(size, static_cast<double>(bins)));
  Value number = b.cast(b.reshape(b.iota(bins), {1, bins, 1}), b.element(bin));
  Value first = b.create<graph::FloorOp>({b.mul(number, bin)});
  Value last = b.create<graph::CeilOp>({b.mul(b.add(number, one), bin)});
  Value place = b.cast(b.iota(extent), b.element(bin));
  return b.create<graph::AndOp>(
      {b.compare(Predicate::GreaterEqual, place, b.add(first, start)),
       b.compare(Predicate::Less, place, b.add(last, start))});
}

/// The largest element of each bin: along the rows, then along the columns. One
/// without elements is 0.
Value MaxRoiPool::run() {
  Value rows = inBins(0), columns = inBins(1);
  if (b.failed())
    return {};
  int64_t channels = b.shape(x)[1], height = b.shape(x)[2],
          width = b.shape(x)[3], regionCount = count();
  Type element = b.element(x), f32 = b.graph.raw().getF32Type();
  Value images = b.cast(b.reshape(b.sliceAxis(regions, 1, 0, 1), {regionCount}),
                        b.graph.raw().getI64Type());
  Value image = b.gather(element.isF64() ? x : b.cast(x, f32), images, 0);
  Value nothing = b.scalarLike(image, -std::numeric_limits<double>::infinity());
  Value inRow = b.where(
      b.reshape(rows, {regionCount, 1, pooled[0], height, 1}),
      b.reshape(image, {regionCount, channels, 1, height, width}), nothing);
  Value largest = b.reduce(Kind::Max, inRow, 3, /*keepdims=*/false);
  Value inColumn =
      b.where(b.reshape(columns, {regionCount, 1, 1, pooled[1], width}),
              b.reshape(largest, {regionCount, channels, pooled[0], 1, width}),
              nothing);
  Value y = b.reduce(Kind::Max, inColumn, 4, /*keepdims=*/false);
  auto isAny = [&](Value inBin, ArrayRef<int64_t> shape) {
    return b.reshape(b.reduce(Kind::Max, inBin, 2, /*keepdims=*/false), shape);
  };
  Value isThere =
      b.create<graph::AndOp>({isAny(rows, {regionCount, 1, pooled[0], 1}),
                              isAny(columns, {regionCount, 1, 1, pooled[1]})});
  return b.cast(b.where(isThere, y, b.scalarLike(image, 0)), element);
}

Results maxRoiPool(NodeBuilder &b) {
  MaxRoiPool op{b, {}, {}, {}, 0};
  return {op.read() ? op.run() : Value()};
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

struct DeformConv {
  NodeBuilder &b;
  Value x, weights, offsets;
  Windows windows;
  int64_t groups, offsetGroups;
  int64_t outputs[2];

  bool read();
  SampledDimension dimension(int d);
  Value run();

  int64_t taps() const { return windows.kernel[0] * windows.kernel[1]; }
  int64_t extent(int d) const { return NodeBuilder::shape(x)[2 + d]; }
  int64_t positions() const { return outputs[0] * outputs[1]; }
  bool checkInput(int input, StringRef what, ArrayRef<int64_t> shape);
};

bool DeformConv::checkInput(int input, StringRef what,
                            ArrayRef<int64_t> shape) {
  Value value = b.has(input) ? b.input(input) : Value();
  if (value && b.shape(value) != shape)
    b.fail("expected " + what + " of the shape " + formatShape(shape) +
           ", found " + graph::shapeToString(value.getType()));
  return !b.failed();
}

bool DeformConv::read() {
  x = b.input(0);
  weights = b.input(1);
  offsets = b.input(2);
  if (b.rank(x) != 4 || b.rank(weights) != 4) {
    b.fail("expected an image and weights of 2 spatial dimensions, found " +
           graph::shapeToString(x.getType()) + " and " +
           graph::shapeToString(weights.getType()));
    return false;
  }
  auto read = readWindows(b, x, b.shape(weights).drop_front(2));
  if (!read)
    return false;
  windows = std::move(*read);
  groups = b.intAttribute("group", 1);
  offsetGroups = b.intAttribute("offset_group", 1);
  ArrayRef<int64_t> w = b.shape(weights);
  int64_t channels = b.shape(x)[1];
  if (groups < 1 || w[1] == 0 || channels != w[1] * groups || w[0] % groups ||
      offsetGroups < 1 || channels % offsetGroups ||
      b.type(x).getNumElements() == 0) {
    b.fail("the weights " + graph::shapeToString(weights.getType()) + " in " +
           Twine(groups) + " groups, with " + Twine(offsetGroups) +
           " groups of offsets, do not fit the image " +
           graph::shapeToString(x.getType()));
    return false;
  }
  for (int d : {0, 1}) {
    int64_t span = (windows.kernel[d] - 1) * windows.dilations[d] + 1;
    int64_t free =
        extent(d) + windows.padding[d] + windows.padding[2 + d] - span;
    outputs[d] = free < 0 ? 0 : free / windows.strides[d] + 1;
  }
  int64_t batch = b.shape(x)[0], all = offsetGroups * taps();
  return checkInput(2, "offsets", {batch, 2 * all, outputs[0], outputs[1]}) &&
         checkInput(3, "a bias", w[0]) &&
         checkInput(4, "a mask", {batch, all, outputs[0], outputs[1]});
}

/// Where each tap of each window is: at its place and its offset.
SampledDimension DeformConv::dimension(int d) {
  int64_t kernel = windows.kernel[d], batch = b.shape(x)[0] * offsetGroups;
  Ints tapShape = {1, 1, 1, 1}, windowShape = {1, 1, 1, 1};
  tapShape[d] = kernel;
  windowShape[2 + d] = outputs[d];
  Value tap = b.reshape(b.iota(kernel, 0, windows.dilations[d]), tapShape);
  Value window = b.reshape(
      b.iota(outputs[d], -windows.padding[d], windows.strides[d]), windowShape);
  Value place = b.reshape(
      b.broadcast(b.add(tap, window), {windows.kernel[0], windows.kernel[1],
                                       outputs[0], outputs[1]}),
      {1, taps() * positions()});
  Value offset = b.sliceAxis(
      b.reshape(positionsOf(b, offsets), {batch, taps(), 2, positions()}), 2, d,
      1);
  offset = b.reshape(offset, {batch, taps() * positions()});
  if (b.failed())
    return {};
  return {extent(d), d == 0 ? extent(1) : 1,
          b.add(offset, b.cast(place, b.element(offset)))};
}

/// The images at the taps of all windows, times the weights.
Value DeformConv::run() {
  int64_t batch = b.shape(x)[0], channels = b.shape(x)[1];
  int64_t all = batch * offsetGroups, points = taps() * positions();
  Sampler sampler{b, /*alignCorners=*/true, Surrounding::Zeros};
  SampledDimension dimensions[] = {dimension(0), dimension(1)};
  if (b.failed())
    return {};
  Value flat =
      b.reshape(x, {all, channels / offsetGroups, extent(0) * extent(1)});
  Value columns = sumContributions(b, flat, points,
                                   sampler.contributions(dimensions, "linear"));
  if (b.has(4))
    columns = b.mul(columns, b.reshape(b.input(4), {all, 1, points}));
  int64_t filters = b.shape(weights)[0], depth = channels / groups * taps();
  columns = b.reshape(columns, {batch, groups, depth, positions()});
  Value y = b.matmul(b.reshape(weights, {1, groups, filters / groups, depth}),
                     columns);
  y = b.reshape(y, {batch, filters, outputs[0], outputs[1]});
  return b.has(3) ? b.add(y, b.perChannel(b.input(3), 4)) : y;
}

Results deformConv(NodeBuilder &b) {
  DeformConv op{b, {}, {}, {}, {}, 0, 0, {}};
  return {op.read() ? op.run() : Value()};
}

} // namespace

OpFamily regionOps() {
  return {{"DeformConv", deformConv},
          {"MaxRoiPool", maxRoiPool},
          {"RoiAlign", roiAlign}};
}

} // namespace tinh::onnx
