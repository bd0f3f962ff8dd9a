//===- Resize.cpp - Interpolation along each axis ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes are static, so for each element of the output it is known which
// elements of the input it is made of, and with which weights: tables for each
// axis, which is resized after the other. Few terms are gathered and added; the
// many of antialiasing are a product with a matrix.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The tables have an entry for each element, matrices at most 2^24.
constexpr double kLargestTable = 1 << 20;
constexpr int64_t kLargestMatrix = int64_t(1) << 24;

/// How one dimension is resized.
struct Axis {
  int64_t from, to;
  double scale;
  double start = 0, end = 1; ///< The region, as parts of the input.

  bool isKept() const {
    return from == to && scale == 1 && start == 0 && end == 1;
  }
};

struct Modes {
  enum class Kind { Nearest, Linear, Cubic } kind = Kind::Nearest;
  std::string transformation, rounding;
  double cubic = -0.75; ///< The parameter of cubic interpolation.
  bool antialias = false, excludeOutside = false;
};

/// What an output element is made of: elements first, first + 1 … of the input,
/// which may lie outside of it, and their weights.
struct Terms {
  int64_t first = 0;
  SmallVector<double> weights;
};

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// The position in the input that output element `i` stands for.
std::optional<double> position(NodeBuilder &b, const Axis &axis, int64_t i,
                               StringRef transformation) {
  double x = static_cast<double>(i);
  // The extent before it was rounded down.
  double extent = axis.scale * static_cast<double>(axis.from);
  double last = static_cast<double>(axis.from - 1);
  if (transformation == "asymmetric")
    return x / axis.scale;
  if (transformation == "half_pixel")
    return (x + 0.5) / axis.scale - 0.5;
  if (transformation == "half_pixel_symmetric") {
    double adjustment = static_cast<double>(axis.to) / extent;
    double centre = static_cast<double>(axis.from) / 2;
    return centre * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (transformation == "pytorch_half_pixel")
    return axis.to > 1 ? (x + 0.5) / axis.scale - 0.5 : 0.0;
  if (transformation == "align_corners")
    return extent > 1 ? x * last / (extent - 1) : 0.0;
  if (transformation == "tf_crop_and_resize")
    return axis.to > 1
               ? axis.start * last + x * (axis.end - axis.start) * last /
                                         static_cast<double>(axis.to - 1)
               : 0.5 * (axis.start + axis.end) * last;
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

/// The weight of an element at a distance.
double weigh(const Modes &modes, double distance) {
  double x = std::fabs(distance), a = modes.cubic;
  if (modes.kind == Modes::Kind::Linear)
    return std::max(0.0, 1 - x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

/// Antialiasing widens the kernel to as many elements as become one.
Terms findTerms(const Modes &modes, const Axis &axis, double at) {
  if (modes.kind == Modes::Kind::Nearest)
    return {roundPosition(at, modes.rounding), {1.0}};
  double reach = modes.kind == Modes::Kind::Linear ? 1 : 2;
  double scale = modes.antialias ? std::min(axis.scale, 1.0) : 1.0;
  double base = std::floor(at);
  auto start = static_cast<int64_t>(std::floor(-reach / scale)) + 1;
  Terms terms;
  terms.first = static_cast<int64_t>(base) + start;
  double sum = 0;
  for (int64_t i = start; i <= 1 - start; ++i) {
    double weight =
        weigh(modes, (static_cast<double>(i) - (at - base)) * scale);
    int64_t element = static_cast<int64_t>(base) + i;
    if (modes.excludeOutside && (element < 0 || element >= axis.from))
      weight = 0;
    terms.weights.push_back(weight);
    sum += weight;
  }
  for (double &weight : terms.weights)
    weight /= sum;
  return terms;
}

/// The terms of all elements, or nothing with an error. `outside` tells which
/// lie beyond the input.
std::optional<SmallVector<Terms>> makeTable(NodeBuilder &b, const Axis &axis,
                                            const Modes &modes,
                                            SmallVector<bool> &outside) {
  SmallVector<Terms> table;
  for (int64_t i = 0; i < axis.to; ++i) {
    auto at = position(b, axis, i, modes.transformation);
    if (!at)
      return std::nullopt;
    table.push_back(findTerms(modes, axis, *at));
    outside.push_back(*at < 0 || *at > static_cast<double>(axis.from - 1));
  }
  return table;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

int64_t clampTo(const Axis &axis, int64_t element) {
  return std::clamp<int64_t>(element, 0, axis.from - 1);
}

/// Σ_k x[first + k] · weights[k]
Value addTerms(NodeBuilder &b, Value x, int64_t index, const Axis &axis,
               ArrayRef<Terms> table) {
  Ints shape(b.rank(x), 1);
  shape[index] = axis.to;
  size_t count = table.front().weights.size();
  Value sum;
  for (size_t k = 0; k < count; ++k) {
    Ints elements;
    SmallVector<double> weights;
    for (const Terms &terms : table) {
      int64_t element = terms.first + static_cast<int64_t>(k);
      elements.push_back(clampTo(axis, element));
      weights.push_back(terms.weights[k]);
    }
    Value picked = b.gather(x, elements, index);
    if (count == 1)
      return picked;
    Value term = b.mul(picked, b.constantFloats(b.element(x), shape, weights));
    sum = sum ? b.add(sum, term) : term;
  }
  return sum;
}

/// The same as a product with a matrix [to, from] of the weights.
Value multiplyTerms(NodeBuilder &b, Value x, int64_t index, const Axis &axis,
                    ArrayRef<Terms> table) {
  SmallVector<double> matrix(axis.to * axis.from, 0.0);
  for (auto [row, terms] : llvm::enumerate(table))
    for (auto [k, weight] : llvm::enumerate(terms.weights)) {
      int64_t element = clampTo(axis, terms.first + static_cast<int64_t>(k));
      matrix[static_cast<int64_t>(row) * axis.from + element] += weight;
    }
  Value weights = b.constantFloats(b.element(x), {axis.to, axis.from}, matrix);
  int64_t last = b.rank(x) - 1;
  if (index == last)
    return b.matmul(x, weights, /*transposeB=*/true);
  // Along another axis: the elements after it are the columns.
  int64_t before = 1, after = 1;
  Ints shape(b.shape(x));
  for (int64_t extent : b.shape(x).take_front(index))
    before *= extent;
  for (int64_t extent : b.shape(x).drop_front(index + 1))
    after *= extent;
  Value y = b.matmul(weights, b.reshape(x, {before, axis.from, after}));
  shape[index] = axis.to;
  return b.reshape(y, shape);
}

Value resizeAxis(NodeBuilder &b, Value x, int64_t index, const Axis &axis,
                 const Modes &modes, Value &outside) {
  bool asMatrix = modes.antialias && axis.scale < 1;
  if (asMatrix && axis.to > kLargestMatrix / axis.from)
    return b.fail("cannot resize " + Twine(axis.from) + " elements to " +
                  Twine(axis.to) + " with antialiasing: they are too many");
  SmallVector<bool> isOutside;
  auto table = makeTable(b, axis, modes, isOutside);
  if (!table)
    return {};
  if (modes.transformation == "tf_crop_and_resize") {
    Ints shape(b.rank(x), 1);
    shape[index] = axis.to;
    auto type =
        RankedTensorType::get(shape, IntegerType::get(b.graph.context(), 1));
    Value mask = b.graph.constant(DenseElementsAttr::get(type, isOutside));
    outside = outside ? b.create<graph::OrOp>({outside, mask}) : mask;
  }
  return asMatrix ? multiplyTerms(b, x, index, axis, *table)
                  : addTerms(b, x, index, axis, *table);
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

/// What the node says of the sizes: (X, roi, scales, sizes), in opset 10 and
/// for Upsample (X, scales).
struct Sizes {
  SmallVector<double> scales, regions;
  Ints sizes, axes;
};

std::optional<Sizes> readSizes(NodeBuilder &b, Value x) {
  Sizes s;
  bool isShort = b.op() == "Upsample" || b.opset() < 11;
  int at = isShort ? 1 : 2;
  auto read = [&](int i, StringRef what, SmallVector<double> &into) {
    auto given = b.numbers(i, what);
    if (given)
      into = *given;
  };
  if (b.op() == "Upsample" && b.opset() < 7) { // Of images.
    s.scales = {1, 1, b.floatAttribute("height_scale", 1),
                b.floatAttribute("width_scale", 1)};
  } else if (b.op() == "Upsample" && b.opset() < 9) {
    auto *a = b.attribute("scales", AttributeProto::FLOATS);
    if (a)
      s.scales.assign(a->floats().begin(), a->floats().end());
  } else if (!isShort && b.has(3)) {
    auto given = b.ints(3, "sizes");
    s.sizes = given.value_or(Ints());
  } else if (b.has(at)) {
    read(at, "scales", s.scales);
  }
  if (!isShort && b.has(1) &&
      b.stringAttribute("coordinate_transformation_mode", "") ==
          "tf_crop_and_resize")
    read(1, "roi", s.regions);
  Ints all = llvm::to_vector(llvm::seq<int64_t>(b.rank(x)));
  s.axes = b.intsAttribute("axes", all);
  if (b.failed() || !b.axes(s.axes, b.rank(x)))
    return std::nullopt;
  size_t given = s.sizes.empty() ? s.scales.size() : s.sizes.size();
  if (given == s.axes.size() &&
      (s.regions.empty() || s.regions.size() == 2 * given))
    return s;
  b.fail("expected " + Twine(s.axes.size()) + " scales or sizes, found " +
         Twine(given) + " and " + Twine(s.regions.size()) +
         " numbers of regions");
  return std::nullopt;
}

/// With a policy the one scale that fits all axes.
std::optional<double> commonScale(NodeBuilder &b, Value x, const Sizes &s) {
  std::string policy = b.stringAttribute("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || s.sizes.empty())
    return std::nullopt;
  std::optional<double> scale;
  for (auto [size, axis] : llvm::zip(s.sizes, s.axes)) {
    double mine = static_cast<double>(size) /
                  static_cast<double>(b.shape(x)[*b.axis(axis, b.rank(x))]);
    if (!scale)
      scale = mine;
    scale = policy == "not_larger" ? std::min(*scale, mine)
                                   : std::max(*scale, mine);
  }
  if (policy != "not_larger" && policy != "not_smaller")
    b.fail("attribute keep_aspect_ratio_policy: unknown value \"" + policy +
           "\"");
  return scale;
}

std::optional<SmallVector<Axis>> readAxes(NodeBuilder &b, Value x) {
  auto s = readSizes(b, x);
  if (!s)
    return std::nullopt;
  auto common = commonScale(b, x, *s);
  if (b.failed())
    return std::nullopt;
  SmallVector<Axis> result;
  for (int64_t extent : b.shape(x))
    result.push_back({extent, extent, 1.0});
  size_t count = s->axes.size();
  for (size_t i = 0; i < count; ++i) {
    Axis &axis = result[*b.axis(s->axes[i], b.rank(x))];
    double extent = static_cast<double>(axis.from), to;
    if (common) {
      axis.scale = *common;
      to = std::floor(extent * axis.scale + 0.5);
    } else if (!s->sizes.empty()) {
      to = static_cast<double>(s->sizes[i]);
      axis.scale = to / extent;
    } else {
      axis.scale = s->scales[i];
      to = std::floor(extent * axis.scale);
    }
    if (!s->regions.empty()) {
      axis.start = s->regions[i];
      axis.end = s->regions[count + i];
    }
    if (!(to >= 1 && to <= kLargestTable) || axis.from < 1) {
      b.fail("cannot resize an extent of " + Twine(axis.from) + " to " +
             Twine(std::to_string(to)) + ": 1 to " +
             Twine(static_cast<int64_t>(kLargestTable)) + " are supported");
      return std::nullopt;
    }
    axis.to = static_cast<int64_t>(to);
  }
  return result;
}

std::optional<Modes> readModes(NodeBuilder &b) {
  bool isOld = b.op() == "Upsample" || b.opset() < 11;
  std::string mode = b.stringAttribute("mode", "nearest");
  Modes modes;
  if (mode == "linear" || mode == "bilinear") {
    modes.kind = Modes::Kind::Linear;
  } else if (mode == "cubic" && !isOld) {
    modes.kind = Modes::Kind::Cubic;
  } else if (mode != "nearest") {
    b.fail("mode " + mode + " is not supported");
    return std::nullopt;
  }
  modes.transformation =
      isOld ? "asymmetric"
            : b.stringAttribute("coordinate_transformation_mode", "half_pixel");
  modes.rounding =
      isOld ? "floor" : b.stringAttribute("nearest_mode", "round_prefer_floor");
  modes.cubic = b.floatAttribute("cubic_coeff_a", -0.75);
  modes.excludeOutside = b.intAttribute("exclude_outside", 0);
  modes.antialias = b.intAttribute("antialias", 0);
  return modes;
}

Results resize(NodeBuilder &b) {
  Value x = b.input(0);
  Type element = b.element(x);
  auto modes = readModes(b);
  auto axes = modes ? readAxes(b, x) : std::nullopt;
  if (!axes)
    return {Value()};
  bool isExact = modes->kind == Modes::Kind::Nearest;
  if (!isExact && !isa<FloatType>(element))
    x = b.cast(x, b.graph.raw().getF32Type());
  Value outside;
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    if (axis.isKept())
      continue;
    x = resizeAxis(b, x, static_cast<int64_t>(i), axis, *modes, outside);
    if (!x)
      return {Value()};
  }
  if (outside)
    x = b.where(outside,
                b.scalarLike(x, b.floatAttribute("extrapolation_value", 0)), x);
  return {b.cast(x, element)};
}

} // namespace

OpFamily resizeOps() { return {{"Resize", resize}, {"Upsample", resize}}; }

} // namespace tinh::onnx
