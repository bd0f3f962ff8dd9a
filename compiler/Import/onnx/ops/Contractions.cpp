//===- Contractions.cpp - Matrix products and convolutions ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/Windows.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

Results matmul(NodeBuilder &b) {
  Value x = b.input(0);
  return {b.create<graph::MatmulOp>({x, b.input(1)})};
}

/// alpha · A' · B' + beta · C
Results gemm(NodeBuilder &b) {
  Value x = b.input(0), w = b.input(1);
  if (b.rank(x) != 2 || b.rank(w) != 2)
    return {b.fail("A and B must be matrices, found " +
                   graph::shapeToString(x.getType()) + " and " +
                   graph::shapeToString(w.getType()))};
  SmallVector<NamedAttribute> attributes;
  if (b.intAttribute("transA", 0))
    attributes.push_back(b.unit("transpose_a"));
  if (b.intAttribute("transB", 0))
    attributes.push_back(b.unit("transpose_b"));
  double alpha = b.floatAttribute("alpha", 1);
  double beta = b.floatAttribute("beta", 1);
  Value y = b.create<graph::MatmulOp>({x, w}, attributes);
  if (alpha != 1)
    y = b.mul(y, b.scalarLike(y, alpha));
  if (!b.has(2) || beta == 0)
    return {y};
  Value c = b.input(2);
  if (beta != 1)
    c = b.mul(c, b.scalarLike(c, beta));
  return {b.add(y, c)};
}

Value addBias(NodeBuilder &b, Value y) {
  if (!y || !b.has(2))
    return y;
  return b.add(y, b.perChannel(b.input(2), b.rank(y)));
}

Results conv(NodeBuilder &b) {
  Value x = b.input(0), weights = b.input(1);
  if (b.rank(weights) != b.rank(x) || b.rank(x) < 3)
    return {b.fail("input and weights must have the same rank of 3 or more, "
                   "found " +
                   graph::shapeToString(x.getType()) + " and " +
                   graph::shapeToString(weights.getType()))};
  auto w = readWindows(b, x, b.shape(weights).drop_front(2));
  if (!w)
    return {Value()};
  Value y = b.create<graph::ConvOp>(
      {x, weights},
      {b.attr("strides", w->strides), b.attr("padding", w->padding),
       b.attr("dilations", w->dilations),
       b.attr("groups", b.intAttribute("group", 1)), b.channelsFirst()});
  return {addBias(b, y)};
}

/// What a transposed convolution cuts off its ends, and adds to the far ones.
struct Crop {
  Ints padding, outputPadding;
};

std::optional<Crop> readCrop(NodeBuilder &b, ArrayRef<int64_t> extents,
                             const Windows &w) {
  size_t rank = extents.size();
  Crop crop{w.padding, b.intsAttribute("output_padding", Ints(rank, 0))};
  Ints outputShape = b.intsAttribute("output_shape");
  std::string automatic = b.stringAttribute("auto_pad", "NOTSET");
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (crop.outputPadding.size() != rank ||
      (!outputShape.empty() && outputShape.size() != rank)) {
    b.fail("output_padding and output_shape need a number for each of " +
           Twine(rank) + " spatial dimensions");
    return std::nullopt;
  }
  if (outputShape.empty() && !same)
    return crop;
  for (size_t i = 0; i < rank; ++i) {
    int64_t wanted =
        outputShape.empty() ? extents[i] * w.strides[i] : outputShape[i];
    int64_t full = (extents[i] - 1) * w.strides[i] +
                   (w.kernel[i] - 1) * w.dilations[i] + 1 +
                   crop.outputPadding[i];
    int64_t total = full - wanted;
    if (total < 0) { // nothing to cut off: the far end grows
      crop.outputPadding[i] -= total;
      total = 0;
    }
    int64_t half = total / 2;
    bool lower = automatic != "SAME_UPPER";
    crop.padding[i] = lower ? total - half : half;
    crop.padding[rank + i] = lower ? half : total - half;
  }
  return crop;
}

Results convTranspose(NodeBuilder &b) {
  Value x = b.input(0), weights = b.input(1);
  if (b.rank(weights) != b.rank(x) || b.rank(x) < 3)
    return {b.fail("input and weights must have the same rank of 3 or more, "
                   "found " +
                   graph::shapeToString(x.getType()) + " and " +
                   graph::shapeToString(weights.getType()))};
  auto w = readWindows(b, x, b.shape(weights).drop_front(2));
  if (!w)
    return {Value()};
  auto crop = readCrop(b, b.shape(x).drop_front(2), *w);
  if (!crop)
    return {Value()};
  Value y = b.create<graph::ConvTransposeOp>(
      {x, weights},
      {b.attr("strides", w->strides), b.attr("padding", crop->padding),
       b.attr("output_padding", crop->outputPadding),
       b.attr("dilations", w->dilations),
       b.attr("groups", b.intAttribute("group", 1)), b.channelsFirst()});
  return {addBias(b, y)};
}

} // namespace

ArrayRef<OpEntry> contractionOps() {
  static const OpEntry entries[] = {
      {"Conv", 1, 2, 3, conv},
      {"ConvTranspose", 1, 2, 3, convTranspose},
      {"Gemm", 7, 2, 3, gemm},
      {"MatMul", 1, 2, 2, matmul},
  };
  return entries;
}

} // namespace tinh::onnx
