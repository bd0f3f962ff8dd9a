//===- RecognizeAttention.cpp - Attention found in its parts ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %a = graph.mul %q, dense<0.353553>
//   %b = graph.mul %k, dense<0.353553>
//   %s = graph.matmul %a, %b transpose_b
//   %t = graph.add %s, %mask
//   %p = graph.softmax %t axis 3
//   %y = graph.matmul %p, %v
// becomes
//   %y = graph.attention %q, %k, %v, %mask scale 0.125
//
// Factors may stand at the query, the key, or the product. PyTorch's export
// replaces NaN in the weights by 0, for queries that see no key at all; this
// guard goes where the mask lets every query see some key, as one does whose
// values are all finite. Otherwise the ops stay as they are.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Composites/CompositePatterns.h"
#include "compiler/Transforms/Constants/Constants.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tinh::transforms {
namespace {

using namespace graph;

/// An operand of attention: a value, transposed if there is a permutation.
struct Operand {
  Value base;
  SmallVector<int64_t> permutation;

  Value build(OpBuilder &builder) const {
    if (permutation.empty())
      return base;
    return TransposeOp::create(builder, base.getLoc(), base, permutation)
        .getY();
  }
  void transpose(ArrayRef<int64_t> outer) {
    permutation = permutation.empty() ? SmallVector<int64_t>(outer)
                                      : applyPermutation(permutation, outer);
  }
};

/// The value that `value` is a scalar multiple of, and the factor.
Value takeScale(Value value, double &scale) {
  if (auto mul = value.getDefiningOp<MulOp>())
    for (auto [a, b] : {std::pair<Value, Value>(mul.getA(), mul.getB()),
                        std::pair<Value, Value>(mul.getB(), mul.getA())})
      if (std::optional<double> factor = splatValue(b);
          factor && a.getType() == value.getType()) {
        scale *= *factor;
        return takeScale(a, scale);
      }
  if (auto div = value.getDefiningOp<DivOp>()) {
    std::optional<double> divisor = splatValue(div.getB());
    if (divisor && *divisor != 0 && div.getA().getType() == value.getType()) {
      scale /= *divisor;
      return takeScale(div.getA(), scale);
    }
  }
  return value;
}

/// The same, also for factors behind a transpose.
Operand takeScaledOperand(Value value, double &scale) {
  Operand operand{takeScale(value, scale), {}};
  auto transpose = operand.base.getDefiningOp<TransposeOp>();
  if (!transpose)
    return operand;
  Operand inner = takeScaledOperand(transpose.getX(), scale);
  inner.transpose(transpose.getPermutation());
  return inner;
}

/// What surely is not -inf or NaN everywhere in a row of the last dimension.
bool everyRowIsFiniteSomewhere(Value mask) {
  if (auto where = mask.getDefiningOp<WhereOp>()) {
    std::optional<double> a = splatValue(where.getA()),
                          b = splatValue(where.getB());
    return a && b && std::isfinite(*a) && std::isfinite(*b);
  }
  auto constant = mask.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || tensorType(mask).getRank() == 0)
    return false;
  if (elements.isSplat())
    return elements.getSplatValue<APFloat>().isFinite();
  int64_t width = tensorType(mask).getShape().back(), column = 0;
  bool finite = false;
  for (APFloat value : elements.getValues<APFloat>()) {
    finite |= value.isFinite();
    if (++column < width)
      continue;
    if (!finite)
      return false;
    column = 0;
    finite = false;
  }
  return true;
}

/// The softmax in where(isnan(s), 0, s).
SoftmaxOp matchGuardedSoftmax(Value value, bool &guarded) {
  guarded = false;
  if (auto where = value.getDefiningOp<WhereOp>()) {
    auto isnan = where.getCondition().getDefiningOp<IsNanOp>();
    if (!isnan || isnan.getX() != where.getB() || !isSplatOf(where.getA(), 0))
      return nullptr;
    guarded = true;
    value = where.getB();
  }
  return value.getDefiningOp<SoftmaxOp>();
}

bool isBatched(Value value) { return tensorType(value).getRank() == 4; }

/// The scores of attention: scale · query · keyᵀ + mask.
struct Scores {
  Operand query, key;
  Value mask;
  double scale = 1;
};

MatmulOp matchScaledProduct(Value value, double &scale) {
  scale = 1;
  auto matmul = takeScale(value, scale).getDefiningOp<MatmulOp>();
  return matmul && !matmul.getTransposeA() ? matmul : nullptr;
}

bool matchScores(Value value, Scores &scores) {
  MatmulOp matmul = matchScaledProduct(value, scores.scale);
  if (auto add = value.getDefiningOp<AddOp>(); add && !matmul) {
    matmul = matchScaledProduct(add.getA(), scores.scale);
    scores.mask = add.getB();
    if (!matmul) {
      matmul = matchScaledProduct(add.getB(), scores.scale);
      scores.mask = add.getA();
    }
  }
  if (!matmul || !isBatched(matmul.getA()) || !isBatched(matmul.getB()))
    return false;
  scores.query = takeScaledOperand(matmul.getA(), scores.scale);
  scores.key = takeScaledOperand(matmul.getB(), scores.scale);
  if (!matmul.getTransposeB())
    scores.key.transpose({0, 1, 3, 2});
  // Batch and heads must not broadcast, nor the scores to a larger mask.
  return tensorType(value).getShape() == tensorType(matmul.getY()).getShape() &&
         tensorType(matmul.getA()).getShape().take_front(2) ==
             tensorType(matmul.getB()).getShape().take_front(2);
}

struct RecognizeAttention : OpRewritePattern<MatmulOp> {
  RecognizeAttention(MLIRContext *context, CompositeCounts &counts)
      : OpRewritePattern(context), counts(counts) {}

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getTransposeA() || !isBatched(op.getA()) || !isBatched(op.getB()) ||
        tensorType(op.getA()).getShape().take_front(2) !=
            tensorType(op.getB()).getShape().take_front(2))
      return failure();
    bool guarded;
    SoftmaxOp softmax = matchGuardedSoftmax(op.getA(), guarded);
    Scores scores;
    if (!softmax || softmax.getAxis() != 3 ||
        !matchScores(softmax.getX(), scores))
      return failure();
    if (guarded && scores.mask && !everyRowIsFiniteSomewhere(scores.mask))
      return failure();
    if (scores.mask && isSplatOf(scores.mask, 0))
      scores.mask = nullptr;
    Operand value{op.getB(), {}};
    if (op.getTransposeB())
      value.transpose({0, 1, 3, 2});
    Value query = scores.query.build(rewriter);
    Value key = scores.key.build(rewriter);
    rewriter.replaceOpWithNewOp<AttentionOp>(
        op, query, key, value.build(rewriter), scores.mask,
        APFloat(scores.scale), /*causal=*/false);
    ++counts.attention;
    return success();
  }

  CompositeCounts &counts;
};

} // namespace

void populateAttentionPatterns(RewritePatternSet &patterns,
                               CompositeCounts &counts) {
  patterns.add<RecognizeAttention>(patterns.getContext(), counts);
}

} // namespace tinh::transforms
