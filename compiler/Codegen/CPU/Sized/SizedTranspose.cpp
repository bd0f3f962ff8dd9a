//===- SizedTranspose.cpp - Copying rows that lie as columns ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Squares as wide as a register are loaded along the operand's columns, turned
// in registers and stored along the result's rows. Where strides or sizes do
// not allow that, elements are copied one by one.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Sized/Sized.h"
#include "compiler/Codegen/CPU/Transpose/Transpose.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class SizedTransposeEmitter {
public:
  SizedTransposeEmitter(SizedKernel &kernel, Type element, int64_t side,
                        OpBuilder &b)
      : kernel(kernel), b(b), loc(kernel.source.getLoc()), scalar(b, loc, 1),
        side(side), columns(kernel.size(b, 0)), fromRow(kernel.size(b, 1)),
        fromColumn(kernel.size(b, 2)), toRow(kernel.size(b, 3)),
        toColumn(kernel.size(b, 4)),
        squares{kernel.memory(0),
                kernel.memory(1),
                fromColumn,
                toRow,
                VectorType::get({side}, memoryType(element)),
                memoryType(element)} {}

  void emit();

private:
  void loop(Value from, Value to, int64_t step,
            function_ref<void(Value)> body) {
    auto op = scf::ForOp::create(b, loc, from, to, scalar.index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }
  Value at(Value row, Value rowStride, Value column, Value columnStride) {
    return scalar.add(scalar.mul(row, rowStride),
                      scalar.mul(column, columnStride));
  }
  void copy(Value row, Value rowEnd, Value column, Value columnEnd);
  SizedKernel &kernel;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  int64_t side;
  Value columns, fromRow, fromColumn, toRow, toColumn;
  Squares squares;
};

} // namespace

/// Copies a rectangle, element by element.
void SizedTransposeEmitter::copy(Value row, Value rowEnd, Value column,
                                 Value columnEnd) {
  loop(row, rowEnd, 1, [&](Value row) {
    loop(column, columnEnd, 1, [&](Value column) {
      Value value = memref::LoadOp::create(
          b, loc, kernel.memory(0), at(row, fromRow, column, fromColumn));
      memref::StoreOp::create(b, loc, value, kernel.memory(1),
                              at(row, toRow, column, toColumn));
    });
  });
}

void SizedTransposeEmitter::emit() {
  Value turns =
      scalar.both(scalar.isEqual(fromRow, 1), scalar.isEqual(toColumn, 1));
  Value begin = kernel.begin, end = kernel.end, zero = scalar.index(0);
  Value rows = scalar.roundDown(scalar.sub(end, begin), side);
  Value rowEnd = scalar.add(begin, scalar.select(turns, rows, zero));
  Value columnEnd = scalar.roundDown(columns, side);
  loop(begin, rowEnd, side, [&](Value row) {
    loop(zero, columnEnd, side, [&](Value column) {
      Value from = at(row, scalar.index(1), column, fromColumn);
      Value to = at(row, toRow, column, scalar.index(1));
      emitSquare(b, loc, squares, from, to, side, side);
    });
  });
  copy(begin, rowEnd, columnEnd, columns);
  copy(rowEnd, end, zero, columns);
}

Match<Type> SizedTransposeStrategy::match(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  if (!hasAnySize(kernel, /*rank=*/1) || body.getNumArguments() != 1 ||
      &body.front() != body.getTerminator() ||
      body.getTerminator()->getNumOperands() != 1)
    return NoMatch{"is no copy of rows of any size"};
  return getElementTypeOrSelf(kernel.getResultTypes()[0]);
}

LogicalResult SizedTransposeStrategy::emit(SizedKernel &kernel, Type element,
                                           Plan plan, const Target &) {
  OpBuilder b = kernel.builder();
  SizedTransposeEmitter(kernel, element, plan.getSide(), b).emit();
  return success();
}

} // namespace tinh::cpu
