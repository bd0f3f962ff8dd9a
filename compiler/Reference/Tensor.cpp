//===- Tensor.cpp - Tensors of the reference interpreter --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Tensor.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace tinh::reference {

Tensor::Tensor(Type tensorType) : type(cast<RankedTensorType>(tensorType)) {
  if (isFloat())
    floats.resize(size());
  else
    integers.resize(size());
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// A number that f4E2M1FN, which has no NaN and no infinities, has a neighbour
/// of.
static double limitToF4(double x) {
  return std::isnan(x) ? 0 : std::clamp(x, -6.0, 6.0);
}

/// The nearest value of a type that C++ has no name for.
static double roundFloat(double x, FloatType type) {
  APFloat value(isa<Float4E2M1FNType>(type) ? limitToF4(x) : x);
  bool loses;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

static bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

static Integer wrap(Integer x, Type element) {
  if (element.isInteger(1))
    return x != 0;
  unsigned cut = 64 - element.getIntOrFloatBitWidth();
  uint64_t bits = static_cast<uint64_t>(x) << cut;
  return isUnsigned(element) ? Integer(bits >> cut)
                             : Integer(static_cast<int64_t>(bits) >> cut);
}

void roundElements(Tensor &x) {
  Type element = x.element();
  for (Integer &value : x.integers)
    value = wrap(value, element);
  if (element.isF32())
    for (double &value : x.floats)
      value = static_cast<float>(value);
  else if (!element.isF64())
    for (double &value : x.floats)
      value = roundFloat(value, cast<FloatType>(element));
}

void limitElements(Tensor &x) {
  const auto &semantics = cast<FloatType>(x.element()).getFloatSemantics();
  double largest = APFloat::getLargest(semantics).convertToDouble();
  for (double &value : x.floats)
    value = std::clamp(value, -largest, largest);
}

/// The nearest power of two, halves up, or the one that is not less or not
/// larger; NaN if there is none in f8E8M0FNU.
static double roundToPower(float x, graph::Rounding rounding, bool saturate) {
  constexpr int kLargest = 127;
  if (std::isnan(x) || x < 0)
    return NAN;
  if (x < 0x1p-127F)
    return saturate ? 0x1p-127 : NAN;
  if (std::isinf(x))
    return saturate ? std::ldexp(1, kLargest) : NAN;
  int exponent = std::ilogb(x);
  double fraction = std::ldexp(static_cast<double>(x), -exponent); // From 1.
  if (rounding == graph::Rounding::Up)
    exponent += fraction > 1;
  else if (rounding == graph::Rounding::Nearest)
    exponent += fraction >= 1.5;
  if (exponent > kLargest && !saturate)
    return NAN;
  return std::ldexp(1, std::min(exponent, kLargest));
}

void roundToPowers(Tensor &x, graph::Rounding rounding, bool saturate) {
  for (double &value : x.floats)
    value = roundToPower(static_cast<float>(value), rounding, saturate);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

template <typename T, typename Element>
static void read(ArrayRef<char> bytes, std::vector<Element> &elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    elements[i] = value;
  }
}

/// Floats that C++ has no name for, of so many bits.
template <typename Bits>
static void readNarrow(ArrayRef<char> bytes, Tensor &x) {
  const auto &semantics = cast<FloatType>(x.element()).getFloatSemantics();
  std::vector<Integer> bits(x.floats.size());
  read<Bits>(bytes, bits);
  unsigned width = APFloat::semanticsSizeInBits(semantics);
  for (size_t i = 0; i < bits.size(); ++i) {
    APFloat value(semantics, APInt(width, static_cast<uint64_t>(bits[i]),
                                   /*isSigned=*/false, /*implicitTrunc=*/true));
    bool loses;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    x.floats[i] = value.convertToDouble();
  }
}

Tensor fromBytes(RankedTensorType type, ArrayRef<char> bytes) {
  assert(static_cast<int64_t>(bytes.size()) == graph::tensorSize(type));
  Tensor x(type);
  Type element = x.element();
  unsigned width = element.getIntOrFloatBitWidth();
  if (element.isF32())
    read<float>(bytes, x.floats);
  else if (element.isF64())
    read<double>(bytes, x.floats);
  else if (x.isFloat() && width <= 8)
    readNarrow<uint8_t>(bytes, x);
  else if (x.isFloat())
    readNarrow<uint16_t>(bytes, x);
  else if (width <= 8)
    read<int8_t>(bytes, x.integers);
  else if (width == 16)
    read<int16_t>(bytes, x.integers);
  else if (width == 32)
    read<int32_t>(bytes, x.integers);
  else
    read<int64_t>(bytes, x.integers);
  roundElements(x); // Signedness.
  return x;
}

/// The element's bits.
static uint64_t encode(double x, FloatType type) {
  APFloat value(isa<Float4E2M1FNType>(type) ? limitToF4(x) : x);
  bool loses;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  return value.bitcastToAPInt().getZExtValue();
}

std::vector<char> toBytes(const Tensor &x) {
  int64_t width = graph::elementSize(x.element());
  std::vector<char> bytes(x.size() * width);
  for (int64_t i = 0; i < x.size(); ++i) {
    uint64_t bits = x.isFloat()
                        ? encode(x.floats[i], cast<FloatType>(x.element()))
                        : static_cast<uint64_t>(x.integers[i]);
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

Tensor fromAttribute(DenseElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (value.isSplat()) {
    Tensor x(type);
    if (x.isFloat()) {
      double element = value.getSplatValue<FloatAttr>().getValueAsDouble();
      std::fill(x.floats.begin(), x.floats.end(), element);
    } else {
      APInt element = value.getSplatValue<APInt>();
      std::fill(x.integers.begin(), x.integers.end(), element.getSExtValue());
      roundElements(x);
    }
    return x;
  }
  if (!type.getElementType().isInteger(1))
    return fromBytes(type, value.getRawData());
  Tensor x(type);
  for (auto [i, element] : llvm::enumerate(value.getValues<bool>()))
    x.integers[i] = element;
  return x;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

static double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  double d = std::fabs(a - b);
  return std::isnan(d) ? INFINITY : d;
}

static double difference(Integer a, Integer b) {
  return static_cast<double>(a < b ? b - a : a - b);
}

Difference largestDifference(const Tensor &found, const Tensor &expected) {
  assert(found.type == expected.type);
  return visitElements(expected, [&](auto kind) {
    using T = decltype(kind);
    Difference result;
    double largest = 0;
    const std::vector<T> &x = found.elements<T>(), &y = expected.elements<T>();
    for (size_t i = 0; i < y.size(); ++i) {
      double d = difference(x[i], y[i]);
      if (d > result.absolute)
        result = {d, 0, static_cast<int64_t>(i), static_cast<double>(x[i]),
                  static_cast<double>(y[i])};
      double magnitude = std::fabs(static_cast<double>(y[i]));
      if (std::isfinite(magnitude))
        largest = std::max(largest, magnitude);
    }
    if (result.absolute > 0)
      result.relative = result.absolute / largest; // Infinite for zeros.
    return result;
  });
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Strides rowMajorStrides(ArrayRef<int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

Strides broadcastStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> to) {
  Strides own = rowMajorStrides(shape), strides(to.size(), 0);
  size_t lead = to.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    strides[lead + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

} // namespace tinh::reference
