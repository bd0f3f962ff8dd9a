//===- Contraction.cpp - Matrix products and convolutions -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/NodeWriter.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The last two dimensions of `x` swapped.
Tensor swapLast(NodeWriter &w, const Tensor &x) {
  Ints permutation = llvm::to_vector(llvm::seq<int64_t>(x.rank()));
  std::swap(permutation[x.rank() - 1], permutation[x.rank() - 2]);
  return w.transpose(x, permutation);
}

Tensor matmul(NodeWriter &w, graph::MatmulOp op) {
  Tensor a = w.operand(0), b = w.operand(1);
  bool transposes = op.getTransposeA() || op.getTransposeB();
  if (a.isBool())
    return w.refuse("ONNX's MatMul takes numbers, not booleans");
  if (transposes && a.isFloat() && a.rank() == 2 && b.rank() == 2)
    return w.node("Gemm", {a, b}, w.type(),
                  {attribute("transA", int64_t(op.getTransposeA())),
                   attribute("transB", int64_t(op.getTransposeB()))});
  Type element = w.type().getElementType(), wide = arithmeticType(element);
  a = w.cast(op.getTransposeA() ? swapLast(w, a) : a, wide);
  b = w.cast(op.getTransposeB() ? swapLast(w, b) : b, wide);
  return w.cast(w.node("MatMul", {a, b}, w.typeOf(wide)), element);
}

Tensor conv(NodeWriter &w, graph::ConvOp op) {
  graph::Layout layout = op.getLayout();
  Tensor x = w.toOrder(w.operand(0), layout), weights = w.operand(1);
  RankedTensorType type = w.typeInOrder(layout);
  Attributes attributes = {attribute("strides", op.getStrides()),
                           attribute("pads", op.getPadding()),
                           attribute("dilations", op.getDilations()),
                           attribute("group", int64_t(op.getGroups()))};
  if (x.isFloat())
    return w.fromOrder(w.node("Conv", {x, weights}, type, attributes), layout);
  if (x.element().getIntOrFloatBitWidth() != 8)
    return w.refuse("ONNX has convolutions of floats and of integers of 8 "
                    "bits, not of " +
                    graph::shapeToString(x.type));
  if (op.getPaddingValue() != 0)
    return w.refuse("ONNX pads with zeros");
  return w.fromOrder(w.node("ConvInteger", {x, weights}, type, attributes),
                     layout);
}

/// What does not fit ONNX's rules for padding is cut off and added afterwards.
Tensor convTranspose(NodeWriter &w, graph::ConvTransposeOp op) {
  graph::Layout layout = op.getLayout();
  Tensor x = w.toOrder(w.operand(0), layout), weights = w.operand(1);
  RankedTensorType type = w.typeInOrder(layout);
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations(),
                    padding = op.getPadding(), more = op.getOutputPadding();
  size_t rank = strides.size();
  bool fits = true;
  Ints low(2, 0), high(2, 0), full(type.getShape().take_front(2));
  for (size_t i = 0; i < rank; ++i) {
    int64_t kernel = weights.shape()[2 + i];
    fits &= more[i] >= 0 && more[i] < std::max(strides[i], dilations[i]);
    fits &= padding[i] <= (kernel - 1) * dilations[i] &&
            padding[rank + i] <= (kernel - 1) * dilations[i];
    low.push_back(-padding[i]);
    high.push_back(more[i] - padding[rank + i]);
    full.push_back((x.shape()[2 + i] - 1) * strides[i] +
                   (kernel - 1) * dilations[i] + 1);
  }
  Attributes attributes = {attribute("strides", strides),
                           attribute("dilations", dilations),
                           attribute("group", int64_t(op.getGroups()))};
  if (!fits) {
    Tensor y =
        w.node("ConvTranspose", {x, weights}, type.clone(full), attributes);
    return w.fromOrder(w.pad(y, w.scalarLike(y, 0), low, high), layout);
  }
  attributes.push_back(attribute("pads", padding));
  attributes.push_back(attribute("output_padding", more));
  return w.fromOrder(w.node("ConvTranspose", {x, weights}, type, attributes),
                     layout);
}

} // namespace

ArrayRef<OpEntry> contractionWriters() {
  static const OpEntry entries[] = {
      entry<graph::ConvOp, conv>(),
      entry<graph::ConvTransposeOp, convTranspose>(),
      entry<graph::MatmulOp, matmul>(),
  };
  return entries;
}

} // namespace tinh::onnx
