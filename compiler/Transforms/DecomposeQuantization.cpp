//===- DecomposeQuantization.cpp - Scales as arithmetic ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/DecomposeQuantization.h"

#include "compiler/Transforms/Constants.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;

namespace tinh::transforms {

using namespace graph;

static Value castTo(ImplicitLocOpBuilder &b, Value x, Type element) {
  return CastOp::create(b, tensorType(x).clone(element), x);
}

/// round(x / scale) + zero point, limited to what the result's type has.
static Value asArithmetic(ImplicitLocOpBuilder &b, QuantizeOp op) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(op.getType()));
  auto scalar =
      RankedTensorType::get({}, getElementTypeOrSelf(op.getX().getType()));
  double low = type.isUnsigned()
                   ? 0
                   : -std::ldexp(1.0, static_cast<int>(type.getWidth()) - 1);
  double high = low + std::ldexp(1.0, static_cast<int>(type.getWidth())) - 1;
  Value y = RoundOp::create(b, DivOp::create(b, op.getX(), op.getScale()));
  if (Value zero = op.getZeroPoint())
    y = AddOp::create(b, y, castTo(b, zero, scalar.getElementType()));
  y = MaxOp::create(b, y, createSplat(b, op.getLoc(), scalar, low));
  y = MinOp::create(b, y, createSplat(b, op.getLoc(), scalar, high));
  return castTo(b, y, type);
}

static Value asArithmetic(ImplicitLocOpBuilder &b, DequantizeOp op) {
  Value y = castTo(b, op.getX(), b.getI32Type());
  if (Value zero = op.getZeroPoint())
    y = SubOp::create(b, y, castTo(b, zero, b.getI32Type()));
  return MulOp::create(b, castTo(b, y, getElementTypeOrSelf(op.getScale())),
                       op.getScale());
}

void decomposeQuantization(ModuleOp module) {
  auto replace = [](auto op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    op.replaceAllUsesWith(asArithmetic(b, op));
    op.erase();
  };
  module.walk([&](QuantizeOp op) { replace(op); });
  module.walk([&](DequantizeOp op) { replace(op); });
}

} // namespace tinh::transforms
