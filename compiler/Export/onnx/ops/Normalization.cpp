//===- Normalization.cpp - Softmax, norms, attention ------------*- C++ -*-===//
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

template <typename OpTy> Tensor softmax(NodeWriter &w, OpTy op) {
  return w.node(w.onnx, w.operand(0), w.type(),
                {attribute("axis", int64_t(op.getAxis()))});
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// The norm in its parts: ONNX's own computes doubles in single precision.
Tensor layerNormInParts(NodeWriter &w, graph::LayerNormOp op) {
  Tensor x = w.operand(0);
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(op.getAxis(), x.rank()));
  if (!op.getRms())
    x = w.elementwise("Sub", x, w.reduce("ReduceMean", x, axes));
  Tensor square = w.elementwise("Mul", x, x);
  Tensor variance = w.reduce("ReduceMean", square, axes);
  Tensor epsilon = w.scalarLike(x, op.getEpsilon().convertToDouble());
  Tensor root = w.node("Sqrt", w.elementwise("Add", variance, epsilon));
  Tensor y = w.elementwise("Mul", w.elementwise("Div", x, root), w.operand(1));
  return op.getBias() ? w.elementwise("Add", y, w.operand(2)) : y;
}

Tensor layerNorm(NodeWriter &w, graph::LayerNormOp op) {
  Tensor x = w.operand(0), scale = w.operand(1);
  if (x.element().isF64())
    return layerNormInParts(w, op);
  // Engines want the shape that is normalised.
  ArrayRef<int64_t> shape = x.shape().drop_front(op.getAxis());
  auto fit = [&](const Tensor &t) {
    return t.shape() == shape ? t : w.expand(t, shape);
  };
  Attributes attributes = {
      attribute("axis", int64_t(op.getAxis())),
      attribute("epsilon", op.getEpsilon().convertToDouble())};
  if (op.getRms()) {
    Tensor y = w.node("RMSNormalization", {x, fit(scale)}, x.type, attributes);
    return op.getBias() ? w.elementwise("Add", y, w.operand(2)) : y;
  }
  SmallVector<Tensor> inputs = {x, fit(scale)};
  if (op.getBias())
    inputs.push_back(fit(w.operand(2)));
  return w.node("LayerNormalization", inputs, x.type, attributes);
}

Tensor batchNorm(NodeWriter &w, graph::BatchNormOp op) {
  std::vector<Tensor> inputs = w.operands();
  inputs[0] = w.toOrder(inputs[0], op.getLayout());
  Tensor y =
      w.node("BatchNormalization", inputs, inputs[0].type,
             {attribute("epsilon", op.getEpsilon().convertToDouble()),
              attribute("momentum", op.getMomentum().convertToDouble())});
  return w.fromOrder(y, op.getLayout());
}

/// Σ x² / size over the channels around each one, as a mean over windows.
Tensor meanOfSquares(NodeWriter &w, const Tensor &x, int64_t size) {
  int64_t rest = 1;
  for (int64_t extent : x.shape().drop_front(2))
    rest *= extent;
  Tensor image = w.reshape(w.elementwise("Mul", x, x),
                           {x.shape()[0], 1, x.shape()[1], rest});
  int64_t before = (size - 1) / 2, after = size - 1 - before;
  Tensor mean =
      w.node("AveragePool", image, image.type,
             {attribute("kernel_shape", ArrayRef<int64_t>{size, 1}),
              attribute("pads", ArrayRef<int64_t>{before, 0, after, 0}),
              attribute("count_include_pad", int64_t(1))});
  return w.reshape(mean, x.shape());
}

/// Engines take odd sizes only.
Tensor lrn(NodeWriter &w, graph::LrnOp op) {
  Tensor x = w.toOrder(w.operand(0), op.getLayout());
  double alpha = op.getAlpha().convertToDouble(),
         beta = op.getBeta().convertToDouble(),
         bias = op.getBias().convertToDouble();
  if (op.getSize() % 2)
    return w.fromOrder(
        w.node("LRN", x, x.type,
               {attribute("size", int64_t(op.getSize())),
                attribute("alpha", alpha), attribute("beta", beta),
                attribute("bias", bias)}),
        op.getLayout());
  Tensor scaled = w.elementwise("Mul", meanOfSquares(w, x, op.getSize()),
                                w.scalarLike(x, alpha));
  Tensor base = w.elementwise("Add", scaled, w.scalarLike(x, bias));
  Tensor divisor = w.elementwise("Pow", base, w.scalarLike(x, beta));
  return w.fromOrder(w.elementwise("Div", x, divisor), op.getLayout());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Each head of keys or values as often as queries share it.
Tensor repeatHeads(NodeWriter &w, const Tensor &x, int64_t heads) {
  ArrayRef<int64_t> s = x.shape();
  if (s[1] == heads)
    return x;
  Tensor apart = w.reshape(x, {s[0], s[1], 1, s[2], s[3]});
  Tensor spread = w.expand(apart, {s[0], s[1], heads / s[1], s[2], s[3]});
  return w.reshape(spread, {s[0], heads, s[2], s[3]});
}

/// -inf at keys that a query does not see, [queries, keys].
Tensor causalMask(NodeWriter &w, Type element, int64_t queries, int64_t keys) {
  SmallVector<double> mask;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t k = 0; k < keys; ++k)
      mask.push_back(k <= i + keys - queries ? 0 : -INFINITY);
  return w.floats(RankedTensorType::get({queries, keys}, element), mask);
}

Tensor attentionInParts(NodeWriter &w, graph::AttentionOp op) {
  Tensor query = w.operand(0), key = w.operand(1), value = w.operand(2);
  int64_t heads = query.shape()[1];
  key = w.transpose(repeatHeads(w, key, heads), {0, 1, 3, 2});
  int64_t queries = query.shape()[2], keys = key.shape()[3];
  auto type = query.type.clone({query.shape()[0], heads, queries, keys});
  Tensor scale = w.scalarLike(query, op.getScale().convertToDouble());
  Tensor scores =
      w.elementwise("Mul", w.node("MatMul", {query, key}, type), scale);
  if (op.getMask())
    scores = w.elementwise("Add", scores, w.operand(3));
  if (op.getCausal())
    scores = w.elementwise("Add", scores,
                           causalMask(w, query.element(), queries, keys));
  Tensor weights =
      w.node("Softmax", scores, type, {attribute("axis", int64_t(3))});
  return w.node("MatMul", {weights, repeatHeads(w, value, heads)}, w.type());
}

/// ONNX's own op computes in single precision, gives a query that sees no key
/// zeros, not NaN, and aligns the first query with the first key.
Tensor attention(NodeWriter &w, graph::AttentionOp op) {
  Tensor query = w.operand(0), key = w.operand(1);
  bool aligned = !op.getCausal() || query.shape()[2] == key.shape()[2];
  if (op.getMask() || !aligned || query.element().isF64())
    return attentionInParts(w, op);
  return w.node("Attention", w.operands(), w.type(),
                {attribute("scale", op.getScale().convertToDouble()),
                 attribute("is_causal", int64_t(op.getCausal()))});
}

} // namespace

OpWriters normalizationWriters() {
  return {entry<attention>(), entry<batchNorm>(),
          entry<layerNorm>(), entry<softmax<graph::LogSoftmaxOp>>("LogSoftmax"),
          entry<lrn>(),       entry<softmax<graph::SoftmaxOp>>("Softmax")};
}

} // namespace tinh::onnx
