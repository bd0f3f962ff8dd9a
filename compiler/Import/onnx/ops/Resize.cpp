//===- Resize.cpp - Nearest and linear interpolation ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/NodeBuilder.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// How one dimension is resized.
struct Axis {
  int64_t from, to;
  double scale;
};

struct Modes {
  bool nearest;
  std::string transformation, rounding;
};

/// The position in the input that output element `i` stands for.
std::optional<double> position(NodeBuilder &b, const Axis &axis, int64_t i,
                               StringRef transformation) {
  double x = static_cast<double>(i);
  if (transformation == "asymmetric")
    return x / axis.scale;
  if (transformation == "half_pixel")
    return (x + 0.5) / axis.scale - 0.5;
  if (transformation == "half_pixel_symmetric") {
    double output = axis.scale * static_cast<double>(axis.from);
    double adjustment = static_cast<double>(axis.to) / output;
    double centre = static_cast<double>(axis.from) / 2;
    return centre * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (transformation == "pytorch_half_pixel")
    return axis.to > 1 ? (x + 0.5) / axis.scale - 0.5 : 0.0;
  if (transformation == "align_corners") {
    // The extent before it was rounded down.
    double extent = axis.scale * static_cast<double>(axis.from);
    return extent > 1 ? x * static_cast<double>(axis.from - 1) / (extent - 1)
                      : 0.0;
  }
  b.fail("coordinate_transformation_mode " + transformation +
         " is not supported");
  return std::nullopt;
}

int64_t roundPosition(double at, StringRef rounding) {
  if (rounding == "floor")
    return static_cast<int64_t>(std::floor(at));
  if (rounding == "ceil")
    return static_cast<int64_t>(std::ceil(at));
  if (rounding == "round_prefer_ceil")
    return static_cast<int64_t>(std::floor(at + 0.5));
  return static_cast<int64_t>(std::ceil(at - 0.5)); // round_prefer_floor
}

Value resizeAxis(NodeBuilder &b, Value x, int64_t index, const Axis &axis,
                 const Modes &modes) {
  Ints below, above;
  SmallVector<double> weights;
  for (int64_t i = 0; i < axis.to; ++i) {
    auto at = position(b, axis, i, modes.transformation);
    if (!at)
      return {};
    auto clamp = [&](int64_t p) {
      return std::clamp<int64_t>(p, 0, axis.from - 1);
    };
    if (modes.nearest) {
      below.push_back(clamp(roundPosition(*at, modes.rounding)));
      continue;
    }
    double floor = std::floor(*at);
    below.push_back(clamp(static_cast<int64_t>(floor)));
    above.push_back(clamp(static_cast<int64_t>(floor) + 1));
    weights.push_back(*at - floor);
  }
  Value low = b.gather(x, below, index);
  if (modes.nearest || !low)
    return low;
  Value high = b.gather(x, above, index);
  Ints shape(b.rank(x), 1);
  shape[index] = axis.to;
  Value weight = b.constantFloats(b.element(x), shape, weights);
  return b.add(low, b.mul(b.sub(high, low), weight));
}

/// Resize takes (X, roi, scales, sizes), in opset 10 and Upsample (X, scales).
std::optional<SmallVector<Axis>> readAxes(NodeBuilder &b, Value x) {
  SmallVector<double> scales;
  Ints sizes;
  bool short10 = b.op() == "Upsample" || b.opset() < 11;
  int at = short10 ? 1 : 2;
  if (b.op() == "Upsample" && b.opset() < 9) {
    auto *a = b.attribute("scales", ::onnx::AttributeProto::FLOATS);
    if (a)
      scales.assign(a->floats().begin(), a->floats().end());
  } else if (!short10 && b.has(3)) {
    auto given = b.ints(3, "sizes");
    if (!given)
      return std::nullopt;
    sizes = *given;
  } else if (b.has(at)) {
    auto given = b.numbers(at, "scales");
    if (!given)
      return std::nullopt;
    scales = *given;
  }
  Ints all;
  for (int64_t i = 0; i < b.rank(x); ++i)
    all.push_back(i);
  Ints axes = b.intsAttribute("axes", all);
  size_t given = sizes.empty() ? scales.size() : sizes.size();
  if (!b.axes(axes, b.rank(x)))
    return std::nullopt;
  if (given != axes.size()) {
    b.fail("expected " + Twine(axes.size()) + " scales or sizes, found " +
           Twine(given));
    return std::nullopt;
  }
  SmallVector<Axis> result;
  for (int64_t extent : b.shape(x))
    result.push_back({extent, extent, 1.0});
  for (size_t i = 0; i < given; ++i) {
    Axis &axis = result[*b.axis(axes[i], b.rank(x))];
    double extent = static_cast<double>(axis.from);
    axis.scale =
        sizes.empty() ? scales[i] : static_cast<double>(sizes[i]) / extent;
    double to = sizes.empty() ? std::floor(extent * axis.scale)
                              : static_cast<double>(sizes[i]);
    if (!(to >= 1 && to < 1e8) || axis.from < 1) {
      b.fail("cannot resize an extent of " + Twine(axis.from) + " to " +
             Twine(std::to_string(to)));
      return std::nullopt;
    }
    axis.to = static_cast<int64_t>(to);
  }
  return result;
}

Results resize(NodeBuilder &b) {
  Value x = b.input(0);
  bool old = b.op() == "Upsample" || b.opset() < 11;
  std::string mode = b.stringAttribute("mode", "nearest");
  Modes modes;
  modes.nearest = mode == "nearest";
  modes.transformation =
      old ? "asymmetric"
          : b.stringAttribute("coordinate_transformation_mode", "half_pixel");
  modes.rounding =
      old ? "floor" : b.stringAttribute("nearest_mode", "round_prefer_floor");
  if (!modes.nearest && mode != "linear" && mode != "bilinear")
    return {b.fail("mode " + mode +
                   " is not supported (nearest and linear "
                   "are)")};
  if (b.intAttribute("antialias", 0) ||
      b.stringAttribute("keep_aspect_ratio_policy", "stretch") != "stretch")
    return {b.fail("antialias and keep_aspect_ratio_policy are not supported")};
  auto axes = readAxes(b, x);
  if (!axes)
    return {Value()};
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    if (axis.from == axis.to && axis.scale == 1.0)
      continue;
    x = resizeAxis(b, x, static_cast<int64_t>(i), axis, modes);
    if (!x)
      return {Value()};
  }
  return {x};
}

} // namespace

ArrayRef<OpEntry> resizeOps() {
  static const OpEntry entries[] = {
      {"Resize", 10, 1, 4, resize},
      {"Upsample", 7, 1, 2, resize},
  };
  return entries;
}

} // namespace tinh::onnx
