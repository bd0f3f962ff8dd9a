//===- AttentionEmitSoftmax.cpp - Softmax with keys by tiles ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the largest score so far, m, exponentials exp(s - m) are added up as
// they come. When a larger one comes, m', what was added up before is
// multiplied with exp(m - m'). As long as a row has seen nothing but minus
// infinity, 0 stands for m, so that all exponentials are 0. If that is all it
// ever sees, its results are no numbers, as those of exp(-∞ + ∞) are.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/AttentionEmit.h"
#include "compiler/Codegen/CUDA/Exchange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tinh::cuda {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Where blocks and results are
//===----------------------------------------------------------------------===//

AttentionBlock::AttentionBlock(EmittedKernel &kernel, const Attention &a,
                               const AttentionCode &code, OpBuilder &b)
    : kernel(kernel), a(a), code(code), b(b), loc(kernel.source.getLoc()),
      scalar(b, loc, 1) {
  Value rest = kernel.block;
  firstQuery = scalar.mul(scalar.takeDigit(rest, code.rowTiles), code.rows);
  batch.assign(a.extents.size(), {scalar.index(0), 0, 1 << 20});
  a.scores.setDigits(scalar, a.scores.batch, rest, 1, batch);
  keysEnd = findKeysEnd();
}

/// What the last query sees. With queries of several heads that may be any.
Value AttentionBlock::findKeysEnd() {
  if (!a.ahead)
    return scalar.index(a.keys());
  int64_t queries = a.extents[a.scores.left.loops.back()];
  Value rest = firstQuery;
  Value last =
      scalar.add(scalar.takeDigit(rest, queries), scalar.index(code.rows - 1));
  last = b.createOrFold<arith::MinUIOp>(loc, last, scalar.index(queries - 1));
  Value end = scalar.add(last, scalar.index(*a.ahead + 1));
  end = b.createOrFold<arith::MaxSIOp>(loc, end, scalar.index(0));
  return b.createOrFold<arith::MinSIOp>(loc, end, scalar.index(a.keys()));
}

Indices AttentionBlock::loopsAt(Pull &pull, Value query) const {
  Indices loops = batch;
  a.scores.setDigits(pull, a.scores.left.loops, query, 1, loops);
  return loops;
}

FailureOr<Indices> indicesInResult(const AttentionBlock &block, Pull &pull,
                                   Value query, Value column) {
  const Attention &a = block.a;
  Indices loops = block.loopsAt(pull, query), ofValues(a.values.extents.size());
  const Loops &columns = a.values.right.loops;
  a.values.setDigits(pull, columns, column, pull.laneCount(), ofValues);
  for (auto [loop, own] : llvm::zip_equal(a.columns, columns))
    loops[loop] = ofValues[own];
  Indices indices = a.indicesAt(pull, a.resultAt, loops);
  // Vectors are stored along the last dimension.
  if (pull.laneCount() > 1 && indices.back().stride != 1)
    return failure();
  return indices;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// What scores of a row, from this key on, have become when their largest one
/// is taken.
FailureOr<Value> OnlineSoftmax::maskVector(Value scores, Value row,
                                           Value column, int64_t lanes) {
  const Attention &a = block.a;
  int64_t keys = a.keys();
  bool isWhole = keys % block.code.keys == 0;
  Pull pull = block.kernel.makePull(b, lanes);
  Value at = column;
  if (!isWhole)
    at = b.createOrFold<arith::MinUIOp>(loc, at, pull.index(keys - lanes));
  if (lanes == 1)
    scores = vector::ExtractOp::create(b, loc, scores, 0);
  pull.registers[a.scores.result] = pull.inRegisters(scores);
  Indices loops = block.loopsAt(pull, row);
  a.scores.setDigits(pull, a.scores.right.loops, at, lanes, loops);
  auto masked = pull.at(a.masked, a.indicesAt(pull, a.maskedAt, loops));
  if (failed(masked))
    return failure();
  Value vector = masked->value;
  auto type = VectorType::get({lanes}, b.getF32Type());
  if (vector.getType() != type)
    vector = vector::BroadcastOp::create(b, loc, type, vector);
  if (isWhole)
    return vector;
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       column, pull.index(keys));
  Value none = vector::BroadcastOp::create(b, loc, type, constant(-kInfinity));
  return Value(arith::SelectOp::create(b, loc, exists, vector, none));
}

/// The same of a vector; of its elements one by one if the plan says so.
FailureOr<Value> OnlineSoftmax::maskVector(Value scores, Value row,
                                           Value column) {
  auto type = cast<VectorType>(scores.getType());
  int64_t lanes = type.getNumElements();
  if (block.code.masks == lanes)
    return maskVector(scores, row, column, lanes);
  Values elements;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value element = vector::ExtractOp::create(b, loc, scores, lane);
    Value one = vector::BroadcastOp::create(
        b, loc, VectorType::get({1}, type.getElementType()), element);
    Value at = block.scalar.add(column, block.scalar.index(lane));
    auto masked = maskVector(one, row, at, 1);
    if (failed(masked))
      return failure();
    elements.push_back(vector::ExtractOp::create(b, loc, *masked, 0));
  }
  return Value(vector::FromElementsOp::create(b, loc, type, elements));
}

LogicalResult OnlineSoftmax::mask(ScoresOfThread &scores) {
  int64_t queries = block.a.queries();
  for (auto [row, vectors] : llvm::zip_equal(scores.rows, scores.vectors)) {
    Value query = row;
    if (queries % block.code.rows != 0)
      query = b.createOrFold<arith::MinUIOp>(loc, query,
                                             block.scalar.index(queries - 1));
    for (auto [vector, column] : llvm::zip_equal(vectors, scores.columns)) {
      auto masked = maskVector(vector, query, column);
      if (failed(masked))
        return failure();
      vector = *masked;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

Value OnlineSoftmax::constant(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

/// As the hardware has it: nearly all of the sum are exponentials of small
/// numbers, where it is as exact as f32 is.
Value OnlineSoftmax::exponential(Value x) {
  return math::ExpOp::create(b, loc, x, arith::FastMathFlags::afn);
}

Values OnlineSoftmax::start() {
  Values state(rows, constant(-kInfinity));
  state.append(rows, constant(0));
  return state;
}

Value OnlineSoftmax::acrossThreads(Value value,
                                   function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = 1; distance < sharers; distance *= 2)
    value =
        combine(value, shuffle(b, loc, value, distance, gpu::ShuffleMode::XOR));
  return value;
}

/// A row's part of `add`.
Value OnlineSoftmax::addRow(Values &vectors, Value &largest, Value &sum) {
  auto maximum = [&](Value x, Value y) -> Value {
    return arith::MaximumFOp::create(b, loc, x, y);
  };
  Value most = vectors[0];
  for (Value vector : ArrayRef(vectors).drop_front())
    most = maximum(most, vector);
  most = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXIMUMF,
                                     most);
  Value before = largest;
  largest = maximum(before, acrossThreads(most, maximum));
  Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                       largest, constant(-kInfinity));
  Value origin = arith::SelectOp::create(b, loc, isNone, constant(0), largest);
  Value factor = exponential(arith::SubFOp::create(b, loc, before, origin));
  Value all = vector::BroadcastOp::create(b, loc, vectors[0].getType(), origin);
  Value added;
  for (Value &vector : vectors) {
    vector = exponential(arith::SubFOp::create(b, loc, vector, all));
    added = added ? arith::AddFOp::create(b, loc, added, vector) : vector;
  }
  Value total = vector::ReductionOp::create(
      b, loc, vector::CombiningKind::ADD, added, arith::FastMathFlags::reassoc);
  sum = arith::AddFOp::create(
      b, loc, arith::MulFOp::create(b, loc, sum, factor), total);
  return factor;
}

FailureOr<Values> OnlineSoftmax::add(ScoresOfThread &scores, Values &state) {
  if (failed(mask(scores)))
    return failure();
  Values factors;
  for (auto [row, vectors] : llvm::enumerate(scores.vectors))
    factors.push_back(addRow(vectors, state[row], state[rows + row]));
  return factors;
}

Values OnlineSoftmax::finish(ArrayRef<Value> state) {
  Values factors;
  for (Value own : state.drop_front(rows)) {
    Value sum = acrossThreads(own, [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, loc, x, y);
    });
    // 0 / 0 where there was no score.
    factors.push_back(arith::DivFOp::create(b, loc, constant(1), sum));
  }
  return factors;
}

} // namespace tinh::cuda
