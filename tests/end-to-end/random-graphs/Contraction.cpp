//===- Contraction.cpp - Random products, convolutions and pools ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Generator.h"

using namespace mlir;

namespace tinh::test {

using namespace graph;

namespace {

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

/// The shape of an operand that multiplies one of `shape`, over `inner`, from
/// the other side: [batch…, inner, n] with the last two swapped if so said.
Shape otherMatrix(Generator &g, ArrayRef<int64_t> shape, int64_t inner,
                  bool swapped) {
  int64_t batch = std::max<int64_t>(shape.size() - 2, 0);
  Shape other(shape.take_front(batch));
  other.erase(other.begin(), other.begin() + g.number(0, batch));
  for (int64_t &extent : other)
    if (g.chance(0.2))
      extent = 1;
  other.append({inner, g.number(1, g.chance(0.3) ? 130 : 40)});
  if (swapped)
    std::swap(other[other.size() - 1], other[other.size() - 2]);
  return other;
}

bool makeMatmul(Generator &g) {
  Known x = g.anyBounded(8);
  if (x.rank() == 0 || x.isBool())
    return false;
  bool isLeft = g.chance(0.7), isVector = x.rank() == 1;
  bool transposed = !isVector && g.chance(0.3);
  // x's inner dimension is its last on the left, its last but one on the right.
  bool last = isVector || (isLeft != transposed);
  int64_t inner = x.shape()[x.rank() - (last ? 1 : 2)];
  bool swapped = g.chance(0.4), vector = g.chance(0.1);
  Known y = g.leaf(
      vector ? Shape{inner}
             : otherMatrix(g, x.shape(), inner, isLeft ? swapped : !swapped),
      x.element());
  swapped &= !vector;
  Value result =
      isLeft ? g.create<MatmulOp>(x.value, y.value, transposed, swapped)
             : g.create<MatmulOp>(y.value, x.value, swapped, transposed);
  return g.add(result, x.bound * y.bound * inner, !x.isFloat());
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// A value or leaf that looks like an image, of [batch, channels, spatial…].
Known image(Generator &g) {
  Known x = g.anyBounded(8);
  // A batch may be empty; windows in an empty image are none.
  bool isImage = x.isFloat() && x.rank() >= 3 && x.rank() <= 5 &&
                 !llvm::is_contained(x.shape().drop_front(), 0);
  if (isImage && g.chance(0.7))
    return x;
  int64_t spatial = g.choose({1, 2, 2, 2, 3});
  Shape shape = {g.number(1, 2), g.number(1, 17)};
  for (int64_t i = 0; i < spatial; ++i)
    shape.push_back(g.number(1, spatial == 3 ? 5 : spatial == 2 ? 13 : 40));
  Type element = g.randomElement();
  if (!isa<FloatType>(element))
    element = g.builder.getF32Type();
  return g.leaf(shape, element);
}

int64_t channelAxis(Layout layout, const Known &x) {
  return layout == Layout::ChannelsFirst ? 1 : x.rank() - 1;
}

/// Windows that fit into the spatial dimensions of x.
struct Windows {
  Layout layout;
  Shape kernel, strides, padding, dilations;

  Windows(Generator &g, const Known &x, bool dilate) {
    layout = g.chance(0.5) ? Layout::ChannelsFirst : Layout::ChannelsLast;
    int64_t rank = x.rank() - 2;
    padding.assign(2 * rank, 0);
    bool pointwise = g.chance(0.25);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t axis = layout == Layout::ChannelsFirst ? i + 2 : i + 1;
      int64_t extent = x.shape()[axis];
      kernel.push_back(pointwise ? 1
                                 : g.number(1, std::min<int64_t>(extent, 5)));
      // So small that no window lies in padding altogether.
      for (int64_t end : {i, rank + i})
        padding[end] = g.number(0, kernel.back() - 1);
      strides.push_back(g.chance(0.6) ? 1 : g.number(1, 3));
      int64_t reach = extent + padding[i] + padding[rank + i] - 1;
      bool fits = (kernel.back() - 1) * 2 <= reach;
      dilations.push_back(dilate && fits && g.chance(0.3) ? 2 : 1);
    }
  }
};

bool makeConv(Generator &g) {
  Known x = image(g);
  Windows w(g, x, /*dilate=*/true);
  int64_t channels = x.shape()[channelAxis(w.layout, x)];
  int64_t groups = 1;
  if (g.chance(0.4))
    groups = g.chance(0.5) ? channels : channels % 2 ? 1 : 2;
  int64_t outputs = groups * (groups == channels && g.chance(0.7)
                                  ? 1
                                  : g.number(1, groups == 1 ? 40 : 4));
  Shape shape = {outputs, channels / groups};
  shape.append(w.kernel);
  int64_t taps = channels / groups;
  for (int64_t extent : w.kernel)
    taps *= extent;
  if (!isSmall(shape))
    return false;
  // Padding is skipped or multiplied with weights, which must be finite.
  Known weights = g.special ? g.constant(shape, x.element(), -1, 1)
                            : g.leaf(shape, x.element());
  Value y = g.create<ConvOp>(x.value, weights.value, w.strides, w.padding,
                             w.dilations, groups, w.layout);
  return g.add(y, x.bound * taps, false);
}

bool makeConvTranspose(Generator &g) {
  Known x = image(g);
  Windows w(g, x, /*dilate=*/true);
  int64_t channels = x.shape()[channelAxis(w.layout, x)];
  int64_t groups = g.chance(0.3) ? channels : 1;
  Shape shape = {channels, g.number(1, 6)}, extra;
  shape.append(w.kernel);
  int64_t taps = channels / groups, rank = w.kernel.size();
  for (int64_t extent : w.kernel)
    taps *= extent;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t axis = w.layout == Layout::ChannelsFirst ? i + 2 : i + 1;
    // The first element's window must leave something between the cuts.
    if (x.shape()[axis] == 1)
      w.padding[i] = w.padding[rank + i] = 0;
    extra.push_back(g.number(0, w.strides[i] - 1));
    int64_t extent = (x.shape()[axis] - 1) * w.strides[i] +
                     (w.kernel[i] - 1) * w.dilations[i] + 1 - w.padding[i] -
                     w.padding[rank + i];
    if (extent < 1)
      return false;
  }
  // Where phases have fewer taps than others, elements of x are multiplied with
  // zeros, and zeros around x with weights: those must be finite.
  for (int64_t i = 0; i < rank; ++i)
    if (g.special && w.strides[i] > 1 &&
        (w.kernel[i] % w.strides[i] || w.dilations[i] > 1))
      return false;
  Known weights = g.special ? g.constant(shape, x.element(), -1, 1)
                            : g.leaf(shape, x.element());
  Value y =
      g.create<ConvTransposeOp>(x.value, weights.value, w.strides, w.padding,
                                extra, w.dilations, groups, w.layout);
  return g.add(y, x.bound * taps, false);
}

/// A convolution and what models have after it.
bool makeConvBlock(Generator &g) {
  if (!makeConv(g))
    return false;
  Known y = g.settle(g.last(), 100);
  Layout layout = g.chance(0.5) ? Layout::ChannelsFirst : Layout::ChannelsLast;
  int64_t channels = y.shape()[channelAxis(layout, y)];
  auto parameter = [&](double low, double high) {
    return g.constant({channels}, y.element(), low, high).value;
  };
  Value value = y.value;
  if (g.chance(0.5)) {
    Value scale = parameter(0.5, 2), bias = parameter(-1, 1);
    Value mean = parameter(-1, 1), variance = parameter(0.5, 2);
    Builder attributes(value.getContext());
    value = g.create<BatchNormOp>(
        value, scale, bias, mean, variance, attributes.getF64FloatAttr(1e-3),
        /*momentum=*/FloatAttr(), LayoutAttr::get(value.getContext(), layout));
  } else {
    Shape shape(layout == Layout::ChannelsFirst ? y.rank() - 1 : 1, 1);
    shape[0] = channels;
    value = g.create<AddOp>(value, g.leaf(shape, y.element()).value);
  }
  if (g.chance(0.3))
    value = g.create<AddOp>(value, g.leaf(y.shape(), y.element()).value);
  if (g.chance(0.7))
    value = g.create<ReluOp>(value);
  return g.add(value, 3 * y.bound + 3, false);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

bool makePool(Generator &g) {
  Known x = image(g);
  Windows w(g, x, /*dilate=*/false);
  if (g.chance(0.5)) {
    return g.add(g.create<MaxPoolOp>(x.value, w.kernel, w.strides, w.padding,
                                     w.dilations, w.layout),
                 x.bound, x.exact);
  }
  Shape ceil;
  bool counts = g.chance(0.5);
  for (size_t i = 0; counts && i < w.kernel.size(); ++i)
    ceil.push_back(g.number(0, w.padding[w.kernel.size() + i]));
  return g.add(g.create<AvgPoolOp>(x.value, w.kernel, w.strides, w.padding,
                                   w.dilations, w.layout, counts, ceil),
               x.bound, false);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The shape of what windows over x give, with so many channels.
Shape resultShape(const Windows &w, const Known &x, int64_t channels) {
  Shape shape(x.shape());
  shape[channelAxis(w.layout, x)] = channels;
  int64_t rank = x.rank() - 2;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t &extent = shape[w.layout == Layout::ChannelsFirst ? i + 2 : i + 1];
    extent += w.padding[i] + w.padding[rank + i];
    extent =
        (extent - (w.kernel[i] - 1) * w.dilations[i] - 1) / w.strides[i] + 1;
  }
  return shape;
}

bool makeConvWeightGradient(Generator &g) {
  // Zeros of the padding may be multiplied with dy, which must be finite.
  if (g.special)
    return false;
  Known x = image(g);
  Windows w(g, x, /*dilate=*/true);
  int64_t channels = x.shape()[channelAxis(w.layout, x)];
  int64_t groups = g.chance(0.3) ? (channels % 2 ? channels : 2) : 1;
  int64_t outputs = groups * g.number(1, groups == 1 ? 40 : 4);
  Known dy = g.leaf(resultShape(w, x, outputs), x.element());
  int64_t windows = 1;
  for (int64_t extent : dy.shape())
    windows *= extent;
  Value y =
      g.create<ConvWeightGradientOp>(x.value, dy.value, w.kernel, w.strides,
                                     w.padding, w.dilations, groups, w.layout);
  return g.add(y, x.bound * std::max<int64_t>(windows / outputs, 1), false);
}

bool makeMaxPoolGradient(Generator &g) {
  // What is computed may round another way, and another element be the largest.
  Known like = image(g);
  Known x = g.leaf(like.shape(), like.element());
  Windows w(g, x, /*dilate=*/false);
  int64_t channels = x.shape()[channelAxis(w.layout, x)], taps = 1;
  for (int64_t extent : w.kernel)
    taps *= extent;
  Known dy = g.leaf(resultShape(w, x, channels), x.element());
  return g.add(g.create<MaxPoolGradientOp>(x.value, dy.value, w.kernel,
                                           w.strides, w.padding, w.dilations,
                                           w.layout),
               dy.bound * taps, false);
}

//===----------------------------------------------------------------------===//
// Quantised factors
//===----------------------------------------------------------------------===//

/// Powers of two, by which floats are exact.
Value makeScales(Generator &g, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, g.builder.getF32Type());
  SmallVector<float> scales;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    scales.push_back(std::ldexp(1.0f, -g.number(6, 12)));
  return g.create<ConstantOp>(type, cast<TypedAttr>(DenseElementsAttr::get(
                                        type, ArrayRef<float>(scales))));
}

/// Bytes of this shape that are dequantised: a constant, an input, or computed
/// of one. A zero point is one for all of them.
Value makeBytes(Generator &g, ArrayRef<int64_t> shape,
                ArrayRef<int64_t> scaleShape, bool hasZero) {
  bool isUnsigned = g.chance(0.5);
  Type byte = isUnsigned ? g.builder.getIntegerType(8, /*isSigned=*/false)
                         : g.builder.getIntegerType(8);
  double low = isUnsigned ? 0 : -128;
  Value q = g.chance(0.4) ? g.constant(shape, byte, low, low + 255).value
                          : g.leaf(shape, byte).value;
  if (g.chance(0.4)) // Integers wrap.
    q = g.create<MulOp>(q, g.splat(byte, 29).value);
  double centre = isUnsigned ? 128 : 0;
  Value zero = g.splat(byte, hasZero ? g.number(low, low + 255) : centre).value;
  return g.create<DequantizeOp>(
      RankedTensorType::get(shape, g.builder.getF32Type()), q,
      makeScales(g, scaleShape), zero);
}

/// Offers a product of bytes, all of whose sums floats have, maybe quantised.
bool addSums(Generator &g, Value y) {
  if (g.chance(0.3))
    y = g.create<ReluOp>(y);
  // At most 2²⁴ in units of the least scale.
  if (g.chance(0.6) || !isSmall(Known{y}.shape()))
    return g.add(y, 0x1p12, true);
  bool isUnsigned = g.chance(0.5);
  Type byte = isUnsigned ? g.builder.getIntegerType(8, /*isSigned=*/false)
                         : g.builder.getIntegerType(8);
  auto type = RankedTensorType::get(Known{y}.shape(), byte);
  Value scale = g.splat(g.builder.getF32Type(), 0.125).value;
  Value zero = g.splat(byte, g.number(0, 100)).value;
  return g.add(g.create<QuantizeOp>(type, y, scale, zero), 255, true);
}

bool makeQuantizedMatmul(Generator &g) {
  int64_t rows = g.number(1, 90), inner = g.number(1, 200),
          columns = g.number(1, 90);
  bool transposed = g.chance(0.5), hasScales = g.chance(0.5);
  Shape left = {rows, inner}, right = {inner, columns}, scales = {columns};
  if (g.chance(0.3))
    left.insert(left.begin(), g.number(1, 3));
  if (transposed) {
    std::swap(right[0], right[1]);
    scales.push_back(1);
  }
  Value x = makeBytes(g, left, {}, g.chance(0.5));
  Value w = makeBytes(g, right, hasScales ? scales : Shape(), g.chance(0.3));
  return addSums(g, g.create<MatmulOp>(x, w, false, transposed));
}

bool makeQuantizedConv(Generator &g) {
  Shape shape = {g.number(1, 2), g.choose({3, 8, 16, 20, 32}), g.number(3, 11),
                 g.number(3, 11)};
  auto type = RankedTensorType::get(shape, g.builder.getF32Type());
  Windows w(g, {g.create<ConstantOp>(type, g.builder.getZeroAttr(type))},
            /*dilate=*/true);
  int64_t channels = w.layout == Layout::ChannelsFirst ? shape[1] : shape[3];
  int64_t groups = g.chance(0.25) ? channels : 1;
  int64_t outputs = groups == 1 ? g.number(1, 40) : groups;
  Shape weights = {outputs, channels / groups}, scales = {outputs, 1, 1, 1};
  weights.append(w.kernel);
  if (!isSmall(weights))
    return false;
  bool hasScales = g.chance(0.7);
  Value x = makeBytes(g, shape, {}, g.chance(0.6));
  Value y = makeBytes(g, weights, hasScales ? scales : Shape(), false);
  return addSums(g, g.create<ConvOp>(x, y, w.strides, w.padding, w.dilations,
                                     groups, w.layout));
}

const Family kFamilies[] = {
    {7, makeMatmul},
    {4, makeConv},
    {2, makeConvTranspose},
    {3, makeConvBlock},
    {4, makePool},
    {2, makeConvWeightGradient},
    {2, makeMaxPoolGradient},
    {3, makeQuantizedMatmul},
    {3, makeQuantizedConv},
};

} // namespace

ArrayRef<Family> contractionFamilies() { return kFamilies; }

} // namespace tinh::test
