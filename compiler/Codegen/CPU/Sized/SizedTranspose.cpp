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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class SizedTransposeEmitter {
public:
  SizedTransposeEmitter(SizedKernel &kernel, const Target &target, OpBuilder &b)
      : kernel(kernel), b(b), loc(kernel.source.getLoc()), scalar(b, loc, 1) {
    element =
        memoryType(getElementTypeOrSelf(kernel.source.getResultTypes()[0]));
    side = squareSide(element, target);
    columns = kernel.size(b, 0);
    fromRow = kernel.size(b, 1);
    fromColumn = kernel.size(b, 2);
    toRow = kernel.size(b, 3);
    toColumn = kernel.size(b, 4);
  }

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
    return scalar.add(arith::MulIOp::create(b, loc, row, rowStride),
                      arith::MulIOp::create(b, loc, column, columnStride));
  }
  /// The largest multiple of `side` in `count`.
  Value wholeOf(Value count) {
    return arith::AndIOp::create(b, loc, count, scalar.index(-side));
  }
  void copy(Value row, Value rowEnd, Value column, Value columnEnd);
  void emitSquare(Value row, Value column);

  SizedKernel &kernel;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Type element;
  int64_t side;
  Value columns, fromRow, fromColumn, toRow, toColumn;
};

} // namespace

/// Copies a rectangle, element by element.
void SizedTransposeEmitter::copy(Value row, Value rowEnd, Value column,
                                 Value columnEnd) {
  loop(row, rowEnd, 1, [&](Value row) {
    loop(column, columnEnd, 1, [&](Value column) {
      Value value = memref::LoadOp::create(
          b, loc, kernel.operand(0), at(row, fromRow, column, fromColumn));
      memref::StoreOp::create(b, loc, value, kernel.operand(1),
                              at(row, toRow, column, toColumn));
    });
  });
}

void SizedTransposeEmitter::emitSquare(Value row, Value column) {
  auto type = VectorType::get({side}, element);
  SmallVector<Value> square;
  for (int64_t i = 0; i < side; ++i) {
    Value here = scalar.add(column, scalar.index(i));
    Value from =
        scalar.add(row, arith::MulIOp::create(b, loc, here, fromColumn));
    square.push_back(
        vector::LoadOp::create(b, loc, type, kernel.operand(0), from));
  }
  turnSquare(b, loc, square);
  for (int64_t i = 0; i < side; ++i) {
    Value here = scalar.add(row, scalar.index(i));
    Value to = scalar.add(arith::MulIOp::create(b, loc, here, toRow), column);
    vector::StoreOp::create(b, loc, square[i], kernel.operand(1), to);
  }
}

void SizedTransposeEmitter::emit() {
  auto isOne = [&](Value stride) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stride,
                                 scalar.index(1));
  };
  Value turns = arith::AndIOp::create(b, loc, isOne(fromRow), isOne(toColumn));
  Value begin = kernel.begin, end = kernel.end, zero = scalar.index(0);
  Value rows = arith::SubIOp::create(b, loc, end, begin);
  Value wholeRows = arith::SelectOp::create(b, loc, turns, wholeOf(rows), zero);
  Value rowEnd = scalar.add(begin, wholeRows), columnEnd = wholeOf(columns);
  loop(begin, rowEnd, side, [&](Value row) {
    loop(zero, columnEnd, side, [&](Value column) { emitSquare(row, column); });
  });
  copy(begin, rowEnd, columnEnd, columns);
  copy(rowEnd, end, zero, columns);
}

LogicalResult emitSizedTranspose(SizedKernel &kernel, const Target &target) {
  Block &body = kernel.source.getBody().front();
  if (body.getNumArguments() != 1 || &body.front() != body.getTerminator() ||
      body.getTerminator()->getNumOperands() != 1)
    return kernel.source.emitError("expected a copy of the one operand");
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  SizedTransposeEmitter(kernel, target, b).emit();
  return success();
}

} // namespace tinh::cpu
