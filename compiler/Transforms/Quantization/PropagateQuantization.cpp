//===- PropagateQuantization.cpp - Integers through what moves them -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.dequantize %q scale %s
//   %1 = graph.max_pool %0 …
//   %2 = graph.relu %1
//   %3 = graph.quantize %2 scale %s
// becomes
//   %3 = graph.max_pool %q …
//
// where the range of the integers has no negative numbers.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Quantization/Quantization.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_PROPAGATEQUANTIZATION
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Whether two ops have one meaning of integers.
template <typename Op1, typename Op2> bool haveSameScale(Op1 a, Op2 b) {
  return isSameParameter(a.getScale(), b.getScale()) &&
         isSameParameter(a.getZeroPoint(), b.getZeroPoint());
}

/// Whether one scale, and one zero point, is for all elements.
template <typename Op> bool isPerTensor(Op op) {
  return tensorType(op.getScale()).getRank() == 0 &&
         (!op.getZeroPoint() || tensorType(op.getZeroPoint()).getRank() == 0);
}

/// The floats that the least and the largest integer stand for, if they are
/// known, and the scale. Nothing is known of floats of 8 bits.
struct Range {
  double least, largest, scale;
};
template <typename Op> std::optional<Range> rangeOf(Op op, Value integers) {
  if (isStorageFloat(tensorType(integers).getElementType()))
    return std::nullopt;
  std::optional<double> scale = splatValue(op.getScale()), zero = 0;
  if (op.getZeroPoint())
    zero = splatValue(op.getZeroPoint());
  if (!scale || !zero || *scale <= 0)
    return std::nullopt;
  auto [low, high] = integerRange(integers.getType());
  return Range{(low - *zero) * *scale, (high - *zero) * *scale, *scale};
}

//===----------------------------------------------------------------------===//
// What quantisation does anyway
//===----------------------------------------------------------------------===//

LogicalResult dropRequantize(QuantizeOp op, PatternRewriter &rewriter) {
  auto from = op.getX().getDefiningOp<DequantizeOp>();
  // Of floats of 8 bits, infinities would become finite.
  if (!from || from.getX().getType() != op.getType() ||
      isStorageFloat(tensorType(op.getY()).getElementType()) ||
      !haveSameScale(from, op))
    return failure();
  rewriter.replaceOp(op, from.getX());
  return success();
}

/// What limits `op` to values from `low` on or up to `high`, and its operand.
struct Limit {
  Value x;
  std::optional<double> low, high;
};
Limit limitOf(Operation *op) {
  if (auto relu = dyn_cast_or_null<ReluOp>(op))
    return {relu.getX(), 0, {}};
  if (auto max = dyn_cast_or_null<MaxOp>(op))
    if (auto low = splatValue(max.getB()))
      return {max.getA(), low, {}};
  if (auto min = dyn_cast_or_null<MinOp>(op))
    if (auto high = splatValue(min.getB()))
      return {min.getA(), {}, high};
  return {};
}

/// Whether numbers of this range are within the limit; what is less than
/// `slack` beyond it is rounded back.
bool isWithin(const Range &range, const Limit &limit, double slack) {
  return (!limit.low || *limit.low <= range.least + slack) &&
         (!limit.high || *limit.high >= range.largest - slack);
}

/// quantize(relu(x)) -> quantize(x), where no integer is for a negative number.
LogicalResult dropLimitBefore(QuantizeOp op, PatternRewriter &rewriter) {
  Limit limit = limitOf(op.getX().getDefiningOp());
  if (!limit.x || limit.x.getType() != op.getX().getType())
    return failure();
  auto range = rangeOf(op, op.getY());
  if (!range || !isWithin(*range, limit, 0.49 * range->scale))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(limit.x); });
  return success();
}

/// relu(dequantize(q)) -> dequantize(q), likewise.
LogicalResult dropLimitAfter(Operation *op, PatternRewriter &rewriter) {
  Limit limit = limitOf(op);
  auto from = limit.x ? limit.x.getDefiningOp<DequantizeOp>() : nullptr;
  if (!from || limit.x.getType() != op->getResult(0).getType())
    return failure();
  auto range = rangeOf(from, from.getX());
  if (!range || !isWithin(*range, limit, 0))
    return failure();
  rewriter.replaceOp(op, limit.x);
  return success();
}

//===----------------------------------------------------------------------===//
// What moves elements, or chooses the largest
//===----------------------------------------------------------------------===//

bool movesIntegers(Operation *op) {
  return isa<ReshapeOp, TransposeOp, SliceOp, MaxPoolOp>(op) ||
         isa<GatherOp>(op);
}

/// `op` with `x` for its first operand, and elements of that type.
Value moved(PatternRewriter &rewriter, Operation *op, Value x) {
  Operation *copy = rewriter.clone(*op);
  copy->setOperand(0, x);
  Value result = copy->getResult(0);
  result.setType(tensorType(result).clone(tensorType(x).getElementType()));
  return result;
}

template <typename Op>
Op rebuilt(PatternRewriter &rewriter, Op op, Value x, Type result) {
  return Op::create(rewriter, op.getLoc(), result, x, op.getScale(),
                    op.getZeroPoint());
}

/// Whether `x` are weights, which products dequantise as they are; what gathers
/// rows of a table needs few of them.
bool isForProducts(Value x, Operation *reader) {
  return isConstantExpression(x) && !isa<GatherOp>(reader);
}

/// max_pool(dequantize(q)) -> dequantize(max_pool(q))
LogicalResult sinkDequantize(Operation *op, PatternRewriter &rewriter) {
  if (!movesIntegers(op))
    return failure();
  auto from = op->getOperand(0).getDefiningOp<DequantizeOp>();
  if (!from || !isPerTensor(from) || isForProducts(from.getX(), op) ||
      !rangeOf(from, from.getX()))
    return failure();
  Value integers = moved(rewriter, op, from.getX());
  rewriter.replaceOp(
      op, rebuilt(rewriter, from, integers, op->getResult(0).getType()));
  return success();
}

/// quantize(max_pool(x)) -> max_pool(quantize(x))
LogicalResult hoistQuantize(QuantizeOp op, PatternRewriter &rewriter) {
  Operation *from = op.getX().getDefiningOp();
  if (!from || !movesIntegers(from) || !from->hasOneUse() || !isPerTensor(op) ||
      !rangeOf(op, op.getY()))
    return failure();
  Value x = from->getOperand(0);
  // Not what gathers from a table.
  if (tensorType(x).getNumElements() >
      4 * tensorType(op.getY()).getNumElements())
    return failure();
  Type type = tensorType(x).clone(getElementTypeOrSelf(op.getType()));
  Value integers = rebuilt(rewriter, op, x, type);
  rewriter.replaceOp(op, moved(rewriter, from, integers));
  return success();
}

LogicalResult sinkBelowConcat(ConcatOp op, PatternRewriter &rewriter) {
  SmallVector<Value> integers;
  DequantizeOp first;
  for (Value input : op.getInputs()) {
    auto from = input.getDefiningOp<DequantizeOp>();
    if (!from || !isPerTensor(from) || (first && !haveSameScale(first, from)) ||
        (first && getElementTypeOrSelf(first.getX()) !=
                      getElementTypeOrSelf(from.getX())))
      return failure();
    first = first ? first : from;
    integers.push_back(from.getX());
  }
  Value joined =
      ConcatOp::create(rewriter, op.getLoc(), integers, op.getAxis());
  rewriter.replaceOp(op, rebuilt(rewriter, first, joined, op.getType()));
  return success();
}

/// quantize(concat(a, b)) -> concat(quantize(a), quantize(b)): so what computes
/// the parts writes integers.
LogicalResult hoistAboveConcat(QuantizeOp op, PatternRewriter &rewriter) {
  auto concat = op.getX().getDefiningOp<ConcatOp>();
  if (!concat || !concat->hasOneUse() || !isPerTensor(op))
    return failure();
  SmallVector<Value> parts;
  for (Value input : concat.getInputs()) {
    Type type = tensorType(input).clone(getElementTypeOrSelf(op.getType()));
    parts.push_back(rebuilt(rewriter, op, input, type));
  }
  rewriter.replaceOpWithNewOp<ConcatOp>(op, parts, concat.getAxis());
  return success();
}

struct LimitAfter : RewritePattern {
  explicit LimitAfter(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return success(succeeded(dropLimitAfter(op, rewriter)) ||
                   succeeded(sinkDequantize(op, rewriter)));
  }
};

struct PropagateQuantizationPass
    : impl::PropagateQuantizationBase<PropagateQuantizationPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(dropRequantize);
    patterns.add(dropLimitBefore);
    patterns.add(hoistQuantize);
    patterns.add(hoistAboveConcat);
    patterns.add(sinkBelowConcat);
    patterns.add<LimitAfter>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace tinh::transforms
