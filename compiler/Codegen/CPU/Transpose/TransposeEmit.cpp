//===- TransposeEmit.cpp - Moving the last dimension ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Squares of as many rows as a register has lanes: loaded as rows, turned in
// registers, stored as columns, so that each cache line of operand and result
// is touched once and as a whole.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Transpose/Transpose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

/// Exchanges rows and columns of `square`: in step d, element j of row i and
/// element j ^ d of row i ^ d change places where bit d of i and j differ.
static void turnSquare(OpBuilder &b, Location loc,
                       MutableArrayRef<Value> square) {
  int64_t side = square.size();
  for (int64_t d = 1; d < side; d *= 2)
    for (int64_t i = 0; i < side; ++i) {
      if (i & d)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t j = 0; j < side; ++j) {
        low.push_back(j & d ? side + j - d : j);
        high.push_back(j & d ? side + j : j + d);
      }
      Value x = square[i], y = square[i + d];
      square[i] = vector::ShuffleOp::create(b, loc, x, y, low);
      square[i + d] = vector::ShuffleOp::create(b, loc, x, y, high);
    }
}

static Value times(Pull &scalar, OpFoldResult step, int64_t count) {
  if (auto known = getConstantIntValue(step))
    return scalar.index(*known * count);
  return scalar.mul(cast<Value>(step), count);
}

void emitSquare(OpBuilder &b, Location loc, const Squares &s, Value from,
                Value to, int64_t rows, int64_t columns) {
  Pull scalar(b, loc, 1);
  int64_t side = s.type.getNumElements();
  Value zero = arith::ConstantOp::create(b, loc, s.type, b.getZeroAttr(s.type));
  SmallVector<Value> square(side, zero);
  Value loaded = firstLanes(b, loc, columns, side),
        stored = firstLanes(b, loc, rows, side);
  for (int64_t i = 0; i < rows; ++i) {
    Value at = scalar.add(from, times(scalar, s.fromStep, i));
    square[i] =
        loaded
            ? vector::MaskedLoadOp::create(b, loc, s.type, s.source, at, loaded,
                                           zero)
                  .getResult()
            : vector::LoadOp::create(b, loc, s.type, s.source, at).getResult();
  }
  turnSquare(b, loc, square);
  for (int64_t i = 0; i < columns; ++i) {
    Value at = scalar.add(to, times(scalar, s.toStep, i));
    if (stored)
      vector::MaskedStoreOp::create(b, loc, s.result, at, stored, square[i]);
    else
      vector::StoreOp::create(b, loc, square[i], s.result, at);
  }
}

namespace {

class TransposeEmitter {
public:
  TransposeEmitter(EmittedKernel &kernel, const Transpose &t,
                   const TransposePlan &plan, OpBuilder &b)
      : t(t), plan(plan), b(b), loc(kernel.source.getLoc()), scalar(b, loc, 1),
        squares{kernel.function.getArgument(0), kernel.function.getArgument(1),
                b.getIndexAttr(t.rows.from), b.getIndexAttr(t.columns.to),
                VectorType::get({plan.side}, t.element)} {}

  void emitUnit(Value unit);

private:
  void emitColumns(Value from, Value to, Value row, Value rowEnd,
                   int64_t columns);
  void emitSquare(Value from, Value to, int64_t rows, int64_t columns) {
    cpu::emitSquare(b, loc, squares, from, to, rows, columns);
  }

  const Transpose &t;
  const TransposePlan &plan;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Squares squares;
};

} // namespace

/// The squares that hold rows [row, rowEnd) of a block of columns.
void TransposeEmitter::emitColumns(Value from, Value to, Value row,
                                   Value rowEnd, int64_t columns) {
  int64_t tail = t.rows.extent % plan.side;
  Value whole = scalar.index(t.rows.extent - tail);
  auto emitRows = [&](Value first, int64_t count) {
    emitSquare(scalar.add(from, scalar.mul(first, t.rows.from)),
               scalar.add(to, scalar.mul(first, t.rows.to)), count, columns);
    return success();
  };
  (void)buildLoop(b, loc, row, scalar.minimum(rowEnd, whole), plan.side,
                  [&](Value first) { return emitRows(first, plan.side); });
  if (tail == 0)
    return;
  Value isLast = scalar.compare(arith::CmpIPredicate::ugt, rowEnd, whole);
  (void)buildIf(b, loc, isLast, [&] { return emitRows(whole, tail); });
}

void TransposeEmitter::emitUnit(Value unit) {
  Value block = scalar.takeDigit(unit, plan.columnBlocks);
  Value row =
      scalar.mul(scalar.takeDigit(unit, plan.rowBlocks), plan.rowsPerBlock);
  Value from = scalar.index(0), to = scalar.index(0);
  for (const TransposedDimension &dim : llvm::reverse(t.outer)) {
    Value index = scalar.takeDigit(unit, dim.extent);
    from = scalar.add(from, scalar.mul(index, dim.from));
    to = scalar.add(to, scalar.mul(index, dim.to));
  }
  Value column = scalar.mul(block, plan.side);
  from = scalar.add(from, column);
  to = scalar.add(to, scalar.mul(column, t.columns.to));
  Value rowEnd = scalar.minimum(
      scalar.add(row, scalar.index(plan.rowsPerBlock)), t.rows.extent);
  int64_t tail = t.columns.extent % plan.side;
  if (tail == 0)
    return emitColumns(from, to, row, rowEnd, plan.side);
  if (plan.columnBlocks == 1)
    return emitColumns(from, to, row, rowEnd, tail);
  Value last = scalar.isEqual(block, plan.columnBlocks - 1);
  auto branch = scf::IfOp::create(b, loc, TypeRange(), last, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitColumns(from, to, row, rowEnd, tail);
  b.setInsertionPointToStart(branch.elseBlock());
  emitColumns(from, to, row, rowEnd, plan.side);
}

LogicalResult TransposeStrategy::emit(EmittedKernel &kernel, const Transpose &t,
                                      const TransposePlan &plan,
                                      const Target &) {
  OpBuilder b = kernel.builder();
  Value unit = kernel.loopOverUnits(b, plan.units, plan.unitsPerChunk);
  TransposeEmitter(kernel, t, plan, b).emitUnit(unit);
  return success();
}

} // namespace tinh::cpu
