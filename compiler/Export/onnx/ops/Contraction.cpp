//===- Contraction.cpp - Matmuls and convolutions ---------------*- C++ -*-===//
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

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The operand of an addition that is not `x`.
Value otherOperand(graph::AddOp add, Value x) {
  return add.getA() == x ? add.getB() : add.getA();
}

/// Appends the bias of `op`, a vector, to the inputs of its node.
void addBias(NodeWriter &w, SmallVectorImpl<Tensor> &inputs) {
  graph::AddOp add = biasOf(w.op);
  if (!add)
    return;
  Value bias = otherOperand(add, w.op->getResult(0));
  inputs.push_back(w.reshaped(bias, typeOf(bias).getNumElements(), "bias"));
}

/// A product that is written as a Gemm: of matrices of floats, with a
/// transpose.
bool isGemm(graph::MatmulOp op) {
  return (op.getTransposeA() || op.getTransposeB()) &&
         isa<FloatType>(typeOf(op.getY()).getElementType()) &&
         typeOf(op.getA()).getRank() == 2 && typeOf(op.getB()).getRank() == 2;
}

Tensor gemm(NodeWriter &w, graph::MatmulOp op) {
  SmallVector<Tensor> inputs = {w.operand(0), w.operand(1)};
  addBias(w, inputs);
  return w.node("Gemm", inputs, w.type(),
                {attribute("transA", int64_t(op.getTransposeA())),
                 attribute("transB", int64_t(op.getTransposeB()))});
}

Tensor matmul(NodeWriter &w, graph::MatmulOp op) {
  if (isGemm(op))
    return gemm(w, op);
  Tensor a = w.operand(0), b = w.operand(1);
  if (a.isBool())
    return w.refuse("ONNX's MatMul takes numbers, not booleans");
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
  if (x.isFloat()) {
    SmallVector<Tensor> inputs = {x, weights};
    addBias(w, inputs);
    return w.fromOrder(w.node("Conv", inputs, type, attributes), layout);
  }
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

/// Whether a constant has an element for each index of `axis` of `type`.
bool isVectorAlong(Value value, RankedTensorType type, int64_t axis) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  int64_t lead = type.getRank() - static_cast<int64_t>(shape.size());
  return value.getDefiningOp<graph::ConstantOp>() && lead <= axis &&
         typeOf(value).getNumElements() == type.getDimSize(axis) &&
         shape[axis - lead] == type.getDimSize(axis);
}

/// The dimension of the result of a product that its bias is for; nothing if
/// its node has none.
std::optional<int64_t> biasAxis(Operation *op) {
  if (auto conv = dyn_cast<graph::ConvOp>(op);
      conv && conv.getLayout() == graph::Layout::ChannelsFirst &&
      isa<FloatType>(typeOf(conv.getY()).getElementType()))
    return 1;
  if (auto product = dyn_cast<graph::MatmulOp>(op); product && isGemm(product))
    return 1;
  return std::nullopt;
}

} // namespace

graph::AddOp biasOf(Operation *op) {
  std::optional<int64_t> axis = biasAxis(op);
  if (!axis || !op->getResult(0).hasOneUse())
    return {};
  Value y = op->getResult(0);
  auto add = dyn_cast<graph::AddOp>(*y.getUsers().begin());
  return add && add->getBlock() == op->getBlock() &&
                 add.getY().getType() == y.getType() &&
                 isVectorAlong(otherOperand(add, y), typeOf(y), *axis)
             ? add
             : graph::AddOp();
}

OpWriters contractionWriters() {
  return {entry<conv>(), entry<convTranspose>(), entry<matmul>()};
}

} // namespace tinh::onnx
