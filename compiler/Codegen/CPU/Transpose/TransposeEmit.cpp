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

VectorType Squares::turned() const {
  if (together == 1)
    return type;
  return VectorType::get(
      {type.getNumElements() / together},
      IntegerType::get(type.getContext(),
                       together * type.getElementTypeBitWidth()));
}

/// The first `count` elements of a row, as the result has them.
Value Squares::load(OpBuilder &b, Location loc, Value at, int64_t count) const {
  VectorType from = VectorType::get(type.getShape(), element);
  Value value;
  if (Value mask = firstLanes(b, loc, count * together, type.getNumElements()))
    value = vector::MaskedLoadOp::create(
        b, loc, from, source, at, mask,
        arith::ConstantOp::create(b, loc, from, b.getZeroAttr(from)));
  else
    value = vector::LoadOp::create(b, loc, from, source, at);
  if (element != type.getElementType())
    value = element.getIntOrFloatBitWidth() > type.getElementTypeBitWidth()
                ? arith::TruncFOp::create(b, loc, type, value).getResult()
                : arith::ExtFOp::create(b, loc, type, value).getResult();
  return together == 1
             ? value
             : vector::BitCastOp::create(b, loc, turned(), value).getResult();
}

/// The first `count` elements of a column.
void Squares::store(OpBuilder &b, Location loc, Value value, Value at,
                    int64_t count) const {
  if (together > 1)
    value = vector::BitCastOp::create(b, loc, type, value);
  if (Value mask = firstLanes(b, loc, count * together, type.getNumElements()))
    vector::MaskedStoreOp::create(b, loc, result, at, mask, value);
  else
    vector::StoreOp::create(b, loc, value, result, at);
}

void emitSquare(OpBuilder &b, Location loc, const Squares &s, Value from,
                Value to, int64_t rows, int64_t columns) {
  Pull scalar(b, loc, 1);
  VectorType type = s.turned();
  Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
  SmallVector<Value> square(type.getNumElements(), zero);
  for (int64_t i = 0; i < rows; ++i)
    square[i] =
        s.load(b, loc, scalar.add(from, times(scalar, s.fromStep, i)), columns);
  turnSquare(b, loc, square);
  for (int64_t i = 0; i < columns; ++i)
    s.store(b, loc, square[i], scalar.add(to, times(scalar, s.toStep, i)),
            rows);
}

/// x[0], y[0], x[1], y[1] …
static Value interleave(OpBuilder &b, Location loc, Value x, Value y) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < lanes; ++i)
    order.append({i, lanes + i});
  return vector::ShuffleOp::create(b, loc, x, y, order);
}

void emitInterleaved(OpBuilder &b, Location loc, const Squares &s, Value from,
                     Value to, int64_t rows, int64_t columns) {
  Pull scalar(b, loc, 1);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < rows; ++i)
    parts.push_back(s.load(
        b, loc, scalar.add(from, times(scalar, s.fromStep, i)), columns));
  for (; parts.size() > 1; parts.resize(parts.size() / 2))
    for (size_t i = 0, half = parts.size() / 2; i < half; ++i)
      parts[i] = interleave(b, loc, parts[i], parts[half + i]);
  Squares all = s;
  all.type = cast<VectorType>(parts[0].getType());
  all.store(b, loc, parts[0], to, rows * columns);
}

namespace {

class TransposeEmitter {
public:
  TransposeEmitter(EmittedKernel &kernel, const Transpose &t,
                   const TransposePlan &plan, OpBuilder &b)
      : t(t), plan(plan), b(b), loc(kernel.source.getLoc()), scalar(b, loc, 1),
        squares{kernel.function.getArgument(0),
                kernel.function.getArgument(1),
                b.getIndexAttr(t.rows.from),
                b.getIndexAttr(t.columns.to),
                VectorType::get({plan.side * t.together}, t.element),
                t.source,
                t.together} {}

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
  if (t.interleaves())
    return emitInterleaved(b, loc, squares, from, to, t.rows.extent, columns);
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
  from = scalar.add(from, scalar.mul(column, t.columns.from));
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
