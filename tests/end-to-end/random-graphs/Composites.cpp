//===- Composites.cpp - Random parts of models, in small ops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax, norms, activations and attention as exporters write them: in the
// small ops that the compiler recognises them from.
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Generator.h"

using namespace mlir;

namespace tinh::test {

using namespace graph;

namespace {

Value mean(Generator &g, Value x, int64_t axis) {
  return g.create<ReduceOp>(ReduceKind::Mean, x, ArrayRef<int64_t>(axis),
                            /*keepdims=*/true);
}

Value softmaxInParts(Generator &g, Value x, int64_t axis) {
  Value largest =
      g.create<ReduceOp>(ReduceKind::Max, x, ArrayRef<int64_t>(axis), true);
  Value shifted = g.create<SubOp>(x, largest);
  Value exponential = g.create<ExpOp>(shifted);
  Value sum = g.create<ReduceOp>(ReduceKind::Sum, exponential,
                                 ArrayRef<int64_t>(axis), true);
  return g.create<DivOp>(exponential, sum);
}

bool makeSoftmaxInParts(Generator &g) {
  Known x = g.anyBounded(50);
  if (!x.isFloat() || x.rank() == 0)
    return false;
  return g.add(softmaxInParts(g, x.value, g.number(0, x.rank() - 1)), 1, false);
}

bool makeLayerNormInParts(Generator &g) {
  Known x = g.anyBounded(50);
  if (!x.isFloat() || x.rank() == 0)
    return false;
  Type element = x.element();
  int64_t axis = x.rank() - 1;
  Value centred = x.value;
  if (g.chance(0.7))
    centred = g.create<SubOp>(x.value, mean(g, x.value, axis));
  Value square = g.chance(0.5)
                     ? g.create<MulOp>(centred, centred)
                     : g.create<PowOp>(centred, g.splat(element, 2).value);
  Value variance = mean(g, square, axis);
  Value sum = g.create<AddOp>(variance, g.splat(element, 0.125).value);
  Value y;
  if (g.chance(0.5)) {
    Value deviation = g.create<SqrtOp>(sum);
    y = g.create<DivOp>(centred, deviation);
  } else {
    Value factor = g.create<RsqrtOp>(sum);
    y = g.create<MulOp>(centred, factor);
  }
  Shape parameters = {x.shape().back()};
  y = g.create<MulOp>(y, g.leaf(parameters, element).value);
  if (g.chance(0.6))
    y = g.create<AddOp>(y, g.leaf(parameters, element).value);
  return g.add(y, 50, false);
}

/// x · gate(x)
bool makeActivation(Generator &g) {
  Known x = g.anyBounded(20);
  if (!x.isFloat())
    return false;
  auto constant = [&](double value) {
    return g.splat(x.element(), value).value;
  };
  Value gate;
  switch (g.number(0, 2)) {
  case 0: // GELU
    gate = g.create<DivOp>(x.value, constant(1.4142135623730951));
    gate = g.create<ErfOp>(gate);
    gate = g.create<AddOp>(gate, constant(1));
    gate = g.create<MulOp>(gate, constant(0.5));
    break;
  case 1: // SiLU
    gate = g.create<SigmoidOp>(x.value);
    break;
  default: // hard swish
    gate = g.create<AddOp>(x.value, constant(3));
    gate = g.create<MaxOp>(gate, constant(0));
    gate = g.create<MinOp>(gate, constant(6));
    gate = g.create<DivOp>(gate, constant(6));
  }
  return g.add(g.create<MulOp>(x.value, gate), x.bound, false);
}

/// [batch, length, heads · width] as [batch, heads, length, width].
Value splitHeads(Generator &g, Value x, int64_t heads) {
  Shape shape(Known{x}.shape());
  int64_t width = shape[2] / heads;
  shape = {shape[0], shape[1], heads, width};
  auto type = RankedTensorType::get(shape, Known{x}.element());
  Value split = g.create<ReshapeOp>(type, x);
  return g.create<TransposeOp>(split, ArrayRef<int64_t>{0, 2, 1, 3});
}

/// Self-attention over [batch, length, heads · width] with its projections.
bool makeAttentionInParts(Generator &g) {
  Type f32 = g.builder.getF32Type();
  int64_t heads = g.number(1, 3), width = g.number(1, 8);
  int64_t length = g.number(1, 12), size = heads * width;
  Shape shape = {g.number(1, 2), length, size};
  Value x = g.leaf(shape, f32).value;
  SmallVector<Value> parts;
  for (int i = 0; i < 3; ++i) {
    Value weights = g.leaf({size, size}, f32).value;
    Value projection = g.create<MatmulOp>(x, weights, false, false);
    parts.push_back(splitHeads(g, projection, heads));
  }
  Value keys = g.create<TransposeOp>(parts[1], ArrayRef<int64_t>{0, 1, 3, 2});
  Value scores = g.create<MatmulOp>(parts[0], keys, false, false);
  scores = g.create<MulOp>(scores, g.splat(f32, 0.125).value);
  if (g.chance(0.5)) {
    Value mask = g.leaf({length, length}, f32).value;
    scores = g.create<AddOp>(scores, mask);
  }
  Value weights = g.chance(0.5) ? softmaxInParts(g, scores, 3)
                                : g.create<SoftmaxOp>(scores, 3);
  Value y = g.create<MatmulOp>(weights, parts[2], false, false);
  y = g.create<TransposeOp>(y, ArrayRef<int64_t>{0, 2, 1, 3});
  y = g.create<ReshapeOp>(RankedTensorType::get(shape, f32), y);
  if (g.chance(0.5))
    y = g.create<AddOp>(y, x);
  return g.add(y, size + 1, false);
}

const Family kFamilies[] = {
    {2, makeSoftmaxInParts},
    {2, makeLayerNormInParts},
    {3, makeActivation},
    {2, makeAttentionInParts},
};

} // namespace

ArrayRef<Family> compositeFamilies() { return kFamilies; }

} // namespace tinh::test
