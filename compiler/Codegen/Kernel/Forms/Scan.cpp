//===- Scan.cpp - Running sums and products among reductions ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Forms/Scan.h"

#include "compiler/Codegen/Kernel/Analysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::codegen {

/// The axis of a sum over the last loop, which reads along the axis what is
/// written along a loop of its own.
static std::optional<int64_t> scannedAxis(linalg::GenericOp op) {
  int64_t rank = static_cast<int64_t>(op.getNumLoops()) - 1;
  if (rank < 1 || op.getNumReductionLoops() != 1 || op.getNumDpsInputs() != 1 ||
      op.getNumResults() != 1)
    return std::nullopt;
  AffineMap from = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  AffineMap to = outputMap(op);
  if (from.getNumResults() != rank || to.getNumResults() != rank)
    return std::nullopt;
  std::optional<int64_t> axis;
  for (int64_t i = 0; i < rank; ++i) {
    auto read = dyn_cast<AffineDimExpr>(from.getResult(i));
    auto written = dyn_cast<AffineDimExpr>(to.getResult(i));
    if (!read || !written || written.getPosition() != i)
      return std::nullopt;
    if (read.getPosition() == i)
      continue;
    if (axis || read.getPosition() != rank)
      return std::nullopt;
    axis = i;
  }
  return axis;
}

/// The loop that `value` is the index of, or -1.
static int64_t loopOf(Value value) {
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index ? static_cast<int64_t>(index.getDim()) : -1;
}

static bool isNeutral(Value value, bool multiplies) {
  if (multiplies)
    return matchPattern(value, m_One()) || matchPattern(value, m_OneFloat());
  return matchPattern(value, m_Zero()) || matchPattern(value, m_PosZeroFloat());
}

std::optional<Scan> matchScan(linalg::GenericOp op) {
  auto axis = scannedAxis(op);
  if (!axis)
    return std::nullopt;
  // sum + (j ≤ i ? x : 0), or product · (j ≤ i ? x : 1)
  Block *body = op.getBody();
  Operation *sum = body->getTerminator()->getOperand(0).getDefiningOp();
  bool multiplies = isa_and_nonnull<arith::MulFOp, arith::MulIOp>(sum);
  if (!(multiplies || isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum)) ||
      sum->getOperand(0) != body->getArgument(1))
    return std::nullopt;
  auto element = sum->getOperand(1).getDefiningOp<arith::SelectOp>();
  if (!element || element.getTrueValue() != body->getArgument(0) ||
      !isNeutral(element.getFalseValue(), multiplies))
    return std::nullopt;
  auto counts = element.getCondition().getDefiningOp<arith::CmpIOp>();
  using Predicate = arith::CmpIPredicate;
  if (!counts || (counts.getPredicate() != Predicate::sle &&
                  counts.getPredicate() != Predicate::slt))
    return std::nullopt;
  int64_t low = loopOf(counts.getLhs()), high = loopOf(counts.getRhs());
  int64_t inner = static_cast<int64_t>(op.getNumLoops()) - 1;
  bool reverse = low == *axis;
  if (reverse ? high != inner : low != inner || high != *axis)
    return std::nullopt;
  return Scan{op.getDpsInputs()[0],
              op.getDpsInits()[0],
              *axis,
              op.getStaticLoopRanges()[inner],
              multiplies,
              reverse,
              counts.getPredicate() == Predicate::slt};
}

Value Scan::combine(OpBuilder &b, Location loc, Value x, Value y) const {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x));
  if (multiplies)
    return isFloat ? Value(arith::MulFOp::create(b, loc, x, y))
                   : arith::MulIOp::create(b, loc, x, y);
  return isFloat ? Value(arith::AddFOp::create(b, loc, x, y))
                 : arith::AddIOp::create(b, loc, x, y);
}

Value Scan::neutral(OpBuilder &b, Location loc, Type type) const {
  TypedAttr value =
      multiplies ? b.getOneAttr(type) : TypedAttr(b.getZeroAttr(type));
  return arith::ConstantOp::create(b, loc, value);
}

LogicalResult
emitScan(Pull &pull, const Scan &scan, Indices at, Value start,
         function_ref<LogicalResult(Value sum, const Indices &at)> store) {
  OpBuilder &b = pull.builder();
  Location loc = pull.location();
  auto step = [&](Value iv, ValueRange state) -> FailureOr<SmallVector<Value>> {
    Value i = iv;
    if (scan.reverse)
      i = pull.sub(pull.index(scan.extent - 1), iv);
    at[scan.axis] = {i, 0, 1};
    auto element = pull.at(scan.input, at);
    if (failed(element))
      return failure();
    Value sum = scan.combine(b, loc, state[0], pull.asVector(*element));
    if (failed(store(scan.exclusive ? state[0] : sum, at)))
      return failure();
    return SmallVector<Value>{sum};
  };
  return buildLoop(b, loc, scan.extent, 1, start, step);
}

} // namespace tinh::codegen
