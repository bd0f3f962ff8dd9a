//===- QuantizedLayers.cpp - Quantised ops of ONNX Runtime ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands dequantised, what is done with them, and its result quantised: that
// integers are enough for it is found later.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Windows.h"
#include "compiler/Import/onnx/ops/quantization/Quantization.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// An input whose one scale and zero point are the next two.
Value dequantizedInput(NodeBuilder &b, int i) {
  return dequantize(b, b.input(i), {i + 1, i + 2, 0, 0});
}

/// (A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point)
template <typename OpTy> Results qlinearBinary(NodeBuilder &b) {
  Value left = dequantizedInput(b, 0), right = dequantizedInput(b, 3);
  return {requantize(b, b.create<OpTy>({left, right}), 6, 7,
                     b.element(b.input(0)))};
}

/// (X, X_scale, X_zero_point, Y_scale, Y_zero_point)
Results qlinearUnary(NodeBuilder &b, Value y) {
  return {requantize(b, y, 3, 4, b.element(b.input(0)))};
}

Results qlinearSigmoid(NodeBuilder &b) {
  return qlinearUnary(b, b.create<graph::SigmoidOp>({dequantizedInput(b, 0)}));
}

Results qlinearLeakyRelu(NodeBuilder &b) {
  Value x = dequantizedInput(b, 0);
  Value below = b.mul(x, b.scalarLike(x, b.floatAttribute("alpha", 0.01f)));
  return qlinearUnary(
      b, b.where(b.compare(Predicate::Less, x, b.scalarLike(x, 0)), below, x));
}

/// Before operator set 13 the dimensions from `axis` on count as one.
Results qlinearSoftmax(NodeBuilder &b) {
  Value x = dequantizedInput(b, 0);
  if (!x)
    return {Value()};
  auto axis = b.axis(b.intAttribute("axis", -1), b.rank(x));
  if (!axis)
    return {Value()};
  Ints shape(b.shape(x));
  if (b.intAttribute("opset", 0) < 13) {
    auto split = shape.begin() + *axis;
    x = b.reshape(x, {llvm::product_of(ArrayRef(shape.begin(), split)),
                      llvm::product_of(ArrayRef(split, shape.end()))});
    axis = 1;
  }
  Value y = b.create<graph::SoftmaxOp>({x}, {b.attr("axis", *axis)});
  return qlinearUnary(b, b.reshape(y, shape));
}

/// (Y_scale, Y_zero_point, then X, X_scale, X_zero_point of each part)
Results qlinearConcat(NodeBuilder &b) {
  if (b.numInputs() % 3 != 2)
    return {b.fail("expected a scale and a zero point of the result, and three "
                   "inputs for each part, found " +
                   Twine(b.numInputs()) + " inputs")};
  SmallVector<Value> parts;
  for (int i = 2; i < b.numInputs() && !b.failed(); i += 3)
    parts.push_back(dequantizedInput(b, i));
  if (b.failed())
    return {Value()};
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(parts.front()));
  if (!axis)
    return {Value()};
  return {requantize(b, b.concat(parts, *axis), 0, 1)};
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// `x` with its channels moved from the last dimension to the second one, or
/// back.
Value moveChannels(NodeBuilder &b, Value x, bool toFront) {
  if (!x || !b.intAttribute("channels_last", 0) || b.rank(x) < 3)
    return x;
  Ints permutation = {0};
  int64_t last = b.rank(x) - 1;
  if (toFront)
    permutation.push_back(last);
  for (int64_t i = toFront ? 1 : 2; i <= (toFront ? last - 1 : last); ++i)
    permutation.push_back(i);
  if (!toFront)
    permutation.push_back(1);
  return b.transpose(x, permutation);
}

Results qlinearAveragePool(NodeBuilder &b) {
  Value x = moveChannels(b, dequantizedInput(b, 0), /*toFront=*/true);
  return qlinearUnary(b, moveChannels(b, averagePool(b, x), /*toFront=*/false));
}

Results qlinearGlobalAveragePool(NodeBuilder &b) {
  Value x = moveChannels(b, dequantizedInput(b, 0), /*toFront=*/true);
  if (!x)
    return {Value()};
  if (b.rank(x) < 3)
    return {b.fail("expected an input of rank 3 or more, found " +
                   graph::shapeToString(x.getType()))};
  Value y =
      b.reduce(Kind::Mean, x, llvm::to_vector(llvm::seq<int64_t>(2, b.rank(x))),
               /*keepdims=*/true);
  return qlinearUnary(b, moveChannels(b, y, /*toFront=*/false));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// (A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias): parameters of B
/// may be those of its columns.
Results matmulIntegerToFloat(NodeBuilder &b) {
  Value y = b.matmul(dequantize(b, b.input(0), {2, 4, -1, 0}),
                     dequantize(b, b.input(1), {3, 5, -1, 0}));
  return {b.has(6) ? b.add(y, b.input(6)) : y};
}

/// (A, B, b_scale, b_zero_point, bias): A is quantised as the run finds it.
Results dynamicQuantizeMatmul(NodeBuilder &b) {
  DynamicallyQuantized q = quantizeDynamically(b, b.input(0));
  if (!q.x)
    return {Value()};
  Value left = b.create<graph::DequantizeOp>(
      {q.x, q.scale, q.zeroPoint}, {}, b.type(q.x).clone(b.element(q.scale)));
  Value y = b.matmul(left, dequantize(b, b.input(1), {2, 3, -1, 0}));
  return {b.has(4) ? b.add(y, b.input(4)) : y};
}

/// alpha · A' · B' + C, where C counts in products of the scales; floats if
/// there is no scale for the result.
Results quantizedGemm(NodeBuilder &b) {
  bool transposesB = b.intAttribute("transB", 0);
  Value left = dequantize(b, b.input(0), {1, 2, 0, 0}),
        right = dequantize(b, b.input(3), {4, 5, transposesB ? 0 : 1, 0});
  SmallVector<NamedAttribute> attributes;
  if (b.intAttribute("transA", 0))
    attributes.push_back(b.unit("transpose_a"));
  if (transposesB)
    attributes.push_back(b.unit("transpose_b"));
  Value y = b.create<graph::MatmulOp>({left, right}, attributes);
  if (!y)
    return {Value()};
  Value alpha = b.scalarLike(y, b.floatAttribute("alpha", 1));
  y = b.mul(y, alpha);
  if (b.has(6)) {
    Value c = b.input(6);
    Value scale = b.mul(b.mul(b.input(1), b.input(4)), alpha);
    y = b.add(y, b.mul(b.cast(c, b.element(y)), scale));
  }
  return {b.has(7) ? requantize(b, y, 7, 8, b.element(b.input(0))) : y};
}

} // namespace

OpFamily quantizedLayerOps() {
  return {
      {"com.microsoft.DynamicQuantizeMatMul", dynamicQuantizeMatmul, {1, 3, 5}},
      {"com.microsoft.MatMulIntegerToFloat", matmulIntegerToFloat, {1, 4, 7}},
      {"com.microsoft.QGemm", quantizedGemm, {1, 6, 9}},
      {"com.microsoft.QLinearAdd", qlinearBinary<graph::AddOp>, {1, 2, 8}},
      {"com.microsoft.QLinearAveragePool", qlinearAveragePool, {1, 2, 5}},
      {"com.microsoft.QLinearConcat", qlinearConcat, {1, 5, -1}},
      {"com.microsoft.QLinearGlobalAveragePool",
       qlinearGlobalAveragePool,
       {1, 2, 5}},
      {"com.microsoft.QLinearLeakyRelu", qlinearLeakyRelu, {1, 2, 5}},
      {"com.microsoft.QLinearMul", qlinearBinary<graph::MulOp>, {1, 2, 8}},
      {"com.microsoft.QLinearSigmoid", qlinearSigmoid, {1, 2, 5}},
      {"com.microsoft.QLinearSoftmax", qlinearSoftmax, {1, 2, 5}}};
}

} // namespace tinh::onnx
