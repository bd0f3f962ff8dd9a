//===- IndexRanges.cpp - Where a kernel's indices lie -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Forms/IndexRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tinh::codegen {

/// How far a condition on a value is followed to what is computed from it.
static constexpr unsigned kDepth = 4;

static bool isInteger(Value value) { return value.getType().isIntOrIndex(); }

/// The indices of a loop of linalg.
static ConstantIntRanges loopRange(linalg::IndexOp op) {
  auto linalgOp = op->getParentOfType<linalg::LinalgOp>();
  int64_t extent = linalgOp.getStaticLoopRanges()[op.getDim()];
  if (ShapedType::isDynamic(extent))
    extent = std::numeric_limits<int64_t>::max();
  unsigned width = ConstantIntRanges::getStorageBitwidth(op.getType());
  return ConstantIntRanges::fromSigned(
      APInt(width, 0), APInt(width, std::max<int64_t>(extent - 1, 0)));
}

/// What of `range` is left where `range predicate other` holds; nothing if it
/// never does. Predicates of unsigned numbers leave all.
static std::optional<ConstantIntRanges> restrict(
    ConstantIntRanges range, arith::CmpIPredicate predicate,
    const ConstantIntRanges &other) {
  using Predicate = arith::CmpIPredicate;
  APInt low = range.smin(), high = range.smax();
  bool isEmpty = false;
  auto atMost = [&](const APInt &limit) {
    high = llvm::APIntOps::smin(high, limit);
  };
  auto atLeast = [&](const APInt &limit) {
    low = llvm::APIntOps::smax(low, limit);
  };
  switch (predicate) {
  case Predicate::slt:
    isEmpty = other.smax().isMinSignedValue();
    atMost(other.smax() - 1);
    break;
  case Predicate::sle:
    atMost(other.smax());
    break;
  case Predicate::sgt:
    isEmpty = other.smin().isMaxSignedValue();
    atLeast(other.smin() + 1);
    break;
  case Predicate::sge:
    atLeast(other.smin());
    break;
  case Predicate::eq:
    atMost(other.smax());
    atLeast(other.smin());
    break;
  default:
    return range;
  }
  if (isEmpty || low.sgt(high))
    return std::nullopt;
  return ConstantIntRanges::fromSigned(low, high).intersection(range);
}

IndexRanges::IndexRanges(func::FuncOp kernel) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1 || !isInteger(op->getResult(0)))
      return;
    IntegerValueRange range;
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      range = loopRange(index);
    else if (isa<arith::SelectOp>(op))
      range = inferSelect(op);
    else
      range = infer(op, [&](Value value) { return lookup(value); });
    if (range.isUninitialized()) // No run gets there.
      range = IntegerValueRange::getMaxRange(op->getResult(0));
    ranges.try_emplace(op->getResult(0), range);
  });
}

/// Nothing for what is no integer.
IntegerValueRange IndexRanges::lookup(Value value) const {
  if (!isInteger(value))
    return IntegerValueRange();
  auto known = ranges.find(value);
  return known != ranges.end() ? known->second
                               : IntegerValueRange::getMaxRange(value);
}

ConstantIntRanges IndexRanges::of(Value value) const {
  return lookup(value).getValue();
}

bool IndexRanges::isWithin(Value value, int64_t extent) const {
  ConstantIntRanges range = of(value);
  return range.smin().isNonNegative() && range.smax().slt(extent);
}

/// The range of the result of `op` for operands in the ranges that `of` gives.
IntegerValueRange
IndexRanges::infer(Operation *op,
                   function_ref<IntegerValueRange(Value)> of) const {
  Value result = op->getResult(0);
  IntegerValueRange range = IntegerValueRange::getMaxRange(result);
  // What a file says of overflow need not be so.
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  if (flags &&
      flags.getOverflowAttr().getValue() != arith::IntegerOverflowFlags::none)
    return range;
  auto inferable = dyn_cast<InferIntRangeInterface>(op);
  if (!inferable || !llvm::all_of(op->getOperands(), isInteger))
    return range;
  SmallVector<IntegerValueRange> operands =
      llvm::map_to_vector(op->getOperands(), of);
  inferable.inferResultRangesFromOptional(
      operands, [&](Value value, const IntegerValueRange &inferred) {
        if (value == result && !inferred.isUninitialized())
          range = inferred;
      });
  return range;
}

/// The range of `value` where more is known of another one.
IntegerValueRange IndexRanges::under(const Assumption &assumption, Value value,
                                     unsigned depth) const {
  if (value == assumption.value)
    return assumption.range;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || isa<linalg::IndexOp>(op))
    return lookup(value);
  return infer(
      op, [&](Value operand) { return under(assumption, operand, depth - 1); });
}

/// What is chosen by a comparison is within the bounds that this sets.
IntegerValueRange IndexRanges::inferSelect(Operation *op) const {
  auto select = cast<arith::SelectOp>(op);
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || !isInteger(compare.getLhs()))
    return IntegerValueRange::join(lookup(select.getTrueValue()),
                                   lookup(select.getFalseValue()));
  ConstantIntRanges left = of(compare.getLhs()), right = of(compare.getRhs());
  auto chosen = [&](arith::CmpIPredicate predicate, Value value) {
    auto range = restrict(left, predicate, right);
    return range ? under({compare.getLhs(), *range}, value, kDepth)
                 : IntegerValueRange();
  };
  return IntegerValueRange::join(
      chosen(compare.getPredicate(), select.getTrueValue()),
      chosen(arith::invertPredicate(compare.getPredicate()),
             select.getFalseValue()));
}

LogicalResult verifyIndices(func::FuncOp kernel) {
  IndexRanges ranges(kernel);
  auto result = kernel.walk([&](tensor::ExtractOp extract) -> WalkResult {
    auto type = extract.getTensor().getType();
    for (auto [i, index] : llvm::enumerate(extract.getIndices())) {
      if (ranges.isWithin(index, type.getDimSize(i)))
        continue;
      ConstantIntRanges range = ranges.of(index);
      return extract.emitOpError()
             << "reads " << type << " at an index in dimension " << i
             << " that may be anything from " << range.smin().getSExtValue()
             << " to " << range.smax().getSExtValue() << "; limit it to [0, "
             << type.getDimSize(i) << "), as by arith.maxsi and arith.minsi";
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace tinh::codegen
