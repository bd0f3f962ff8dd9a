//===- AttentionEmitTensorCores.cpp - Attention on tensor cores -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has 16 queries and all keys of a tile. What a thread has of its scores
// is what it needs of the weights as a factor of the second product: these stay
// in registers. That takes tf32 with keys in another order: of eight, a thread
// has two neighbours of a row as scores, but the fourth after the first one as
// a factor; so the values' rows are read in the order of the scores.
//
// Queries are in shared memory from the beginning on, in registers if they
// leave room there. While scores are multiplied, their tile's values are on
// their way to shared memory; while values are, the next tile's keys.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/AttentionEmit.h"
#include "compiler/Codegen/CUDA/Contraction/ContractionEmitTensorCores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

/// Rows of a warp, which are two of each thread, and columns of a product.
static constexpr int64_t kWarpRows = 16, kThreadRows = 2, kColumns = 8;
/// Products of a step of the depth.
static constexpr int64_t kProducts = kStepBytes / (2 * kChunkBytes);

/// Elements of a step's depth.
static int64_t stepOf(const Attention &a) {
  return kStepBytes / bytesOf(a.scores);
}

/// Those of one query or key in shared memory.
static int64_t paddedDepth(const Attention &a) {
  return llvm::alignTo(a.depth(), stepOf(a));
}

int64_t tensorAttentionShared(const Attention &a, const AttentionCode &code) {
  int64_t elements =
      (code.rows + code.keys) * paddedDepth(a) + code.keys * code.columns;
  return elements * bytesOf(a.scores);
}

bool fitsQueries(const Attention &a) {
  constexpr int64_t kMost = 32;
  return 4 * kProducts * (paddedDepth(a) / stepOf(a)) <= kMost;
}

namespace {

/// What both products have alike: steps of a tile lie one after the other.
class AttentionProduct : public TensorCoreEmitter {
public:
  AttentionProduct(const AttentionBlock &block, const Product &p,
                   const TileCode &code, int64_t warpColumns)
      : TensorCoreEmitter(block.kernel, p, code, block.b, /*stages=*/1,
                          /*ahead=*/0, kWarpRows, warpColumns),
        block(block) {}
  /// Finds what is of this block and thread, in shared memory of all factors.
  void begin(Value shared) {
    findThread();
    findBlock();
    memory = shared;
  }
  bool copiesColumns() { return copyBytes(columns) != 0; }

protected:
  int64_t columnsOffset() const override { return 0; }
  /// Where step `step` of the columns begins, of those that begin at `base`.
  Value stepAt(int64_t base, int64_t step) {
    return scalar.index(base + step * columns.elements * stepDepth);
  }

  const AttentionBlock &block;
};

class TensorScores final : public AttentionProduct {
public:
  TensorScores(const AttentionBlock &block)
      : AttentionProduct(block, block.a.scores, block.code.ofScores(),
                         block.code.keys) {}

  LogicalResult bringQueries();
  LogicalResult bringKeys(Value first);
  bool copiesQueries() { return copyBytes(rows) != 0; }
  void loadQueries();
  ScoresOfThread compute(Value first);

private:
  int64_t keysBase() const { return tile.rows * stepDepth * steps(); }
  Values queries(int64_t step, int64_t product) {
    Value base = scalar.index(step * tile.rows * stepDepth);
    return fragments(rows, base, product);
  }

  SmallVector<Values> kept;
};

class TensorValues final : public AttentionProduct {
public:
  TensorValues(const AttentionBlock &block)
      : AttentionProduct(block, block.a.values, block.code.ofValues(),
                         llvm::alignTo(block.a.width(), kWarpRows)) {}

  LogicalResult bring(Value first);
  using TensorCoreEmitter::startSums;
  void add(const ScoresOfThread &weights, MutableArrayRef<Value> sums);
  using TensorCoreEmitter::emitResults;

private:
  int64_t depthUnit() const override { return block.code.keys; }
  bool takesPairs() const override { return true; }
  int64_t valuesBase() const {
    return (block.code.rows + block.code.keys) * paddedDepth(block.a);
  }
  Value narrow(Value pair);
  Values factor(const ScoresOfThread &weights, int64_t number);
  FailureOr<Indices> resultIndices(Pull &pull, Value row,
                                   Value column) override {
    return indicesInResult(block, pull, row, column);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

LogicalResult TensorScores::bringQueries() {
  for (int64_t step = 0; step < steps(); ++step)
    if (failed(bringTile(rows, scalar.index(step * stepDepth),
                         scalar.index(step * tile.rows * stepDepth))))
      return failure();
  return success();
}

LogicalResult TensorScores::bringKeys(Value first) {
  columns.first = first;
  for (int64_t step = 0; step < steps(); ++step)
    if (failed(bringTile(columns, scalar.index(step * stepDepth),
                         stepAt(keysBase(), step))))
      return failure();
  return success();
}

void TensorScores::loadQueries() {
  for (int64_t step = 0; step < steps(); ++step)
    for (int64_t product = 0; product < kProducts; ++product)
      kept.push_back(queries(step, product));
}

ScoresOfThread TensorScores::compute(Value first) {
  Values sums = startSums();
  for (int64_t step = 0; step < steps(); ++step)
    for (int64_t product = 0; product < kProducts; ++product) {
      Values ofRows = kept.empty() ? queries(step, product)
                                   : kept[step * kProducts + product];
      Values ofColumns = fragments(columns, stepAt(keysBase(), step), product);
      for (auto [j, sum] : llvm::enumerate(sums))
        sum = multiplyWarp(ofRows, ArrayRef(ofColumns).slice(2 * j, 2), sum);
    }
  ScoresOfThread scores;
  Value row = scalar.add(scalar.add(rows.first, warpRow), threadRow);
  for (int64_t half = 0; half < kThreadRows; ++half) {
    scores.rows.push_back(scalar.add(row, scalar.index(rowOfLine(half))));
    Values &vectors = scores.vectors.emplace_back();
    for (Value sum : sums) {
      Values pair{vector::ExtractOp::create(b, loc, sum, 2 * half),
                  vector::ExtractOp::create(b, loc, sum, 2 * half + 1)};
      vectors.push_back(
          vector::FromElementsOp::create(b, loc, vectorType(2), pair));
    }
  }
  Value column = scalar.add(first, scalar.mul(threadPlace, 2));
  for (size_t j = 0; j < sums.size(); ++j)
    scores.columns.push_back(scalar.add(column, scalar.index(j * kColumns)));
  return scores;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult TensorValues::bring(Value first) {
  for (int64_t step = 0; step * stepDepth < depthUnit(); ++step)
    if (failed(bringTile(columns,
                         scalar.add(first, scalar.index(step * stepDepth)),
                         stepAt(valuesBase(), step))))
      return failure();
  return success();
}

/// Two weights as a register of a factor.
Value TensorValues::narrow(Value pair) {
  auto type = VectorType::get({2}, storedType());
  Value rounded = arith::TruncFOp::create(b, loc, type, pair);
  if (storedType().isF16())
    return rounded;
  return LLVM::BitcastOp::create(b, loc, b.getI32Type(), rounded);
}

/// The weights of the keys of the tile's product of this number.
Values TensorValues::factor(const ScoresOfThread &weights, int64_t number) {
  Values registers;
  if (!storedType().isF32()) {
    for (int64_t next = 0; next < 2; ++next)
      for (const Values &vectors : weights.vectors)
        registers.push_back(narrow(vectors[2 * number + next]));
    return registers;
  }
  for (int64_t next = 0; next < 2; ++next)
    for (const Values &vectors : weights.vectors)
      registers.push_back(
          operand(vector::ExtractOp::create(b, loc, vectors[number], next)));
  return registers;
}

void TensorValues::add(const ScoresOfThread &weights,
                       MutableArrayRef<Value> sums) {
  int64_t products = depthUnit() / stepDepth * kProducts;
  for (int64_t number = 0; number < products; ++number) {
    Values ofRows = factor(weights, number);
    Values ofColumns = fragments(
        columns, stepAt(valuesBase(), number / kProducts), number % kProducts);
    for (auto [j, sum] : llvm::enumerate(sums))
      sum = multiplyWarp(ofRows, ArrayRef(ofColumns).slice(2 * j, 2), sum);
  }
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

namespace {

/// The loop over tiles of keys.
class TensorAttention {
public:
  TensorAttention(const AttentionBlock &block)
      : block(block), b(block.b), loc(block.loc), scores(block), values(block),
        softmax(block, /*sharers=*/4, kThreadRows) {}
  LogicalResult emit();

private:
  void commit(bool copies) {
    if (copies)
      NVVM::CpAsyncCommitGroupOp::create(b, loc);
  }
  /// Waits for all that is on its way, and for all threads.
  void wait(bool copies) {
    if (copies)
      NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
    block.kernel.barrier(b);
  }
  LogicalResult begin();
  LogicalResult bringNext(Value first);
  FailureOr<Values> addTile(Value first, ValueRange before);
  void scale(MutableArrayRef<Value> sums, ArrayRef<Value> factors);

  const AttentionBlock &block;
  OpBuilder &b;
  Location loc;
  TensorScores scores;
  TensorValues values;
  OnlineSoftmax softmax;
};

} // namespace

/// The queries and the first tile's keys.
LogicalResult TensorAttention::begin() {
  const Attention &a = block.a;
  int64_t elements = tensorAttentionShared(a, block.code) / bytesOf(a.scores);
  Type stored = getElementTypeOrSelf(a.scores.right.value);
  Value shared = block.kernel.sharedBuffer(b, 0, {elements}, stored).memref;
  scores.begin(shared);
  values.begin(shared);
  if (failed(scores.bringQueries()) ||
      failed(scores.bringKeys(block.scalar.index(0))))
    return failure();
  bool copies = scores.copiesQueries() || scores.copiesColumns();
  commit(copies);
  if (block.code.keepsQueries) {
    wait(copies);
    scores.loadQueries();
  }
  return success();
}

/// The keys of the tile after this one, if there is one.
LogicalResult TensorAttention::bringNext(Value first) {
  Value next = block.scalar.add(first, block.scalar.index(block.code.keys));
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, next,
                                       block.keysEnd);
  auto branch = scf::IfOp::create(b, loc, exists);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(scores.bringKeys(next)))
      return failure();
  }
  commit(scores.copiesColumns());
  return success();
}

/// Of each 16 × 8 sums a thread has two of its first row, then of its second.
void TensorAttention::scale(MutableArrayRef<Value> sums,
                            ArrayRef<Value> factors) {
  auto type = VectorType::get({4}, b.getF32Type());
  Value each = vector::FromElementsOp::create(
      b, loc, type, ValueRange{factors[0], factors[0], factors[1], factors[1]});
  for (Value &sum : sums)
    sum = arith::MulFOp::create(b, loc, sum, each);
}

FailureOr<Values> TensorAttention::addTile(Value first, ValueRange before) {
  // The keys are there, of all threads, and all have multiplied the values of
  // the tile before.
  wait(scores.copiesColumns() || scores.copiesQueries());
  if (failed(values.bring(first)))
    return failure();
  commit(values.copiesColumns());
  ScoresOfThread ofTile = scores.compute(first);
  wait(values.copiesColumns()); // And all have multiplied the keys.
  if (failed(bringNext(first)))
    return failure();
  Values state(before.take_front(2 * kThreadRows)),
      sums(before.drop_front(2 * kThreadRows));
  auto factors = softmax.add(ofTile, state);
  if (failed(factors))
    return failure();
  scale(sums, *factors);
  values.add(ofTile, sums);
  state.append(sums);
  return state;
}

LogicalResult TensorAttention::emit() {
  if (failed(begin()))
    return failure();
  Values initial = softmax.start();
  initial.append(values.startSums());
  auto end = buildLoop(
      b, loc, block.scalar.index(0), block.keysEnd, block.code.keys, initial,
      [&](Value first, ValueRange before) { return addTile(first, before); });
  if (failed(end))
    return failure();
  Values sums(ArrayRef(*end).drop_front(2 * kThreadRows));
  scale(sums, softmax.finish(ArrayRef(*end).take_front(2 * kThreadRows)));
  return values.emitResults(sums);
}

LogicalResult emitTensorAttention(EmittedKernel &kernel, const Attention &a,
                                  const AttentionCode &code, OpBuilder b) {
  AttentionBlock block(kernel, a, code, b);
  return TensorAttention(block).emit();
}

} // namespace tinh::cuda
