//===- Activations.cpp - Activation functions, from primitive ops ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// x where x is positive (or NaN), else `negative`.
Value positiveOr(NodeBuilder &b, Value x, Value negative) {
  Value isNegative = b.compare(Predicate::Less, x, b.scalarLike(x, 0));
  return b.where(isNegative, negative, x);
}

Results leakyRelu(NodeBuilder &b) {
  Value x = b.input(0);
  double alpha = b.floatAttribute("alpha", 0.01f);
  return {positiveOr(b, x, b.mul(x, b.scalarLike(x, alpha)))};
}

/// Before operator set 7 a vector of slopes is for the channels.
Results pRelu(NodeBuilder &b) {
  Value x = b.input(0), slope = b.input(1);
  bool isPerChannel = b.opset() < 7 && b.rank(x) > 1 && b.rank(slope) == 1 &&
                      b.shape(slope)[0] != 1;
  if (isPerChannel)
    slope = b.perChannel(slope, b.rank(x));
  return {positiveOr(b, x, b.mul(x, slope))};
}

/// e^x - 1 for negative x; the positive ones are cut off so that none is inf.
Value expMinusOne(NodeBuilder &b, Value x) {
  Value exp = b.create<graph::ExpOp>({b.min(x, b.scalarLike(x, 0))});
  return b.sub(exp, b.scalarLike(x, 1));
}

Results elu(NodeBuilder &b) {
  Value x = b.input(0);
  Value alpha = b.scalarLike(x, b.floatAttribute("alpha", 1));
  return {positiveOr(b, x, b.mul(alpha, expMinusOne(b, x)))};
}

Results selu(NodeBuilder &b) {
  Value x = b.input(0);
  bool isOld = b.opset() < 6;
  double alphaOtherwise = isOld ? 1.6732f : 1.67326319217681884765625f;
  double gammaOtherwise = isOld ? 1.0507f : 1.05070102214813232421875f;
  Value alpha = b.scalarLike(x, b.floatAttribute("alpha", alphaOtherwise));
  Value gamma = b.scalarLike(x, b.floatAttribute("gamma", gammaOtherwise));
  return {b.mul(gamma, positiveOr(b, x, b.mul(alpha, expMinusOne(b, x))))};
}

Results celu(NodeBuilder &b) {
  Value x = b.input(0);
  Value alpha = b.scalarLike(x, b.floatAttribute("alpha", 1));
  Value scaled = expMinusOne(b, b.div(x, alpha));
  return {positiveOr(b, x, b.mul(alpha, scaled))};
}

Value hardSigmoidOf(NodeBuilder &b, Value x, double alpha, double beta) {
  Value line = b.add(b.mul(x, b.scalarLike(x, alpha)), b.scalarLike(x, beta));
  return b.max(b.min(line, b.scalarLike(x, 1)), b.scalarLike(x, 0));
}

Results hardSigmoid(NodeBuilder &b) {
  return {hardSigmoidOf(b, b.input(0), b.floatAttribute("alpha", 0.2f),
                        b.floatAttribute("beta", 0.5f))};
}

Results hardSwish(NodeBuilder &b) {
  Value x = b.input(0);
  return {b.mul(x, hardSigmoidOf(b, x, 1.0f / 6, 0.5))};
}

Results mish(NodeBuilder &b) {
  Value x = b.input(0);
  Value softplus = b.create<graph::SoftplusOp>({x});
  return {b.mul(x, b.create<graph::TanhOp>({softplus}))};
}

Results swish(NodeBuilder &b) {
  Value x = b.input(0);
  double alpha = b.floatAttribute("alpha", 1);
  Value scaled = alpha == 1 ? x : b.mul(x, b.scalarLike(x, alpha));
  return {b.mul(x, b.create<graph::SigmoidOp>({scaled}))};
}

Results swiglu(NodeBuilder &b) { return {b.mul(swish(b)[0], b.input(1))}; }

Results thresholdedRelu(NodeBuilder &b) {
  Value x = b.input(0);
  Value alpha = b.scalarLike(x, b.floatAttribute("alpha", 1));
  Value above = b.compare(Predicate::Greater, x, alpha);
  return {b.where(above, x, b.scalarLike(x, 0))};
}

Results shrink(NodeBuilder &b) {
  Value x = b.input(0);
  double lambd = b.floatAttribute("lambd", 0.5);
  Value bias = b.scalarLike(x, b.floatAttribute("bias", 0));
  Value low = b.compare(Predicate::Less, x, b.scalarLike(x, -lambd));
  Value high = b.compare(Predicate::Greater, x, b.scalarLike(x, lambd));
  Value rest = b.where(high, b.sub(x, bias), b.scalarLike(x, 0));
  return {b.where(low, b.add(x, bias), rest)};
}

Results gelu(NodeBuilder &b) {
  Value x = b.input(0);
  std::string approximate = b.stringAttribute("approximate", "none");
  if (approximate == "tanh")
    return {b.create<graph::GeluOp>({x}, {b.unit("tanh_approximation")})};
  if (approximate == "none")
    return {b.create<graph::GeluOp>({x})};
  return {b.fail("attribute approximate: expected none or tanh, found \"" +
                 approximate + "\"")};
}

} // namespace

OpFamily activationOps() {
  return {{"Celu", celu, {1, 1, 1}},
          {"Elu", elu},
          {"Gelu", gelu},
          {"HardSigmoid", hardSigmoid},
          {"HardSwish", hardSwish},
          {"LeakyRelu", leakyRelu},
          {"Mish", mish},
          {"PRelu", pRelu},
          {"Selu", selu},
          {"Shrink", shrink},
          {"SwiGLU", swiglu},
          {"Swish", swish},
          {"ThresholdedRelu", thresholdedRelu}};
}

} // namespace tinh::onnx
