//===- Loops.cpp - Indices, loops and masks for their ends ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Loops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::codegen {

Value IndexBuilder::index(int64_t value) {
  return b ? arith::ConstantIndexOp::create(*b, loc, value) : Value();
}

Value IndexBuilder::add(Value x, Value y) {
  if (b && isConstantIntValue(x, 0))
    return y;
  if (b && isConstantIntValue(y, 0))
    return x;
  return fold<arith::AddIOp>(x, y);
}

Value IndexBuilder::sub(Value x, Value y) { return fold<arith::SubIOp>(x, y); }

Value IndexBuilder::mul(Value x, int64_t factor) {
  return factor == 1 ? x : fold<arith::MulIOp>(x, index(factor));
}

Value IndexBuilder::mul(Value x, Value y) { return fold<arith::MulIOp>(x, y); }

Value IndexBuilder::minimum(Value x, Value y) {
  return fold<arith::MinUIOp>(x, y);
}

Value IndexBuilder::takeDigit(Value &rest, int64_t count) {
  if (count == 1)
    return index(0);
  Value size = index(count);
  Value digit = fold<arith::RemUIOp>(rest, size);
  rest = fold<arith::DivUIOp>(rest, size);
  return digit;
}

Value IndexBuilder::remainder(Value x, int64_t count) {
  return fold<arith::RemUIOp>(x, index(count));
}

Value IndexBuilder::roundDown(Value x, int64_t unit) {
  return fold<arith::AndIOp>(x, index(-unit));
}

Value IndexBuilder::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return fold<arith::CmpIOp>(predicate, x, y);
}

Value IndexBuilder::both(Value x, Value y) {
  return x && y ? fold<arith::AndIOp>(x, y) : x ? x : y;
}

Value IndexBuilder::negate(Value condition) {
  if (!b)
    return {};
  Value yes = arith::ConstantOp::create(*b, loc, b->getBoolAttr(true));
  return fold<arith::XOrIOp>(condition, yes);
}

Value IndexBuilder::select(Value condition, Value x, Value y) {
  return b ? arith::SelectOp::create(*b, loc, condition, x, y) : Value();
}

FailureOr<SmallVector<Value>>
buildLoop(OpBuilder &b, Location loc, int64_t extent, int64_t step,
          ValueRange initial,
          function_ref<FailureOr<SmallVector<Value>>(Value, ValueRange)> body) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  if (extent <= step)
    return extent > 0
               ? body(zero, initial)
               : FailureOr<SmallVector<Value>>(SmallVector<Value>(initial));
  Value end = arith::ConstantIndexOp::create(b, loc, extent);
  return buildLoop(b, loc, zero, end, step, initial, body);
}

FailureOr<SmallVector<Value>>
buildLoop(OpBuilder &b, Location loc, Value from, Value to, int64_t step,
          ValueRange initial,
          function_ref<FailureOr<SmallVector<Value>>(Value, ValueRange)> body) {
  Value stride = arith::ConstantIndexOp::create(b, loc, step);
  auto loop = scf::ForOp::create(b, loc, from, to, stride, initial);
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (!block->empty())
    block->back().erase();
  b.setInsertionPointToEnd(block);
  auto results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (failed(results)) {
    loop.erase(); // Its caller may go on in another way.
    return failure();
  }
  scf::YieldOp::create(b, loc, *results);
  return SmallVector<Value>(loop.getResults());
}

/// `body` as one of a loop that carries nothing.
static auto withoutValues(function_ref<LogicalResult(Value)> body) {
  return [body](Value iv, ValueRange) -> FailureOr<SmallVector<Value>> {
    if (failed(body(iv)))
      return failure();
    return SmallVector<Value>{};
  };
}

LogicalResult buildLoop(OpBuilder &b, Location loc, int64_t extent,
                        int64_t step, function_ref<LogicalResult(Value)> body) {
  return buildLoop(b, loc, extent, step, {}, withoutValues(body));
}

LogicalResult buildLoop(OpBuilder &b, Location loc, Value from, Value to,
                        int64_t step, function_ref<LogicalResult(Value)> body) {
  return buildLoop(b, loc, from, to, step, {}, withoutValues(body));
}

LogicalResult buildIf(OpBuilder &b, Location loc, Value condition,
                      function_ref<LogicalResult()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return body();
}

Value firstLanes(OpBuilder &b, Location loc, int64_t count, int64_t lanes) {
  if (count == lanes)
    return {};
  return vector::ConstantMaskOp::create(b, loc,
                                        VectorType::get({lanes}, b.getI1Type()),
                                        b.getDenseI64ArrayAttr(count));
}

Value firstLanes(OpBuilder &b, Location loc, Value count, int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getI1Type());
  return vector::CreateMaskOp::create(b, loc, type, count);
}

} // namespace tinh::codegen
