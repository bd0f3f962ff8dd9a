//===- Quantization.cpp - To and from integers with a scale, evaluated ----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Families.h"

#include <cmath>

using namespace mlir;

namespace tinh::reference {

using namespace graph;

/// Calls `visit` for each element, with the scale and the zero point there, a
/// T.
template <typename T, typename Visit>
static void visitScaled(ArrayRef<int64_t> shape, Operands in, Visit visit) {
  bool hasZeroPoint = in.size() > 2;
  std::array<Strides, 2> strides = {
      broadcastStrides(in[1]->shape(), shape),
      broadcastStrides(hasZeroPoint ? in[2]->shape() : ArrayRef<int64_t>(),
                       shape)};
  int64_t i = 0;
  walk(shape, strides, [&](const std::array<int64_t, 2> &at) {
    visit(i++, in[1]->floats[at[0]],
          hasZeroPoint ? in[2]->elements<T>()[at[1]] : T(0));
  });
}

static Tensor quantize(QuantizeOp op, Operands in) {
  Tensor y(op.getType());
  if (y.isFloat()) {
    visitScaled<double>(y.shape(), in,
                        [&](int64_t i, double scale, double zero) {
                          y.floats[i] = in[0]->floats[i] / scale + zero;
                        });
    limitElements(y);
    return y;
  }
  auto low = static_cast<double>(lowest<Integer>(y.element())),
       high = static_cast<double>(highest<Integer>(y.element()));
  visitScaled<Integer>(
      y.shape(), in, [&](int64_t i, double scale, Integer zero) {
        double rounded = std::nearbyint(in[0]->floats[i] / scale);
        double shifted = rounded + static_cast<double>(zero);
        y.integers[i] = static_cast<Integer>(
            std::isnan(shifted) ? low : std::clamp(shifted, low, high));
      });
  return y;
}

static Tensor dequantize(DequantizeOp op, Operands in) {
  Tensor y(op.getType());
  visitElements(*in[0], [&](auto kind) {
    using T = decltype(kind);
    visitScaled<T>(y.shape(), in, [&](int64_t i, double scale, T zero) {
      T x = in[0]->elements<T>()[i];
      y.floats[i] = static_cast<double>(x - zero) * scale;
    });
  });
  return y;
}

static Tensor unpackInt4(UnpackInt4Op op, Operands in) {
  Tensor y(op.getType());
  AxisView bytes(in[0]->shape(), op.getAxis()),
      numbers(y.shape(), op.getAxis());
  bool isUnsigned = y.element().isUnsignedInteger();
  std::vector<char> f4(y.isFloat() ? y.size() : 0);
  for (int64_t o = 0; o < numbers.outer; ++o)
    for (int64_t i = 0; i < numbers.extent; ++i)
      for (int64_t rest = 0; rest < numbers.inner; ++rest) {
        Integer byte = in[0]->integers[bytes.at(o, i / 2, rest)];
        Integer bits = (i % 2 ? byte >> 4 : byte) & 15;
        if (y.isFloat())
          f4[numbers.at(o, i, rest)] = static_cast<char>(bits);
        else
          y.integers[numbers.at(o, i, rest)] =
              bits >= 8 && !isUnsigned ? bits - 16 : bits;
      }
  return y.isFloat() ? fromBytes(y.type, f4) : y;
}

std::optional<Tensor> evaluateQuantization(Operation *op, Operands in) {
  if (auto quantization = dyn_cast<QuantizeOp>(op))
    return quantize(quantization, in);
  if (auto dequantization = dyn_cast<DequantizeOp>(op))
    return dequantize(dequantization, in);
  if (auto unpacking = dyn_cast<UnpackInt4Op>(op))
    return unpackInt4(unpacking, in);
  return std::nullopt;
}

} // namespace tinh::reference
