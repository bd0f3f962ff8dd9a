//===- RecognizeNorms.cpp - Layer norm and softmax found --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %m = graph.reduce mean %x axes [2] keepdims
//   %d = graph.sub %x, %m
//   %q = graph.mul %d, %d
//   %v = graph.reduce mean %q axes [2] keepdims
//   %e = graph.add %v, dense<1.0e-05>
//   %s = graph.sqrt %e
//   %n = graph.div %d, %s
//   %t = graph.mul %n, %scale
//   %y = graph.add %t, %bias
// becomes
//   %y = graph.layer_norm %x, %scale, %bias axis 2 epsilon 1.0e-05
//
// in steps: the quotient becomes a layer norm with a scale of ones, which then
// takes in the multiplication and the addition.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Composites/CompositePatterns.h"
#include "compiler/Transforms/Constants/Constants.h"

using namespace mlir;

namespace tinh::transforms {
namespace {

using namespace graph;

/// A reduction of the last dimensions that keeps them as 1.
ReduceOp matchTrailing(Value value, ReduceKind kind) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != kind || !reduce.getKeepdims() ||
      reduce.getAxes().empty())
    return nullptr;
  int64_t rank = tensorType(reduce.getX()).getRank();
  for (auto [i, axis] : llvm::enumerate(reduce.getAxes()))
    if (axis != rank - static_cast<int64_t>(reduce.getAxes().size() - i))
      return nullptr;
  return reduce;
}

/// x in x·x, which is how simplify-graph writes x².
Value matchSquare(Value value) {
  if (auto mul = value.getDefiningOp<MulOp>(); mul && mul.getA() == mul.getB())
    return mul.getA();
  if (auto pow = value.getDefiningOp<PowOp>(); pow && isSplatOf(pow.getB(), 2))
    return pow.getA();
  return nullptr;
}

/// v in d / sqrt(v), d · rsqrt(v), d · (1 / sqrt(v)).
Value matchNormalised(Operation *op, Value &numerator) {
  auto sqrtOf = [](Value value) -> Value {
    if (auto sqrt = value.getDefiningOp<SqrtOp>())
      return sqrt.getX();
    return nullptr;
  };
  if (auto div = dyn_cast<DivOp>(op)) {
    numerator = div.getA();
    return sqrtOf(div.getB());
  }
  auto mul = dyn_cast<MulOp>(op);
  if (!mul)
    return nullptr;
  for (auto [a, b] : {std::pair<Value, Value>(mul.getA(), mul.getB()),
                      std::pair<Value, Value>(mul.getB(), mul.getA())}) {
    numerator = a;
    if (auto rsqrt = b.getDefiningOp<RsqrtOp>())
      return rsqrt.getX();
    if (auto reciprocal = b.getDefiningOp<ReciprocalOp>())
      return sqrtOf(reciprocal.getX());
    if (auto div = b.getDefiningOp<DivOp>(); div && isSplatOf(div.getA(), 1))
      return sqrtOf(div.getB());
  }
  return nullptr;
}

/// Whether `centred` is x - mean(x) over the dimensions of `variance`.
Value matchCentred(Value centred, ReduceOp variance) {
  auto sub = centred.getDefiningOp<SubOp>();
  if (!sub)
    return nullptr;
  ReduceOp mean = matchTrailing(sub.getB(), ReduceKind::Mean);
  if (!mean || mean.getX() != sub.getA() ||
      mean.getAxes() != variance.getAxes())
    return nullptr;
  return sub.getA();
}

struct RecognizeLayerNorm : RewritePattern {
  RecognizeLayerNorm(MLIRContext *context, CompositeCounts &counts)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), counts(counts) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value numerator;
    Value denominator = matchNormalised(op, numerator);
    auto sum = denominator ? denominator.getDefiningOp<AddOp>() : AddOp();
    if (!sum)
      return failure();
    Value mean = sum.getA();
    std::optional<double> epsilon = splatValue(sum.getB());
    if (!epsilon) {
      mean = sum.getB();
      epsilon = splatValue(sum.getA());
    }
    ReduceOp variance = matchTrailing(mean, ReduceKind::Mean);
    if (!epsilon || !variance || matchSquare(variance.getX()) != numerator ||
        numerator.getType() != op->getResult(0).getType())
      return failure();
    Value x = matchCentred(numerator, variance);
    bool rms = !x;
    if (rms)
      x = numerator;
    int64_t axis = variance.getAxes().front();
    RankedTensorType type = tensorType(x);
    Value ones =
        createSplat(rewriter, op->getLoc(),
                    RankedTensorType::get(type.getShape().drop_front(axis),
                                          type.getElementType()),
                    1);
    rewriter.replaceOpWithNewOp<LayerNormOp>(op, x, ones, Value(), axis,
                                             APFloat(*epsilon), rms);
    ++counts.layerNorm;
    return success();
  }

  CompositeCounts &counts;
};

/// Whether `value` may be a scale or bias of `norm`.
bool isParameter(Value value, LayerNormOp norm) {
  ArrayRef<int64_t> dims =
      tensorType(norm.getX()).getShape().drop_front(norm.getAxis());
  auto shape = broadcastShapes({dims, tensorType(value).getShape()});
  return shape && ArrayRef<int64_t>(*shape) == dims;
}

/// The layer norm and the parameter in a binary op that alone reads it.
template <typename OpTy> LayerNormOp matchAffine(OpTy op, Value &parameter) {
  for (auto [a, b] : {std::pair<Value, Value>(op.getA(), op.getB()),
                      std::pair<Value, Value>(op.getB(), op.getA())}) {
    auto norm = a.template getDefiningOp<LayerNormOp>();
    parameter = b;
    if (norm && a.hasOneUse() && !norm.getBias() && isParameter(b, norm))
      return norm;
  }
  return nullptr;
}

LogicalResult absorbScale(MulOp op, PatternRewriter &rewriter) {
  Value scale;
  LayerNormOp norm = matchAffine(op, scale);
  if (!norm || !isSplatOf(norm.getScale(), 1))
    return failure();
  rewriter.replaceOpWithNewOp<LayerNormOp>(op, norm.getX(), scale, Value(),
                                           norm.getAxis(), norm.getEpsilon(),
                                           norm.getRms());
  return success();
}

LogicalResult absorbBias(AddOp op, PatternRewriter &rewriter) {
  Value bias;
  LayerNormOp norm = matchAffine(op, bias);
  if (!norm || !isConstantExpression(bias))
    return failure();
  rewriter.replaceOpWithNewOp<LayerNormOp>(op, norm.getX(), norm.getScale(),
                                           bias, norm.getAxis(),
                                           norm.getEpsilon(), norm.getRms());
  return success();
}

/// exp(x) / sum(exp(x)), where x may have its maximum subtracted.
struct RecognizeSoftmax : OpRewritePattern<DivOp> {
  RecognizeSoftmax(MLIRContext *context, CompositeCounts &counts)
      : OpRewritePattern(context), counts(counts) {}

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto exp = op.getA().getDefiningOp<ExpOp>();
    auto sum = op.getB().getDefiningOp<ReduceOp>();
    if (!exp || !sum || sum.getKind() != ReduceKind::Sum ||
        !sum.getKeepdims() || sum.getAxes().size() != 1 ||
        sum.getX() != exp.getY())
      return failure();
    Value x = exp.getX();
    if (auto sub = x.getDefiningOp<SubOp>())
      if (auto max = sub.getB().getDefiningOp<ReduceOp>();
          max && max.getKind() == ReduceKind::Max && max.getKeepdims() &&
          max.getAxes() == sum.getAxes() && max.getX() == sub.getA())
        x = sub.getA();
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, x, sum.getAxes()[0]);
    ++counts.softmax;
    return success();
  }

  CompositeCounts &counts;
};

} // namespace

void populateLayerNormPatterns(RewritePatternSet &patterns,
                               CompositeCounts &counts) {
  patterns.add<RecognizeLayerNorm>(patterns.getContext(), counts);
  patterns.add(+absorbScale);
  patterns.add(+absorbBias);
}

void populateSoftmaxPatterns(RewritePatternSet &patterns,
                             CompositeCounts &counts) {
  patterns.add<RecognizeSoftmax>(patterns.getContext(), counts);
}

} // namespace tinh::transforms
