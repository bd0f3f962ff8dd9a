//===- StraightThrough.cpp - Rounding that gradients pass -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.quantize %x scale %s zero_point %z
//   %1 = graph.dequantize %0 scale %s zero_point %z
// becomes
//   %1 = graph.custom_gradient (%x, %s) { the same } gradient { … }
//
// so that a training step computes the numbers of the model that is only run.
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/StraightThrough.h"

#include "compiler/Gradients/Gradients.h"
#include "compiler/Nn/FakeQuantize.h"
#include "compiler/Training/FunctionBuilder.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Quantization/Quantization.h"

using namespace mlir;

namespace tinh::training {

using eager::Call;
using transforms::isConstantExpression;
using transforms::isSameParameter;
using transforms::splatValue;

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// The numbers that `pair` limits its integers to by `op`; nothing if it does
/// something else.
static bool takeLimit(QuantizedPair &pair, Operation *op) {
  std::optional<double> bound = isa_and_nonnull<graph::MaxOp, graph::MinOp>(op)
                                    ? splatValue(op->getOperand(1))
                                    : std::nullopt;
  if (!bound)
    return false;
  if (isa<graph::MaxOp>(op))
    pair.low = std::max(pair.low, *bound);
  else
    pair.high = std::min(pair.high, *bound);
  pair.limits.insert(pair.limits.begin(), op);
  return true;
}

std::optional<QuantizedPair> pairOf(graph::DequantizeOp op) {
  if (!isa<IntegerType>(getElementTypeOrSelf(op.getX())))
    return std::nullopt;
  auto [low, high] = transforms::integerRange(op.getX().getType());
  QuantizedPair pair{{}, {}, op, low, high};
  Operation *from = op.getX().getDefiningOp();
  while (takeLimit(pair, from))
    from = from->getOperand(0).getDefiningOp();
  pair.quantize = dyn_cast_or_null<graph::QuantizeOp>(from);
  if (!pair.quantize ||
      !isSameParameter(pair.quantize.getScale(), op.getScale()) ||
      !isSameParameter(pair.quantize.getZeroPoint(), op.getZeroPoint()) ||
      pair.quantize.getX().getType() != op.getY().getType())
    return std::nullopt;
  return pair;
}

/// What quantises in `op` and passes no gradient.
static graph::QuantizeOp barrierIn(Operation &op) {
  graph::QuantizeOp found;
  if (!isa<graph::CustomGradientOp>(op))
    op.walk([&](graph::QuantizeOp quantize) { found = quantize; });
  return found;
}

LogicalResult checkQuantized(Block &block, Value output,
                             ValueRange parameters) {
  auto dependent = gradients::findDependent(block, parameters);
  auto needed = gradients::findNeeded(block, output);
  for (Operation &op : block) {
    auto isIn = [](const DenseSet<Value> &values) {
      return [&](Value value) { return values.contains(value); };
    };
    if (llvm::none_of(op.getResults(), isIn(needed)) ||
        llvm::none_of(graph::readValues(&op), isIn(dependent)))
      continue;
    if (graph::QuantizeOp barrier = barrierIn(op))
      return barrier.emitError(
          "no gradient passes these integers: a model can be trained whose "
          "integers become floats at once, by the same scale and zero point, "
          "outside of branches and loops");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

namespace {

/// A custom gradient while it is built.
class PairBuilder {
public:
  PairBuilder(FunctionBuilder &function, const QuantizedPair &pair,
              const IRMapping &mapping)
      : function(function), pair(pair), outer(mapping),
        location(this->pair.dequantize.getLoc()) {}

  Value build();

private:
  Value mapped(Value value) const { return outer.lookup(value); }
  /// Adds a block with arguments like `like`, and ends it with what `body`
  /// gives.
  void addBlock(Region &region, ValueRange like,
                llvm::function_ref<SmallVector<Value>(Block &)> body);
  SmallVector<Value> buildForward(Block &block);
  SmallVector<Value> buildGradient(Block &block);
  Value zeroPoint();

  FunctionBuilder &function;
  QuantizedPair pair;
  const IRMapping &outer;
  Location location;
};

void PairBuilder::addBlock(
    Region &region, ValueRange like,
    llvm::function_ref<SmallVector<Value>(Block &)> body) {
  region.getBlocks().clear();
  auto *block = new Block;
  region.push_back(block);
  for (Value value : like)
    block->addArgument(value.getType(), location);
  function.record(*block, [&] {
    graph::YieldOp::create(function.raw(), location, body(*block));
  });
}

SmallVector<Value> PairBuilder::buildForward(Block &block) {
  IRMapping inner(outer);
  inner.map(pair.quantize.getX(), block.getArgument(0));
  inner.map(pair.quantize.getScale(), block.getArgument(1));
  inner.map(pair.dequantize.getScale(), block.getArgument(1));
  function.raw().clone(*pair.quantize, inner);
  for (Operation *limit : pair.limits)
    function.raw().clone(*limit, inner);
  function.raw().clone(*pair.dequantize, inner);
  return {inner.lookup(pair.dequantize.getY())};
}

/// The zero point as a float.
Value PairBuilder::zeroPoint() {
  Type element = getElementTypeOrSelf(pair.quantize.getScale());
  Value zero = pair.quantize.getZeroPoint();
  if (!zero)
    return transforms::createSplat(function.raw(), location,
                                   RankedTensorType::get({}, element), 0);
  auto type = cast<RankedTensorType>(zero.getType()).clone(element);
  return graph::CastOp::create(function.raw(), location, type, mapped(zero));
}

SmallVector<Value> PairBuilder::buildGradient(Block &block) {
  Tensor x = function.tensor(block.getArgument(0)),
         dy = function.tensor(block.getArguments().back());
  nn::Quantizer quantizer{function.tensor(block.getArgument(1)),
                          function.tensor(zeroPoint()), pair.low, pair.high};
  Call call{"straight_through", At{}};
  nn::QuantizedGradients gradients =
      nn::straightThrough(x, quantizer, dy, call);
  double factor =
      nn::learnedStepFactor(x.numel() / quantizer.scale.numel(), pair.high);
  Tensor scale = mul(gradients.scale, factor);
  return {function.value(gradients.x), function.value(scale)};
}

Value PairBuilder::build() {
  graph::QuantizeOp quantize = pair.quantize;
  graph::DequantizeOp dequantize = pair.dequantize;
  SmallVector<Value> inputs{mapped(quantize.getX()),
                            mapped(quantize.getScale())};
  Type type = dequantize.getY().getType();
  auto op =
      graph::CustomGradientOp::create(function.raw(), location, type, inputs);
  addBlock(op.getForward(), inputs,
           [&](Block &block) { return buildForward(block); });
  SmallVector<Value> known(inputs);
  known.append(2, op->getResult(0));
  addBlock(op.getGradient(), known,
           [&](Block &block) { return buildGradient(block); });
  return op->getResult(0);
}

} // namespace

LogicalResult FunctionBuilder::addDequantize(graph::DequantizeOp op) {
  std::optional<QuantizedPair> pair = pairOf(op);
  if (!pair || isConstantExpression(op.getY())) {
    raw().clone(*op, mapping);
    return success();
  }
  mapping.map(op.getY(), PairBuilder(*this, *pair, mapping).build());
  return success();
}

} // namespace tinh::training
