//===- Sampling.cpp - Images at computed positions --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/images/Sampling.h"

#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

//===----------------------------------------------------------------------===//
// Sampler
//===----------------------------------------------------------------------===//

/// Mirrored at the borders, as often as it takes.
Value Sampler::reflect(Value at, int64_t extent) {
  double low = alignCorners ? 0 : -0.5;
  double range = static_cast<double>(alignCorners ? extent - 1 : extent);
  if (range == 0)
    return number(at, low);
  Value phase = b.create<graph::ModOp>(
      {b.sub(at, number(at, low)), number(at, 2 * range)});
  Value isRising = b.compare(Predicate::LessEqual, phase, number(at, range));
  Value folded = b.where(isRising, phase, b.sub(number(at, 2 * range), phase));
  return b.add(folded, number(at, low));
}

/// An integral position that may lie outside, as an element that is there.
Value Sampler::wrap(Value at, int64_t extent) {
  if (surrounding == Surrounding::Reflection)
    at = reflect(at, extent);
  double last = static_cast<double>(extent - 1);
  return b.min(b.max(at, number(at, 0)), number(at, last));
}

/// From -1 … 1 to elements.
Value Sampler::position(Value normalised, int64_t extent) {
  double n = static_cast<double>(extent);
  double scale = alignCorners ? (n - 1) / 2 : n / 2;
  return b.add(b.mul(normalised, number(normalised, scale)),
               number(normalised, (n - 1) / 2));
}

void Sampler::add(Contribution &to, const SampledDimension &dimension,
                  Value element, Value weight) {
  Type i64 = b.graph.raw().getI64Type();
  Value offset = b.mul(b.cast(wrap(element, dimension.extent), i64),
                       b.scalar(i64, dimension.stride));
  to.index = to.index ? b.add(to.index, offset) : offset;
  if (weight)
    to.weight = to.weight ? b.mul(to.weight, weight) : weight;
  if (surrounding != Surrounding::Zeros)
    return;
  double last = static_cast<double>(dimension.extent - 1);
  Value outside = b.create<graph::OrOp>(
      {b.compare(Predicate::Less, element, number(element, 0)),
       b.compare(Predicate::Greater, element, number(element, last))});
  to.outside =
      to.outside ? b.create<graph::OrOp>({to.outside, outside}) : outside;
}

/// The weight of the element `k` places after the one below, `part` of the way
/// between them.
static Value tapWeight(NodeBuilder &b, Value part, int64_t k, bool isCubic) {
  Value one = b.scalarLike(part, 1);
  if (!isCubic)
    return k == 0 ? b.sub(one, part) : part;
  // ((c0 x + c1) x + c2) x + c3, x the distance to the element.
  constexpr double a = -0.75;
  bool isNear = k == 0 || k == 1;
  Value x = k <= 0 ? b.add(part, b.scalarLike(part, static_cast<double>(-k)))
                   : b.sub(b.scalarLike(part, static_cast<double>(k)), part);
  auto c = [&](double number) { return b.scalarLike(part, number); };
  Value y = isNear ? b.sub(b.mul(c(a + 2), x), c(a + 3))
                   : b.sub(b.mul(c(a), x), c(5 * a));
  y = isNear ? b.mul(y, x) : b.add(b.mul(y, x), c(8 * a));
  return b.add(b.mul(y, x), c(isNear ? 1 : -4 * a));
}

SmallVector<Contribution>
Sampler::contributions(ArrayRef<SampledDimension> dimensions, StringRef mode) {
  SmallVector<Contribution> all = {{}};
  for (const SampledDimension &dimension : dimensions) {
    Value below = b.create<graph::FloorOp>({dimension.at});
    Value part = b.sub(dimension.at, below);
    bool isCubic = mode == "cubic";
    SmallVector<Contribution> next;
    for (Contribution &contribution : all) {
      if (mode == "nearest") {
        next.push_back(contribution);
        Value nearest = b.create<graph::RoundOp>({dimension.at});
        add(next.back(), dimension, nearest, {});
        continue;
      }
      for (int64_t k = isCubic ? -1 : 0; k <= (isCubic ? 2 : 1); ++k) {
        next.push_back(contribution);
        Value element =
            b.add(below, b.scalarLike(below, static_cast<double>(k)));
        add(next.back(), dimension, element, tapWeight(b, part, k, isCubic));
      }
    }
    all = std::move(next);
  }
  return all;
}

Value sumContributions(NodeBuilder &b, Value flat, int64_t points,
                       ArrayRef<Contribution> all) {
  int64_t batch = b.shape(flat)[0], channels = b.shape(flat)[1];
  Ints row = {batch, 1, points};
  Value sum;
  for (const Contribution &one : all) {
    Value index =
        b.broadcast(b.reshape(one.index, row), {batch, channels, points});
    Value value = b.create<graph::GatherElementsOp>(
        {flat, index}, {b.attr("axis", int64_t(2))});
    if (one.outside)
      value =
          b.where(b.reshape(one.outside, row), b.scalarLike(flat, 0), value);
    if (one.weight)
      value = b.mul(value, b.cast(b.reshape(one.weight, row), b.element(flat)));
    sum = sum ? b.add(sum, value) : value;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

namespace {

std::optional<Surrounding> readSurrounding(NodeBuilder &b) {
  std::string text = b.stringAttribute("padding_mode", "zeros");
  if (text == "zeros")
    return Surrounding::Zeros;
  if (text == "border")
    return Surrounding::Border;
  if (text == "reflection")
    return Surrounding::Reflection;
  b.fail("attribute padding_mode: unknown value \"" + text + "\"");
  return std::nullopt;
}

std::string readMode(NodeBuilder &b) {
  std::string mode = b.stringAttribute("mode", "linear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    b.fail("attribute mode: unknown value \"" + mode + "\"");
  return mode;
}

Results gridSample(NodeBuilder &b) {
  Value x = b.input(0), grid = b.input(1);
  int64_t rank = b.rank(x) - 2;
  if (rank < 1 || rank > 3 || b.rank(grid) != rank + 2 ||
      b.shape(grid).back() != rank || b.shape(grid)[0] != b.shape(x)[0] ||
      b.type(x).getNumElements() == 0)
    return {b.fail("a grid " + graph::shapeToString(grid.getType()) +
                   " does not fit the image " +
                   graph::shapeToString(x.getType()))};
  auto padding = readSurrounding(b);
  std::string mode = readMode(b);
  if (b.failed())
    return {Value()};
  Sampler sampler{b, b.intAttribute("align_corners", 0) != 0, *padding};
  ArrayRef<int64_t> extents = b.shape(x).drop_front(2);
  Ints shape(b.shape(x).take_front(2));
  llvm::append_range(shape, b.shape(grid).drop_front().drop_back());
  int64_t points = *countElements(b.shape(grid).drop_front().drop_back());
  int64_t elements = *countElements(extents), stride = elements;
  SmallVector<SampledDimension> dimensions;
  for (int64_t d = 0; d < rank; ++d) {
    stride /= extents[d];
    // The grid has the last dimension first.
    Value normalised = b.sliceAxis(grid, rank + 1, rank - 1 - d, 1);
    Value at =
        sampler.position(b.reshape(normalised, {shape[0], points}), extents[d]);
    if (mode == "nearest")
      at = b.create<graph::RoundOp>({at});
    dimensions.push_back({extents[d], stride, at});
    // A position outside is moved in before it is interpolated.
    if (*padding == Surrounding::Reflection)
      dimensions.back().at = sampler.reflect(at, extents[d]);
    if (*padding == Surrounding::Border)
      dimensions.back().at = sampler.wrap(at, extents[d]);
  }
  Value flat = b.reshape(x, {shape[0], shape[1], elements});
  SmallVector<Contribution> all = sampler.contributions(dimensions, mode);
  if (b.failed())
    return {Value()};
  Value y = sumContributions(b, flat, points, all);
  return {b.reshape(y, shape)};
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

constexpr int64_t kMostPoints = int64_t(1) << 24;

/// The centres of `extent` elements between -1 and 1.
SmallVector<double> centres(int64_t extent, bool alignCorners) {
  SmallVector<double> result;
  double n = static_cast<double>(extent);
  for (int64_t i = 0; i < extent; ++i) {
    double at = static_cast<double>(i);
    result.push_back(!alignCorners ? (2 * at + 1) / n - 1
                     : extent > 1  ? 2 * at / (n - 1) - 1
                                   : 0);
  }
  return result;
}

/// Each position (x, y, 1), the last dimension first, times theta.
Results affineGrid(NodeBuilder &b) {
  Value theta = b.input(0);
  auto size = b.ints(1, "size");
  if (!size)
    return {Value()};
  ArrayRef<int64_t> extents =
      ArrayRef<int64_t>(*size).drop_front(std::min<size_t>(2, size->size()));
  auto rank = static_cast<int64_t>(extents.size());
  Ints expected = {size->empty() ? 0 : size->front(), rank, rank + 1};
  auto points = countElements(extents);
  if (rank < 1 || !points || *points > kMostPoints ||
      b.shape(theta) != ArrayRef<int64_t>(expected))
    return {b.fail("theta must be " + formatShape(expected) + " for the size " +
                   formatShape(*size))};
  bool alignCorners = b.intAttribute("align_corners", 0);
  SmallVector<Value> columns;
  Ints column(extents);
  column.push_back(1);
  for (int64_t d = rank - 1; d >= 0; --d) {
    Ints along(rank + 1, 1);
    along[d] = extents[d];
    Value values = b.constantFloats(b.element(theta), along,
                                    centres(extents[d], alignCorners));
    columns.push_back(b.broadcast(values, column));
  }
  columns.push_back(b.broadcast(b.scalarLike(theta, 1), column));
  if (b.failed())
    return {Value()};
  Value base = b.reshape(b.concat(columns, rank), {*points, rank + 1});
  Ints shape(extents);
  shape.insert(shape.begin(), expected[0]);
  shape.push_back(rank);
  return {b.reshape(b.matmul(base, theta, /*transposeB=*/true), shape)};
}

} // namespace

OpFamily samplingOps() {
  return {{"AffineGrid", affineGrid}, {"GridSample", gridSample}};
}

} // namespace tinh::onnx
