//===- Fused.cpp - What ONNX Runtime fuses ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of com.microsoft that stand for several of ONNX, in models that ONNX
// Runtime's optimiser or its exporters have written. They become what they
// were made of.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Products.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The activation function that a fused op applies. Its parameters are a list
/// or up to three attributes.
struct FusedActivation {
  std::string name;
  SmallVector<std::optional<double>, 3> parameters;

  bool has(size_t i) const { return i < parameters.size() && parameters[i]; }
  double parameter(size_t i, double otherwise) const {
    return has(i) ? *parameters[i] : otherwise;
  }
};

FusedActivation readFusedActivation(NodeBuilder &b) {
  FusedActivation a{b.stringAttribute("activation", ""), {}};
  if (auto *list = b.attribute("activation_params", AttributeProto::FLOATS))
    a.parameters.assign(list->floats().begin(), list->floats().end());
  for (StringRef name :
       {"activation_alpha", "activation_beta", "activation_gamma"})
    if (!b.attribute("activation_params", AttributeProto::FLOATS))
      a.parameters.push_back(b.hasAttribute(name)
                                 ? std::optional(b.floatAttribute(name, 0))
                                 : std::nullopt);
  return a;
}

Value activateFused(NodeBuilder &b, const FusedActivation &a, Value y) {
  if (!y || a.name.empty())
    return y;
  auto number = [&](size_t i, double otherwise) {
    return b.scalarLike(y, a.parameter(i, otherwise));
  };
  Value zero = b.scalarLike(y, 0);
  if (a.name == "Relu")
    return b.create<graph::ReluOp>({y});
  if (a.name == "Tanh")
    return b.create<graph::TanhOp>({y});
  if (a.name == "Sigmoid")
    return b.create<graph::SigmoidOp>({y});
  if (a.name == "LeakyRelu")
    return b.where(b.compare(Predicate::Less, y, zero),
                   b.mul(y, number(0, 0.01f)), y);
  if (a.name == "Clip" && a.has(0) && a.has(1))
    return b.clamp(y, number(0, 0), number(1, 0));
  if (a.name == "HardSigmoid" || a.name == "HardSwish") {
    bool isSwish = a.name == "HardSwish";
    Value line =
        b.add(b.mul(y, number(0, isSwish ? 1.0f / 6 : 0.2f)), number(1, 0.5f));
    Value part = b.max(b.min(line, b.scalarLike(y, 1)), zero);
    return isSwish ? b.mul(y, part) : part;
  }
  return b.fail("attribute activation: \"" + a.name +
                "\" is not supported; expected Relu, Tanh, Sigmoid, LeakyRelu, "
                "Clip with two parameters, HardSigmoid or HardSwish");
}

/// activation(conv(x, w) + bias + z)
Results fusedConv(NodeBuilder &b) {
  Value y = convolve(b, b.input(0), b.input(1));
  if (y && b.has(2))
    y = b.add(y, b.perChannel(b.input(2), b.rank(y)));
  if (b.has(3))
    y = b.add(y, b.input(3));
  return {activateFused(b, readFusedActivation(b), y)};
}

Results fusedGemm(NodeBuilder &b) {
  return {activateFused(b, readFusedActivation(b), gemm(b).front())};
}

/// Batch dimensions that follow the rows, before them.
Value rowsLast(NodeBuilder &b, Value x) {
  if (!x || b.rank(x) < 3)
    return x ? b.fail("transBatch needs operands of rank 3 or more, found " +
                      graph::shapeToString(x.getType()))
             : x;
  // [rows, batch …, columns]
  Ints permutation;
  for (int64_t i = 1; i < b.rank(x) - 1; ++i)
    permutation.push_back(i);
  permutation.push_back(0);
  permutation.push_back(b.rank(x) - 1);
  return b.transpose(x, permutation);
}

/// alpha · A' · B'
Results fusedMatmul(NodeBuilder &b) {
  Value left = b.input(0), right = b.input(1);
  if (b.intAttribute("transBatchA", 0))
    left = rowsLast(b, left);
  if (b.intAttribute("transBatchB", 0))
    right = rowsLast(b, right);
  SmallVector<NamedAttribute> attributes;
  // A vector has nothing to transpose.
  if (left && b.rank(left) > 1 && b.intAttribute("transA", 0))
    attributes.push_back(b.unit("transpose_a"));
  if (right && b.rank(right) > 1 && b.intAttribute("transB", 0))
    attributes.push_back(b.unit("transpose_b"));
  double alpha = b.floatAttribute("alpha", 1);
  Value y = b.create<graph::MatmulOp>({left, right}, attributes);
  return {alpha == 1 ? y : b.mul(y, b.scalarLike(y, alpha))};
}

//===----------------------------------------------------------------------===//
// FusedActivation functions
//===----------------------------------------------------------------------===//

Results fusedGelu(NodeBuilder &b) {
  return {b.create<graph::GeluOp>({b.input(0)})};
}

Results biasGelu(NodeBuilder &b) {
  Value x = b.input(0);
  return {b.create<graph::GeluOp>({b.add(x, b.input(1))})};
}

/// Of x + bias, the left half times the GELU of the right one.
Results biasSplitGelu(NodeBuilder &b) {
  Value sum = b.add(b.input(0), b.input(1));
  if (b.failed())
    return {Value()};
  if (b.rank(sum) < 1 || b.shape(sum).back() % 2)
    return {b.fail("expected an input with an even last dimension, found " +
                   graph::shapeToString(sum.getType()))};
  int64_t last = b.rank(sum) - 1, half = b.shape(sum).back() / 2;
  Value gate = b.create<graph::GeluOp>({b.sliceAxis(sum, last, half, half)});
  return {b.mul(b.sliceAxis(sum, last, 0, half), gate)};
}

Results fastGelu(NodeBuilder &b) {
  Value x = b.input(0);
  if (b.has(1))
    x = b.add(x, b.input(1));
  return {b.create<graph::GeluOp>({x}, {b.unit("tanh_approximation")})};
}

/// x · sigmoid(alpha x)
Results quickGelu(NodeBuilder &b) {
  Value x = b.input(0);
  double alpha = b.floatAttribute("alpha", 1.702f);
  Value scaled = alpha == 1 ? x : b.mul(x, b.scalarLike(x, alpha));
  return {b.mul(x, b.create<graph::SigmoidOp>({scaled}))};
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Along the last dimension, with a scale and a bias that may be null.
Value normaliseRows(NodeBuilder &b, Value x, Value scale, Value bias,
                    bool rms) {
  if (!x || !scale)
    return {};
  SmallVector<Value> operands = {x, b.cast(scale, b.element(x))};
  if (bias)
    operands.push_back(b.cast(bias, b.element(x)));
  SmallVector<NamedAttribute> attributes = {
      b.attr("axis", b.rank(x) - 1),
      b.attr("epsilon", b.floatAttribute("epsilon", 1e-12f))};
  if (rms)
    attributes.push_back(b.unit("rms"));
  return b.create<graph::LayerNormOp>(operands, attributes);
}

/// The norm of input + skip + bias, and that sum.
Results skipNorm(NodeBuilder &b, bool rms) {
  Value x = b.input(0), skip = b.input(1), scale = b.input(2);
  if (b.rank(x) < 2)
    return {b.fail("expected an input [batch, length, width], found " +
                   graph::shapeToString(x.getType()))};
  for (int i : {1, 2})
    if (b.wants(i))
      return {b.fail("output " + Twine(i) + " (\"" + b.node.proto->output(i) +
                     "\") is not supported")};
  int bias = rms ? 3 : 4;
  Value sum = b.add(x, skip);
  if (b.has(bias))
    sum = b.add(sum, b.input(bias));
  Value beta = !rms && b.has(3) ? b.input(3) : Value();
  Value y = normaliseRows(b, sum, scale, beta, rms);
  return {y, y, y, sum};
}

Results skipLayerNorm(NodeBuilder &b) { return skipNorm(b, /*rms=*/false); }
Results skipRmsNorm(NodeBuilder &b) { return skipNorm(b, /*rms=*/true); }

enum EmbedInput {
  kIds,
  kSegments,
  kWords,
  kPositions,
  kSegmentTable,
  kGamma,
  kBeta,
  kMask,
  kPositionIds
};

/// The norm of the sum of the embeddings of words, positions and segments; the
/// length of each sequence by its mask; the sum.
Results embedLayerNorm(NodeBuilder &b) {
  Value ids = b.input(kIds), positions = b.input(kPositions);
  if (b.failed() || b.rank(ids) != 2 || b.rank(positions) != 2)
    return {b.fail("expected input_ids [batch, length] and a "
                   "position_embedding [positions, width]")};
  int64_t batch = b.shape(ids)[0], length = b.shape(ids)[1];
  Value sum = b.gather(b.input(kWords), ids, 0);
  if (b.has(kPositionIds)) {
    sum = b.add(sum, b.gather(positions, b.input(kPositionIds), 0));
  } else {
    if (b.shape(positions)[0] < length)
      return {b.fail("sequences of " + Twine(length) +
                     " are longer than the position_embedding " +
                     graph::shapeToString(positions.getType()))};
    sum = b.add(sum, b.sliceAxis(positions, 0, 0, length));
  }
  if (b.has(kSegments))
    sum = b.add(sum, b.gather(b.input(kSegmentTable), b.input(kSegments), 0));
  Value y =
      normaliseRows(b, sum, b.input(kGamma), b.input(kBeta), /*rms=*/false);
  Type i32 = b.graph.raw().getI32Type();
  Value lengths = b.broadcast(b.scalar(i32, 0), batch);
  if (b.has(kMask)) {
    Value mask = b.input(kMask);
    Value isThere = b.compare(Predicate::Equal, mask, b.scalarLike(mask, 1));
    lengths = b.reduce(Kind::Sum, b.cast(isThere, i32), 1, false);
  }
  return {y, lengths, sum};
}

} // namespace

OpFamily fusedOps() {
  return {{"com.microsoft.BiasGelu", biasGelu, {1, 2, 2}},
          {"com.microsoft.BiasSplitGelu", biasSplitGelu, {1, 2, 2}},
          {"com.microsoft.EmbedLayerNormalization", embedLayerNorm, {1, 1, 9}},
          {"com.microsoft.FastGelu", fastGelu, {1, 1, 2}},
          {"com.microsoft.FusedConv", fusedConv, {1, 2, 4}},
          {"com.microsoft.FusedGemm", fusedGemm, {1, 2, 3}},
          {"com.microsoft.FusedMatMul", fusedMatmul, {1, 2, 2}},
          {"com.microsoft.Gelu", fusedGelu, {1, 1, 1}},
          {"com.microsoft.QuickGelu", quickGelu, {1, 1, 1}},
          {"com.microsoft.SkipLayerNormalization", skipLayerNorm, {1, 3, 5}},
          {"com.microsoft.SkipSimplifiedLayerNormalization",
           skipRmsNorm,
           {1, 3, 4}}};
}

} // namespace tinh::onnx
