//===- DecomposeQuantization.cpp - Scales as arithmetic ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Quantization/DecomposeQuantization.h"

#include "compiler/Transforms/Constants/Constants.h"
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

/// Both halves of all bytes, side by side; of signed numbers the highest bit
/// counts -8.
static Value asArithmetic(ImplicitLocOpBuilder &b, UnpackInt4Op op) {
  RankedTensorType x = tensorType(op.getX()), y = tensorType(op.getY());
  auto number = [&](Type element, double value) {
    return createSplat(b, op.getLoc(), RankedTensorType::get({}, element),
                       value);
  };
  SmallVector<int64_t> shape(x.getShape());
  int64_t half = static_cast<int64_t>(op.getAxis()) + 1;
  shape.insert(shape.begin() + half, 1);
  Value low = AndOp::create(b, op.getX(), number(x.getElementType(), 15));
  Value high =
      ShiftRightOp::create(b, op.getX(), number(x.getElementType(), 4));
  Value halves = ConcatOp::create(b,
                                  {reshapeTo(b, op.getLoc(), low, shape),
                                   reshapeTo(b, op.getLoc(), high, shape)},
                                  half);
  Value numbers = castTo(b, reshapeTo(b, op.getLoc(), halves, y.getShape()),
                         y.getElementType());
  if (y.getElementType().isUnsignedInteger())
    return numbers;
  Value eight = number(y.getElementType(), 8);
  return SubOp::create(b, XorOp::create(b, numbers, eight), eight);
}

/// The factors of a product in the type of its result.
static void widenFactors(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Type element = getElementTypeOrSelf(op->getResult(0));
  for (OpOperand &factor : op->getOpOperands())
    if (getElementTypeOrSelf(factor.get()) != element)
      factor.set(castTo(b, factor.get(), element));
}

/// Pads an image of integers by itself with what is not 0.
static void padFirst(ConvOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  RankedTensorType type = tensorType(op.getX());
  size_t spatial = op.getPadding().size() / 2;
  int64_t first = op.getLayout() == Layout::ChannelsFirst ? 2 : 1;
  SmallVector<int64_t> low(type.getRank(), 0), high(low);
  for (size_t i = 0; i < spatial; ++i) {
    low[first + i] = op.getPadding()[i];
    high[first + i] = op.getPadding()[spatial + i];
  }
  Value value = createSplat(b, op.getLoc(), type.clone(ArrayRef<int64_t>()),
                            static_cast<double>(op.getPaddingValue()));
  op.getXMutable().assign(
      PadOp::create(b, op.getX(), value, b.getDenseI64ArrayAttr(low),
                    b.getDenseI64ArrayAttr(high),
                    PadModeAttr::get(b.getContext(), PadMode::Constant)));
  op.setPadding(SmallVector<int64_t>(2 * spatial, 0));
  op.setPaddingValue(0);
}

void decomposeQuantization(ModuleOp module) {
  auto replace = [](auto op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    op.replaceAllUsesWith(asArithmetic(b, op));
    op.erase();
  };
  module.walk([&](QuantizeOp op) { replace(op); });
  module.walk([&](DequantizeOp op) { replace(op); });
  module.walk([&](UnpackInt4Op op) { replace(op); });
  module.walk([&](Operation *op) {
    if (isa<MatmulOp, ConvOp, ConvTransposeOp>(op))
      widenFactors(op);
    if (auto conv = dyn_cast<ConvOp>(op); conv && conv.getPaddingValue() != 0)
      padFirst(conv);
  });
}

} // namespace tinh::transforms
