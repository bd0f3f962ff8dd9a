//===- Pooling.cpp - Maxima and means over sliding windows ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/NodeWriter.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Whether padding is less than the window, as engines want it.
template <typename OpTy> bool isPaddingShort(OpTy op) {
  ArrayRef<int64_t> kernel = op.getKernel(), padding = op.getPadding();
  for (size_t i = 0; i < padding.size(); ++i)
    if (padding[i] >= kernel[i % kernel.size()])
      return false;
  return true;
}

template <typename OpTy> Attributes windowAttributes(OpTy op, bool padded) {
  Attributes attributes = {attribute("kernel_shape", op.getKernel()),
                           attribute("strides", op.getStrides()),
                           attribute("dilations", op.getDilations())};
  if (padded)
    attributes.push_back(attribute("pads", op.getPadding()));
  return attributes;
}

/// `x` with an op's padding of `value` around it.
template <typename OpTy>
Tensor padWindows(NodeWriter &w, OpTy op, const Tensor &x, double value) {
  ArrayRef<int64_t> padding = op.getPadding();
  size_t rank = padding.size() / 2;
  Ints low(2, 0), high(2, 0);
  low.append(padding.begin(), padding.begin() + rank);
  high.append(padding.begin() + rank, padding.end());
  return w.pad(x, w.scalarLike(x, value), low, high);
}

/// A number that no element of the type is less than.
double lowestOf(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return -INFINITY;
  return integer.isUnsigned()
             ? 0
             : -std::ldexp(1.0, static_cast<int>(integer.getWidth()) - 1);
}

/// ONNX takes floats and integers of 8 bits; f64 holds those of 16 and 32.
Tensor maxPool(NodeWriter &w, graph::MaxPoolOp op) {
  Tensor x = w.operand(0);
  Type element = x.element(), computed = element;
  unsigned width = element.getIntOrFloatBitWidth();
  if (!x.isFloat() && (width == 1 || width == 64))
    return w.refuse("ONNX's MaxPool takes no elements like those of " +
                    graph::shapeToString(x.type));
  if (!x.isFloat() && width != 8)
    computed = Float64Type::get(op.getContext());
  x = w.toOrder(w.cast(x, computed), op.getLayout());
  bool padded = isPaddingShort(op);
  if (!padded)
    x = padWindows(w, op, x, lowestOf(element));
  RankedTensorType type = w.typeInOrder(op.getLayout());
  Tensor y = w.node("MaxPool", x, withElement(type, computed),
                    windowAttributes(op, padded));
  return w.fromOrder(w.cast(y, element), op.getLayout());
}

/// For each window along one dimension the elements that the mean's divisor
/// counts.
Ints countElements(graph::AvgPoolOp op, size_t dimension, int64_t extent,
                   int64_t outputs) {
  size_t rank = op.getKernel().size();
  int64_t begin = op.getPadding()[dimension];
  int64_t low = 0, high = extent;
  if (op.getCountIncludePad()) {
    low = -begin;
    high += op.getPadding()[rank + dimension];
    if (!op.getCeilPadding().empty())
      high -= op.getCeilPadding()[dimension];
  }
  Ints counts;
  for (int64_t i = 0; i < outputs; ++i) {
    int64_t count = 0;
    for (int64_t k = 0; k < op.getKernel()[dimension]; ++k) {
      int64_t at = i * op.getStrides()[dimension] +
                   k * op.getDilations()[dimension] - begin;
      count += at >= low && at < high;
    }
    counts.push_back(count);
  }
  return counts;
}

/// What takes the mean over all elements of each window to the one over those
/// that count: [1, 1, windows…].
Tensor meanFactors(NodeWriter &w, graph::AvgPoolOp op, const Tensor &x) {
  RankedTensorType type = w.typeInOrder(op.getLayout());
  Ints shape(2, 1);
  SmallVector<double> factors = {1};
  for (size_t d = 0; d < op.getKernel().size(); ++d) {
    int64_t outputs = type.getDimSize(2 + d);
    shape.push_back(outputs);
    SmallVector<double> next;
    for (double factor : factors)
      for (int64_t count : countElements(op, d, x.shape()[2 + d], outputs))
        next.push_back(factor * static_cast<double>(op.getKernel()[d]) /
                       static_cast<double>(std::max<int64_t>(count, 1)));
    factors = std::move(next);
  }
  return w.floats(x.type.clone(shape), factors);
}

/// ONNX has no padding that a divisor counts beside some that it does not.
Tensor avgPool(NodeWriter &w, graph::AvgPoolOp op) {
  graph::Layout layout = op.getLayout();
  Tensor x = w.operand(0);
  if (!x.isFloat())
    return w.refuse("ONNX's AveragePool takes floats, not " +
                    graph::shapeToString(x.type));
  x = w.toOrder(x, layout);
  RankedTensorType type = w.typeInOrder(layout);
  auto isPositive = [](int64_t extra) { return extra > 0; };
  bool isMixed =
      op.getCountIncludePad() && llvm::any_of(op.getCeilPadding(), isPositive);
  if (!isPaddingShort(op) || isMixed) {
    Tensor mean = w.node("AveragePool", padWindows(w, op, x, 0), type,
                         windowAttributes(op, /*padded=*/false));
    return w.fromOrder(w.elementwise("Mul", mean, meanFactors(w, op, x)),
                       layout);
  }
  Attributes attributes = windowAttributes(op, /*padded=*/true);
  attributes.push_back(
      attribute("count_include_pad", int64_t(op.getCountIncludePad())));
  return w.fromOrder(w.node("AveragePool", x, type, attributes), layout);
}

} // namespace

OpWriters poolingWriters() { return {entry<avgPool>(), entry<maxPool>()}; }

} // namespace tinh::onnx
