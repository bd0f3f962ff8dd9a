//===- TransposeEmit.cpp - Tiles that are turned ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block turns one tile in shared memory: its threads read rows of what comes
// before the permutation, and write columns of what follows it, each as a whole
// line. Elements of less than four bytes are read and written as vectors of
// four bytes. Rows of a tile lie four bytes further than they are long, so that
// neither side meets in one bank, or two threads at most.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Transpose/Transpose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cuda {

namespace {

class TransposeEmitter {
public:
  TransposeEmitter(EmittedKernel &kernel, const Transpose &t,
                   TransposePlanAttr plan, OpBuilder &b)
      : kernel(kernel), t(t), shape{plan.getLanes()}, lines(plan.getWarps()),
        b(b), loc(kernel.source.getLoc()), scalar(b, loc, 1) {}
  LogicalResult emit();

private:
  /// `body` for each of the tile's lines that the thread has a part of: where
  /// that is in the tile, and in the permutation's result.
  LogicalResult forLines(
      unsigned line, unsigned along,
      function_ref<LogicalResult(Value line, Value along, const Indices &at)>
          body);
  LogicalResult load(const Buffer &tile);
  LogicalResult store(const Buffer &tile);
  LaneValue loadColumn(const Buffer &tile, Value row, Value column);
  LaneIndex vectorAt(Value base) const {
    return {base, shape.lanes > 1 ? 1 : 0, shape.lanes};
  }

  EmittedKernel &kernel;
  const Transpose &t;
  TransposeTile shape;
  int64_t lines; // That the block has at a time.
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Indices first; // Where the tile begins in the result.
  Value lane, line;
};

} // namespace

LogicalResult TransposeEmitter::forLines(
    unsigned lineDim, unsigned alongDim,
    function_ref<LogicalResult(Value, Value, const Indices &)> body) {
  Value along = scalar.mul(lane, shape.lanes);
  for (int64_t i = 0; i < shape.side; i += lines) {
    Value number = scalar.add(line, scalar.index(i));
    Indices at = first;
    at[lineDim].base = scalar.add(at[lineDim].base, number);
    at[alongDim] = vectorAt(scalar.add(at[alongDim].base, along));
    Value inside;
    for (unsigned dim : {lineDim, alongDim})
      if (t.shape[dim] % shape.side != 0)
        inside =
            scalar.both(inside, scalar.isBelow(at[dim].base, t.shape[dim]));
    if (failed(
            buildIf(b, loc, inside, [&] { return body(number, along, at); })))
      return failure();
  }
  return success();
}

/// Reads lines along the dimension that is the last one before the permutation.
LogicalResult TransposeEmitter::load(const Buffer &tile) {
  return forLines(
      t.row(), t.column,
      [&](Value row, Value column, const Indices &at) -> LogicalResult {
        Pull pull = kernel.makePull(b, shape.lanes);
        linalg::GenericOp op = t.op;
        auto value = pull.at(op.getDpsInputs()[0], t.sourceIndices(at));
        if (failed(value))
          return failure();
        return pull.store(*value, tile, {{row, 0, 1}, vectorAt(column)});
      });
}

/// Elements of a column of the tile from `row` on.
LaneValue TransposeEmitter::loadColumn(const Buffer &tile, Value row,
                                       Value column) {
  Type element = t.element();
  if (shape.lanes == 1)
    return scalar.load(tile, element, {{row, 0, 1}, {column, 0, 1}});
  SmallVector<Value> elements;
  for (int64_t i = 0; i < shape.lanes; ++i) {
    Value next = scalar.add(row, scalar.index(i));
    elements.push_back(
        scalar.load(tile, element, {{next, 0, 1}, {column, 0, 1}}).value);
  }
  auto type = VectorType::get({shape.lanes}, element);
  Value all = vector::FromElementsOp::create(b, loc, type, elements);
  return {all, false, {}};
}

/// Writes lines along the last dimension of the results.
LogicalResult TransposeEmitter::store(const Buffer &tile) {
  return forLines(
      t.column, t.row(),
      [&](Value column, Value row, const Indices &at) -> LogicalResult {
        Pull after = kernel.makePull(b, shape.lanes);
        after.registers[t.result()] = loadColumn(tile, row, column);
        return kernel.storeResults(after, at);
      });
}

LogicalResult TransposeEmitter::emit() {
  lane = kernel.thread;
  line = kernel.thread;
  lane = scalar.takeDigit(line, kWarp);
  Value rest = kernel.block;
  first.assign(t.shape.size(), LaneIndex{scalar.index(0), 0, 1});
  for (unsigned dim : {t.column, t.row()})
    first[dim].base = scalar.mul(
        scalar.takeDigit(rest, llvm::divideCeil(t.shape[dim], shape.side)),
        shape.side);
  for (unsigned dim = t.shape.size(); dim-- > 0;)
    if (dim != t.column && dim != t.row())
      first[dim].base = scalar.takeDigit(rest, t.shape[dim]);
  Buffer tile =
      kernel.sharedBuffer(b, 0, {shape.side, shape.pitch()}, t.element());
  if (failed(load(tile)))
    return failure();
  kernel.barrier(b);
  return store(tile);
}

LogicalResult TransposeStrategy::emit(EmittedKernel &kernel, const Transpose &t,
                                      TransposePlanAttr plan, const Target &) {
  OpBuilder b = kernel.builder();
  return TransposeEmitter(kernel, t, plan, b).emit();
}

} // namespace tinh::cuda
