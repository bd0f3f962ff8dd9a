//===- Rounding.cpp - From f32 to bf16 and f16 ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Rounding.h"

#include "tinh/artifact.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Roundings that change nothing
//===----------------------------------------------------------------------===//

static bool isExact(APFloat number, FloatType type) {
  bool losesInfo;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return !losesInfo;
}

/// Whether all numbers that `value` may be are some of `type`.
static bool isOf(Value value, FloatType type) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto number = dyn_cast<FloatAttr>(constant))
      return isExact(number.getValue(), type);
    auto numbers = dyn_cast<DenseFPElementsAttr>(constant);
    return numbers && llvm::all_of(numbers, [&](APFloat number) {
             return isExact(number, type);
           });
  }
  auto areOf = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value x) { return isOf(x, type); });
  };
  Operation *op = value.getDefiningOp();
  if (auto wide = dyn_cast_or_null<arith::ExtFOp>(op)) {
    // What may be left out has not rounded yet.
    auto rounding = wide.getIn().getDefiningOp<arith::TruncFOp>();
    return rounding && rounding.getFastmath()
               ? isOf(rounding.getIn(), type)
               : getElementTypeOrSelf(wide.getIn()) == type;
  }
  if (auto choice = dyn_cast_or_null<arith::SelectOp>(op))
    return areOf({choice.getTrueValue(), choice.getFalseValue()});
  return isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                         arith::MinNumFOp, arith::NegFOp, math::AbsFOp,
                         vector::BroadcastOp>(op) &&
         areOf(op->getOperands());
}

namespace {

struct SkipExactRounding : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    auto rounding = op.getIn().getDefiningOp<arith::TruncFOp>();
    if (!rounding || rounding.getIn().getType() != op.getType() ||
        !isOf(rounding.getIn(),
              cast<FloatType>(getElementTypeOrSelf(op.getIn()))))
      return failure();
    rewriter.replaceOp(op, rounding.getIn());
    return success();
  }
};

} // namespace

LogicalResult skipExactRoundings(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  patterns.add<SkipExactRounding>(module->getContext());
  return applyPatternsGreedily(module, std::move(patterns));
}

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.clone(element) : element;
}

/// bf16, or a vector of it, as integers; other types as they are.
static Type withBits(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return type;
  return withElement(type, IntegerType::get(type.getContext(), 16));
}

/// A constant of `type`, integers or a vector of them.
static TypedAttr splat(Type type, int64_t number) {
  auto one = IntegerAttr::get(getElementTypeOrSelf(type), number);
  if (auto vector = dyn_cast<VectorType>(type))
    return DenseElementsAttr::get(vector, Attribute(one));
  return one;
}

static Attribute withBits(Attribute value, Type type) {
  if (auto elements = dyn_cast<DenseElementsAttr>(value))
    return elements.bitcast(getElementTypeOrSelf(type));
  return IntegerAttr::get(type,
                          cast<FloatAttr>(value).getValue().bitcastToAPInt());
}

namespace {

/// The upper half of the bits, after what rounds them to the nearest even has
/// been added. What is no number has all bits then.
struct RoundInIntegers : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type to = op.getType();
    if (!getElementTypeOrSelf(op.getIn()).isF32() ||
        !getElementTypeOrSelf(to).isBF16())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type i16 = withElement(to, b.getI16Type()),
         i32 = withElement(to, b.getI32Type());
    auto constant = [&](int64_t number) {
      return arith::ConstantOp::create(b, splat(i32, number));
    };
    Value x = op.getIn(), sixteen = constant(16);
    Value bits = arith::BitcastOp::create(b, i32, x);
    Value isOdd = arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, bits, sixteen), constant(1));
    Value rounded = arith::AddIOp::create(
        b, arith::AddIOp::create(b, bits, constant(0x7fff)), isOdd);
    Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
    rounded =
        arith::OrIOp::create(b, rounded, arith::ExtSIOp::create(b, i32, isNan));
    rounded = arith::ShRUIOp::create(b, rounded, sixteen);
    rounded = arith::TruncIOp::create(b, i16, rounded);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, to, rounded);
    return success();
  }
};

/// LLVM has an instruction for this, and none that computes on the result.
struct RoundToBf16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType(), to = op.getType();
    auto vector = dyn_cast<VectorType>(from);
    if (!getElementTypeOrSelf(from).isF32() ||
        !getElementTypeOrSelf(to).isBF16() || (vector && vector.getRank() != 1))
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::FPTruncOp>(op, to, op.getIn());
    return success();
  }
};

} // namespace

void populateBf16Conversions(RewritePatternSet &patterns,
                             const Target &target) {
  arith::populateExpandBFloat16Patterns(patterns);
  patterns.add<RoundInIntegers>(patterns.getContext(), /*benefit=*/2);
  constexpr uint64_t kNeeded = TINH_CPU_AVX512BF16 | TINH_CPU_AVX512VL;
  if ((executingTarget(target).featureBits & kNeeded) == kNeeded)
    patterns.add<RoundToBf16>(patterns.getContext(), /*benefit=*/3);
}

/// Takes the bits of what an instruction has rounded.
static void takeBits(LLVM::FPTruncOp rounded) {
  Value value = rounded.getRes();
  Type bits = withBits(value.getType());
  if (bits == value.getType())
    return;
  OpBuilder b(rounded->getContext());
  b.setInsertionPointAfter(rounded);
  Value taken = LLVM::BitcastOp::create(b, rounded.getLoc(), bits, value);
  value.replaceAllUsesExcept(taken, taken.getDefiningOp());
}

/// Gives an instruction that multiplies bf16 the numbers of what is bits
/// otherwise.
static void giveNumbers(LLVM::CallIntrinsicOp call,
                        llvm::DenseSet<Operation *> &given) {
  OpBuilder b(call);
  for (OpOperand &operand : call->getOpOperands()) {
    Value value = operand.get();
    if (withBits(value.getType()) == value.getType())
      continue;
    auto numbers =
        LLVM::BitcastOp::create(b, call.getLoc(), value.getType(), value);
    given.insert(numbers);
    operand.set(numbers);
  }
}

void moveBf16AsBits(Operation *module) {
  llvm::DenseSet<Operation *> given;
  module->walk([&](LLVM::CallIntrinsicOp call) { giveNumbers(call, given); });
  module->walk([&](Operation *op) {
    if (given.contains(op))
      return;
    if (auto rounded = dyn_cast<LLVM::FPTruncOp>(op))
      return takeBits(rounded);
    if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
      if (Type bits = withBits(constant.getType()); bits != constant.getType())
        constant.setValueAttr(withBits(constant.getValue(), bits));
    for (Value result : op->getResults())
      result.setType(withBits(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(withBits(argument.getType()));
  });
}

} // namespace tinh::cpu
