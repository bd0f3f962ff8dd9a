//===- RecognizeComposites.cpp - GELU, norms, attention found ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.div %x, dense<1.41421354>
//   %1 = graph.erf %0
//   %2 = graph.add %1, dense<1.0>
//   %3 = graph.mul %x, %2
//   %4 = graph.mul %3, dense<0.5>
// becomes
//   %4 = graph.gelu %x
//
// and likewise for layer norm, softmax and attention, each in the file with its
// name; this one has the pass and GELU.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Composites/CompositePatterns.h"
#include "compiler/Transforms/Constants/Constants.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_RECOGNIZECOMPOSITES
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

constexpr double kTolerance = 1e-3;

/// A product's factors: the scalar ones multiplied, the others in a list.
struct Product {
  double scalar = 1;
  SmallVector<Value> factors;
};

void collectFactors(Value value, Product &product, int depth) {
  if (std::optional<double> splat = splatValue(value)) {
    product.scalar *= *splat;
    return;
  }
  if (auto mul = value.getDefiningOp<MulOp>(); mul && depth > 0) {
    collectFactors(mul.getA(), product, depth - 1);
    collectFactors(mul.getB(), product, depth - 1);
    return;
  }
  auto div = value.getDefiningOp<DivOp>();
  std::optional<double> divisor =
      div ? splatValue(div.getB()) : std::optional<double>();
  if (divisor && *divisor != 0 && depth > 0) {
    product.scalar /= *divisor;
    collectFactors(div.getA(), product, depth - 1);
    return;
  }
  product.factors.push_back(value);
}

Product factorsOf(Value value, int depth = 4) {
  Product product;
  collectFactors(value, product, depth);
  return product;
}

bool isNear(double value, double expected) {
  return std::abs(value - expected) <= kTolerance * std::abs(expected);
}

/// The operand of `f` in f(…) + 1.
template <typename OpTy> Value matchOnePlus(Value value) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return nullptr;
  for (auto [a, b] : {std::pair<Value, Value>(add.getA(), add.getB()),
                      std::pair<Value, Value>(add.getB(), add.getA())})
    if (auto inner = a.getDefiningOp<OpTy>(); inner && isSplatOf(b, 1))
      return inner.getX();
  return nullptr;
}

/// Whether `value` is x³.
bool isCube(Value value, Value x) {
  if (auto pow = value.getDefiningOp<PowOp>())
    return pow.getA() == x && isSplatOf(pow.getB(), 3);
  Product product = factorsOf(value);
  return product.scalar == 1 && product.factors.size() == 3 &&
         llvm::all_of(product.factors, [&](Value f) { return f == x; });
}

/// Whether `value` is √(2/π) · (x + 0.044715 x³).
bool isTanhArgument(Value value, Value x) {
  Product outer = factorsOf(value);
  auto isScaledCube = [&](Value term) {
    Product inner = factorsOf(term);
    if (!isNear(inner.scalar, 0.044715))
      return false;
    if (inner.factors.size() == 1)
      return isCube(inner.factors[0], x);
    return inner.factors.size() == 3 &&
           llvm::all_of(inner.factors, [&](Value f) { return f == x; });
  };
  // √(2/π) · x · (1 + 0.044715 x²) occurs too, but not from exporters.
  if (outer.factors.size() != 1 || !isNear(outer.scalar, 0.7978845608))
    return false;
  auto add = outer.factors[0].getDefiningOp<AddOp>();
  return add && ((add.getA() == x && isScaledCube(add.getB())) ||
                 (add.getB() == x && isScaledCube(add.getA())));
}

/// 0.5 · x · (1 + erf(x/√2)), or with tanh, in any order.
struct RecognizeGelu : OpRewritePattern<MulOp> {
  RecognizeGelu(MLIRContext *context, CompositeCounts &counts)
      : OpRewritePattern(context), counts(counts) {}

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    Product product = factorsOf(op.getY());
    if (product.factors.size() != 2 || !isNear(product.scalar, 0.5))
      return failure();
    for (int i : {0, 1}) {
      Value x = product.factors[i], gate = product.factors[1 - i];
      if (x.getType() != op.getY().getType())
        continue;
      bool tanh = false;
      if (Value y = matchOnePlus<ErfOp>(gate)) {
        Product argument = factorsOf(y);
        if (argument.factors.size() != 1 || argument.factors[0] != x ||
            !isNear(argument.scalar, 0.7071067811))
          continue;
      } else if (Value y = matchOnePlus<TanhOp>(gate);
                 y && isTanhArgument(y, x)) {
        tanh = true;
      } else {
        continue;
      }
      rewriter.replaceOpWithNewOp<GeluOp>(op, x, tanh);
      ++counts.gelu;
      return success();
    }
    return failure();
  }

  CompositeCounts &counts;
};

struct RecognizeCompositesPass
    : impl::RecognizeCompositesBase<RecognizeCompositesPass> {
  void runOnOperation() override {
    FailureOr<CompositeCounts> counts = recognizeComposites(getOperation());
    if (failed(counts))
      return signalPassFailure();
    numGelu += counts->gelu;
    numLayerNorm += counts->layerNorm;
    numSoftmax += counts->softmax;
    numAttention += counts->attention;
  }
};

} // namespace

FailureOr<CompositeCounts> recognizeComposites(func::FuncOp function) {
  CompositeCounts counts;
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  patterns.add<RecognizeGelu>(context, counts);
  populateLayerNormPatterns(patterns, counts);
  populateSoftmaxPatterns(patterns, counts);
  TransposeOp::getCanonicalizationPatterns(patterns, context);
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
    return failure();
  RewritePatternSet attention(context);
  populateAttentionPatterns(attention, counts);
  TransposeOp::getCanonicalizationPatterns(attention, context);
  if (failed(applyPatternsGreedily(function, std::move(attention))))
    return failure();
  return counts;
}

} // namespace tinh::transforms
