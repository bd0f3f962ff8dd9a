//===- RoundInKernels.cpp - Integers that never leave registers -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Within a kernel,
//   %0 = graph.quantize %x scale 1 zero_point %z
//   %1 = graph.dequantize %0 scale %s zero_point %z
// becomes
//   %1 = graph.round of %x, limited to what the integers have, times %s
//
// the same numbers by half as many instructions.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Quantization/Quantization.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_ROUNDINKERNELS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

bool roundInRegisters(DequantizeOp op) {
  auto quantize = op.getX().getDefiningOp<QuantizeOp>();
  auto known = [](Value zeroPoint) -> std::optional<double> {
    return zeroPoint ? splatValue(zeroPoint) : 0;
  };
  if (!quantize || !quantize->hasOneUse() || !op->getParentOfType<KernelOp>() ||
      isStorageFloat(getElementTypeOrSelf(quantize.getY())) ||
      getElementTypeOrSelf(quantize.getX()) != getElementTypeOrSelf(op.getY()))
    return false;
  std::optional<double> scale = splatValue(quantize.getScale()),
                        zero = known(quantize.getZeroPoint());
  if (!scale || !hasReciprocal(*scale) || !zero ||
      zero != known(op.getZeroPoint()))
    return false;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto scalar = RankedTensorType::get({}, getElementTypeOrSelf(op.getY()));
  auto constant = [&](double value) {
    return createSplat(b, b.getLoc(), scalar, value);
  };
  auto [low, high] = integerRange(quantize.getType());
  Value y = quantize.getX();
  if (*scale != 1)
    y = MulOp::create(b, y, constant(1 / *scale));
  y = MaxOp::create(b, y, constant(low - *zero));
  y = MinOp::create(b, y, constant(high - *zero));
  y = MulOp::create(b, RoundOp::create(b, y), op.getScale());
  op.replaceAllUsesWith(y);
  op.erase();
  quantize.erase();
  return true;
}

struct RoundInKernelsPass : impl::RoundInKernelsBase<RoundInKernelsPass> {
  void runOnOperation() override {
    getOperation().walk(
        [&](DequantizeOp op) { numRounded += roundInRegisters(op); });
  }
};

} // namespace
} // namespace tinh::transforms
