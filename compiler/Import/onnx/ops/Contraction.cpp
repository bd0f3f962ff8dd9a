//===- Contraction.cpp - Matmuls and convolutions ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Products.h"
#include "compiler/Import/onnx/ops/Windows.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

Results matmul(NodeBuilder &b) {
  Value x = b.input(0);
  return {b.create<graph::MatmulOp>({x, b.input(1)})};
}

Value addBias(NodeBuilder &b, Value y) {
  if (!y || !b.has(2))
    return y;
  return b.add(y, b.perChannel(b.input(2), b.rank(y)));
}

/// The windows of a convolution; nothing, with an error, if its operands cannot
/// be those of one.
std::optional<Windows> readWeightWindows(NodeBuilder &b, Value x,
                                         Value weights) {
  if (b.rank(weights) == b.rank(x) && b.rank(x) >= 3)
    return readWindows(b, x, b.shape(weights).drop_front(2));
  b.fail("input and weights must have the same rank of 3 or more, found " +
         graph::shapeToString(x.getType()) + " and " +
         graph::shapeToString(weights.getType()));
  return std::nullopt;
}

} // namespace

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

Value convolve(NodeBuilder &b, Value x, Value weights) {
  if (!x || !weights)
    return {};
  auto w = readWeightWindows(b, x, weights);
  if (!w)
    return {};
  return b.create<graph::ConvOp>(
      {x, weights},
      {b.attr("strides", w->strides), b.attr("padding", w->padding),
       b.attr("dilations", w->dilations),
       b.attr("groups", b.intAttribute("group", 1)), b.channelsFirst()});
}

namespace {

Results conv(NodeBuilder &b) {
  return {addBias(b, convolve(b, b.input(0), b.input(1)))};
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
  auto w = readWeightWindows(b, x, weights);
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

/// A list of numbers for each spatial dimension, in range.
bool readWindow(NodeBuilder &b, StringRef name, size_t size, int64_t smallest,
                Ints &list) {
  list = b.intsAttribute(name, Ints(size, smallest));
  if (list.size() == size &&
      llvm::all_of(list, [&](int64_t value) { return value >= smallest; }))
    return true;
  b.fail("attribute " + name + ": expected " + Twine(size) +
         " numbers of at least " + Twine(smallest));
  return false;
}

/// Weights [channels · elements, 1, block…] that put each element of a block of
/// columns in its place: element e of each channel is 1 at e.
Value placingWeights(NodeBuilder &b, Type element, int64_t channels,
                     ArrayRef<int64_t> block) {
  int64_t elements = *countElements(block);
  Value row = b.reshape(b.iota(elements), {elements, 1});
  Value one =
      b.cast(b.compare(Predicate::Equal, row, b.iota(elements)), element);
  Ints shape = {channels * elements, 1};
  shape.append(block.begin(), block.end());
  Value all = b.broadcast(b.reshape(one, {1, elements, elements}),
                          {channels, elements, elements});
  return b.reshape(all, shape);
}

/// Blocks of columns added up to an image: a transposed convolution.
Results col2im(NodeBuilder &b) {
  Value x = b.input(0);
  auto image = b.ints(1, "image_shape"), block = b.ints(2, "block_shape");
  if (!image || !block)
    return {Value()};
  size_t rank = image->size();
  auto elements = countElements(*block);
  Ints strides, dilations, padding;
  if (!readWindow(b, "strides", rank, 1, strides) ||
      !readWindow(b, "dilations", rank, 1, dilations) ||
      !readWindow(b, "pads", 2 * rank, 0, padding))
    return {Value()};
  bool fits = rank > 0 && block->size() == rank && b.rank(x) == 3 && elements &&
              countElements(*image) && *elements > 0 && *elements <= 4096 &&
              b.shape(x)[1] % *elements == 0;
  Ints blocks;
  for (size_t i = 0; fits && i < rank; ++i) {
    int64_t span = ((*block)[i] - 1) * dilations[i] + 1;
    int64_t free = (*image)[i] + padding[i] + padding[rank + i] - span;
    fits = free >= 0;
    blocks.push_back(free / strides[i] + 1);
  }
  if (!fits || countElements(blocks) != b.shape(x)[2])
    return {b.fail("the columns " + graph::shapeToString(x.getType()) +
                   " do not make an image " + formatShape(*image) +
                   " of blocks " + formatShape(*block))};
  int64_t channels = b.shape(x)[1] / *elements;
  Ints from = {b.shape(x)[0], b.shape(x)[1]}, more;
  from.append(blocks);
  for (size_t i = 0; i < rank; ++i) {
    int64_t span = ((*block)[i] - 1) * dilations[i] + 1;
    int64_t made = (blocks[i] - 1) * strides[i] + span;
    more.push_back((*image)[i] + padding[i] + padding[rank + i] - made);
  }
  return {b.create<graph::ConvTransposeOp>(
      {b.reshape(x, from), placingWeights(b, b.element(x), channels, *block)},
      {b.attr("strides", strides), b.attr("padding", padding),
       b.attr("output_padding", more), b.attr("dilations", dilations),
       b.attr("groups", channels), b.channelsFirst()})};
}

} // namespace

OpFamily contractionOps() {
  return {{"Col2Im", col2im},
          {"Conv", conv},
          {"ConvTranspose", convTranspose},
          {"Gemm", gemm},
          {"MatMul", matmul}};
}

} // namespace tinh::onnx
