//===- Quantization.cpp - To and from integers with a scale -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales of graph ops broadcast. ONNX has one for the tensor, a vector for an
// axis, or one for each block of indices along an axis.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/NodeWriter.h"

#include "compiler/Import/onnx/Tensors.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The shape of a scale in ONNX, and what says which elements are whose.
struct Granularity {
  Ints shape;
  Attributes attributes;
};

/// The extents of parameters in all of so many dimensions.
Ints alignedTo(int64_t rank, ArrayRef<int64_t> shape) {
  if (ShapedType::getNumElements(shape) == 1)
    return Ints(rank, 1);
  Ints aligned(rank - static_cast<int64_t>(shape.size()), 1);
  aligned.append(shape.begin(), shape.end());
  return aligned;
}

/// `parameters` is the shape of the scale and the zero point together.
Granularity granularityOf(ArrayRef<int64_t> x, ArrayRef<int64_t> parameters) {
  Ints varying, equal;
  Ints aligned = alignedTo(static_cast<int64_t>(x.size()), parameters);
  for (auto [i, extent] : llvm::enumerate(aligned))
    (extent == 1 ? equal : varying).push_back(static_cast<int64_t>(i));
  if (varying.empty())
    return {{}, {}};
  if (varying.size() == 1)
    return {{aligned[varying[0]]}, {attribute("axis", varying[0])}};
  // A block is all of a dimension, or one index where all have their own.
  int64_t axis = equal.empty() ? varying.back() : equal.back();
  Ints shape(x);
  shape[axis] = aligned[axis];
  return {shape,
          {attribute("axis", axis),
           attribute("block_size", equal.empty() ? 1 : x[axis])}};
}

/// The scale, or the zero point, in ONNX's shape.
Tensor parameter(NodeWriter &w, unsigned i, ArrayRef<int64_t> shape,
                 StringRef role) {
  Value value = w.op->getOperand(i);
  ArrayRef<int64_t> found = cast<RankedTensorType>(value.getType()).getShape();
  if (ShapedType::getNumElements(found) == ShapedType::getNumElements(shape))
    return w.reshaped(value, shape, role);
  Ints aligned = alignedTo(static_cast<int64_t>(shape.size()), found);
  return w.expand(w.reshaped(value, aligned, role), shape);
}

/// A node on x, the scale and the zero point, if there is one.
template <typename Op>
Tensor write(NodeWriter &w, Op op, StringRef node, Attributes attributes) {
  Tensor x = w.operand(0);
  auto scale = cast<RankedTensorType>(op.getScale().getType());
  if (scale.getElementType().isF64())
    return w.refuse("ONNX quantises f32, f16 and bf16, not f64");
  Ints shape(scale.getShape());
  if (Value zero = op.getZeroPoint())
    shape = *graph::broadcastShapes(
        {shape, cast<RankedTensorType>(zero.getType()).getShape()});
  Granularity granularity = granularityOf(x.shape(), shape);
  llvm::append_range(attributes, granularity.attributes);
  SmallVector<Tensor> inputs = {x, parameter(w, 1, granularity.shape, "scale")};
  if (op.getZeroPoint())
    inputs.push_back(parameter(w, 2, granularity.shape, "zero_point"));
  return w.node(node, inputs, w.type(), attributes);
}

Tensor quantize(NodeWriter &w, graph::QuantizeOp op) {
  Attributes attributes;
  if (!op.getZeroPoint())
    attributes.push_back(attribute(
        "output_dtype", int64_t(findElementType(w.type().getElementType()))));
  return write(w, op, "QuantizeLinear", attributes);
}

Tensor dequantize(NodeWriter &w, graph::DequantizeOp op) {
  if (op.getZeroPoint() && w.operand(0).element().isInteger(32))
    return w.refuse("ONNX's DequantizeLinear of i32 has no zero point");
  return write(w, op, "DequantizeLinear", {});
}

/// A constant of such floats has its bytes as files do.
Tensor unpackFloat4(NodeWriter &w, graph::UnpackInt4Op op) {
  auto constant = op.getX().getDefiningOp<graph::ConstantOp>();
  if (!constant || static_cast<int64_t>(op.getAxis()) + 1 != w.type().getRank())
    return w.refuse("ONNX has no bytes that become floats of 4 bits, but in "
                    "constants, along the last dimension");
  return w.packed(graph::elementsOf(constant.getValue()));
}

/// Both halves of all bytes, side by side; of signed numbers the highest bit
/// counts -8. As an operator set before that of INT4 has it.
Tensor unpackInt4(NodeWriter &w, graph::UnpackInt4Op op) {
  if (isa<Float4E2M1FNType>(w.type().getElementType()))
    return unpackFloat4(w, op);
  Tensor x = w.operand(0);
  int64_t half = static_cast<int64_t>(op.getAxis()) + 1;
  Ints shape(x.shape());
  shape.insert(shape.begin() + half, 1);
  auto place = [&](const Tensor &numbers) { return w.reshape(numbers, shape); };
  Tensor low = w.elementwise("BitwiseAnd", x, w.scalarLike(x, 15));
  Tensor high = w.node("BitShift", {x, w.scalarLike(x, 4)}, x.type,
                       {attribute("direction", StringRef("RIGHT"))});
  shape[half] = 2;
  auto halves = RankedTensorType::get(shape, x.element());
  shape[half] = 1;
  Tensor pairs = w.node("Concat", {place(low), place(high)}, halves,
                        {attribute("axis", half)});
  Tensor y =
      w.cast(w.reshape(pairs, w.type().getShape()), w.type().getElementType());
  if (y.isUnsigned())
    return y;
  Tensor eight = w.scalarLike(y, 8);
  return w.elementwise("Sub", w.elementwise("BitwiseXor", y, eight), eight);
}

} // namespace

OpWriters quantizationWriters() {
  return {entry<dequantize>(), entry<quantize>(), entry<unpackInt4>()};
}

} // namespace tinh::onnx
