//===- MathFunctions.cpp - exp, log … as polynomials ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Math/MathFunctions.h"

#include "compiler/Codegen/CPU/Math/Functions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {
namespace {

using lanes::Float, lanes::Quality;

/// Before MLIR's own patterns.
constexpr unsigned kBenefit = 10;

using Function1 = Float (*)(Float, Quality);
using Function2 = Float (*)(Float, Float, Quality);

/// f32, or a vector of it with one dimension.
bool isComputed(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() &&
         (!vector || (vector.getRank() == 1 && !vector.isScalable()));
}

Quality qualityOf(arith::ArithFastMathInterface op) {
  arith::FastMathFlags flags = op.getFastMathFlagsAttr().getValue();
  return bitEnumContainsAny(flags, arith::FastMathFlags::afn)
             ? Quality::Fast
             : Quality::Accurate;
}

/// Of a function, a division counted as some.
template <int accurate, int fast> struct Instructions {
  static constexpr double of(Quality quality) {
    return quality == Quality::Fast ? fast : accurate;
  }
};

template <typename MathOp, Function1 function, int accurate, int fast>
struct Unary : OpRewritePattern<MathOp> {
  using OpRewritePattern<MathOp>::OpRewritePattern;
  using Op = MathOp;
  using Cost = Instructions<accurate, fast>;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isComputed(op.getType()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Float x = {{&b, op.getOperand()}};
    rewriter.replaceOp(op, function(x, qualityOf(op)).value);
    return success();
  }
};

struct Power : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  using Op = math::PowFOp;
  using Cost = Instructions<110, 90>;

  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isComputed(op.getType()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Float x = {{&b, op.getLhs()}}, y = {{&b, op.getRhs()}};
    rewriter.replaceOp(op, lanes::powOf(x, y, qualityOf(op)).value);
    return success();
  }
};

Value otherThanOne(arith::AddFOp sum) {
  if (matchPattern(sum.getLhs(), m_OneFloat()))
    return sum.getRhs();
  return matchPattern(sum.getRhs(), m_OneFloat()) ? sum.getLhs() : Value();
}

/// 1 / (1 + e^-x), if that is what `exp` is used for.
arith::DivFOp matchSigmoid(math::ExpOp exp) {
  if (!exp.getOperand().getDefiningOp<arith::NegFOp>() || !exp->hasOneUse())
    return {};
  auto sum = dyn_cast<arith::AddFOp>(*exp->user_begin());
  if (!sum || otherThanOne(sum) != exp.getResult() || !sum->hasOneUse())
    return {};
  auto quotient = dyn_cast<arith::DivFOp>(*sum->user_begin());
  return quotient && matchPattern(quotient.getLhs(), m_OneFloat())
             ? quotient
             : arith::DivFOp();
}

/// As it stands, it would lose subnormal results, and half a unit.
struct Sigmoid : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    arith::DivFOp quotient = matchSigmoid(op);
    if (!quotient || !isComputed(op.getType()) ||
        qualityOf(op) == Quality::Fast)
      return failure();
    rewriter.setInsertionPoint(quotient);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto negation = op.getOperand().getDefiningOp<arith::NegFOp>();
    Float x = {{&b, negation.getOperand()}};
    rewriter.replaceOp(quotient, lanes::sigmoidOf(x).value);
    return success();
  }
};

template <typename... Patterns> struct FunctionList {
  static void populate(RewritePatternSet &patterns) {
    patterns.add<Patterns...>(patterns.getContext(), kBenefit);
  }
  static double instructions(Operation *op, Quality quality) {
    double count = 40; // Of one that is MLIR's.
    ((isa<typename Patterns::Op>(op) ? count = Patterns::Cost::of(quality) : 0),
     ...);
    return count;
  }
};

/// Each with its instructions: accurate, fast.
using AllFunctions =
    FunctionList<Unary<math::ExpOp, lanes::expOf, 19, 14>,
                 Unary<math::Exp2Op, lanes::exp2Of, 19, 14>,
                 Unary<math::ExpM1Op, lanes::expM1Of, 19, 14>,
                 Unary<math::LogOp, lanes::logOf, 28, 21>,
                 Unary<math::Log2Op, lanes::log2Of, 28, 21>,
                 Unary<math::Log10Op, lanes::log10Of, 28, 21>,
                 Unary<math::Log1pOp, lanes::log1pOf, 28, 21>,
                 Unary<math::TanhOp, lanes::tanhOf, 30, 22>,
                 Unary<math::ErfOp, lanes::erfOf, 33, 24>,
                 Unary<math::SinOp, lanes::sinOf, 34, 34>,
                 Unary<math::CosOp, lanes::cosOf, 34, 34>, Power>;

} // namespace

void populateMathFunctions(RewritePatternSet &patterns) {
  AllFunctions::populate(patterns);
  patterns.add<Sigmoid>(patterns.getContext(), kBenefit + 1);
}

double functionInstructions(Operation *op) {
  return AllFunctions::instructions(
      op, qualityOf(cast<arith::ArithFastMathInterface>(op)));
}

} // namespace tinh::cpu
