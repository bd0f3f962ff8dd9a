//===- AttentionEmitScalar.cpp - Attention by FFMA --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in FlashAttention-2 (Dao, "FlashAttention-2: Faster Attention with Better
// Parallelism and Work Partitioning", 2023), a block has a tile of queries and
// goes through the keys tile by tile, with the softmax of all keys so far
// (AttentionEmitSoftmax.cpp): scores are never stored.
//
// Here both products are FFMA's. Sixteen threads share a row, so that half a
// warp has all its scores of a tile. These become exponentials in registers and
// are handed over in shared memory, where the steps of queries and keys were.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/AttentionEmit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cuda {

/// Of queries and keys.
static int64_t stepElements(const AttentionCode &code) {
  return scalarElements(code.ofScores().tile, code.depth);
}

/// Bytes of shared memory for steps of queries and keys, and then for weights.
static int64_t scoresBytes(const AttentionCode &code) {
  return 4 * std::max(2 * stepElements(code), code.keys * pitch(code.rows));
}

int64_t scalarAttentionShared(const AttentionCode &code) {
  return scoresBytes(code) + 4 * 2 * code.step * pitch(code.columns);
}

bool leavesWeights(const AttentionCode &code) {
  return stepElements(code) <= (code.keys - code.step) * pitch(code.rows);
}

namespace {

/// What both products have alike: threads share rows.
class SharedRows : public ScalarEmitter {
protected:
  SharedRows(const AttentionBlock &block, const Product &p,
             const TileCode &code)
      : ScalarEmitter(block.kernel, p, code, block.b) {}
  /// Finds what is of this block and thread, in shared memory from `offset` on.
  void begin(int64_t offset) {
    findThread();
    findBlock();
    memory =
        kernel.sharedBuffer(b, offset, {sharedElements()}, p.element()).memref;
  }
  void findThread() final {
    Value rest = kernel.thread;
    threadColumn = scalar.takeDigit(rest, kSharers);
    threadRow = rest;
  }
};

/// The scores of a tile of keys: a thread has four neighbours of each row.
class ScalarScores final : public SharedRows {
public:
  ScalarScores(const AttentionBlock &block)
      : SharedRows(block, block.a.scores, block.code.ofScores()) {
    begin(0);
  }

  /// Those of the keys from `first` on.
  FailureOr<ScoresOfThread> compute(Value first);
  /// Stores the weights, which the scores have become.
  void storeWeights(const ScoresOfThread &scores, Value weights);
  /// A row of the thread in its tile.
  Value rowAt(int64_t number) {
    int64_t from = number / kGroup * (tile.rows / 2) + number % kGroup;
    return scalar.add(scalar.mul(threadRow, kGroup), scalar.index(from));
  }
};

/// Adds up weights, from shared memory, times values.
class ScalarValues final : public SharedRows {
public:
  ScalarValues(const AttentionBlock &block, Value weights)
      : SharedRows(block, block.a.values, block.code.ofValues()),
        keys(block.code.keys), weights(weights), block(block) {
    begin(scoresBytes(block.code));
    findGroups();
  }
  int64_t stepElements() const override {
    return stepDepth * pitch(tile.columns);
  }

  Values startSums() override;
  /// What the thread loads of the first step of the tile from this key on.
  FailureOr<Values> load(Value first) { return loadTile(columns, first); }
  /// `sums` with those of the tile, whose first step was loaded.
  FailureOr<Values> add(Value first, const Values &loaded, ValueRange sums);
  /// Stores what follows from the sums of a row.
  LogicalResult emitRow(ArrayRef<Value> sums, Value row);
  size_t groupsOfRow() const { return groups.size(); }

private:
  /// Columns side by side that a thread has, and where those of all threads
  /// begin.
  struct Group {
    int64_t first, lanes;
  };
  void findGroups();
  int64_t columnsOffset() const override { return 0; }
  int64_t depthUnit() const override { return keys; }
  Value loadShared(Value buffer, Value at, int64_t lanes);
  FailureOr<Staged> fetch(Value step, bool isKnown) override;
  Values multiplyStep(Value step, ValueRange sums) override;
  FailureOr<Indices> resultIndices(Pull &pull, Value row,
                                   Value column) override {
    return indicesInResult(block, pull, row, column);
  }

  int64_t keys;
  Value firstKey; // Of the tile.
  Value weights;
  const AttentionBlock &block;
  SmallVector<Group> groups;
};

} // namespace

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

FailureOr<ScoresOfThread> ScalarScores::compute(Value first) {
  columns.first = first;
  auto sums = emitSums();
  if (failed(sums))
    return failure();
  ScoresOfThread scores;
  scores.columns.push_back(scalar.add(first, scalar.mul(threadColumn, kGroup)));
  for (auto [row, vector] : llvm::enumerate(*sums)) {
    scores.rows.push_back(scalar.add(rows.first, rowAt(row)));
    scores.vectors.push_back({vector});
  }
  return scores;
}

/// Rows lie side by side, as those of the first factor of a product do.
void ScalarScores::storeWeights(const ScoresOfThread &scores, Value weights) {
  for (int64_t column = 0; column < kGroup; ++column) {
    Value key =
        scalar.add(scalar.mul(threadColumn, kGroup), scalar.index(column));
    for (int64_t row = 0; row < tile.threadRows; row += kGroup) {
      Values elements;
      for (int64_t i = 0; i < kGroup; ++i)
        elements.push_back(vector::ExtractOp::create(
            b, loc, scores.vectors[row + i][0], column));
      Value vector =
          vector::FromElementsOp::create(b, loc, vectorType(kGroup), elements);
      Value at = scalar.add(scalar.mul(key, pitch(tile.rows)), rowAt(row));
      vector::StoreOp::create(b, loc, vector, weights, at,
                              /*nontemporal=*/false, llvm::MaybeAlign(16));
    }
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Vectors of four columns; of the rest as few as are enough.
void ScalarValues::findGroups() {
  int64_t extent = p.extentOf(p.right.loops);
  for (int64_t first = 0; first < extent; first += kSharers * kGroup) {
    int64_t each = llvm::divideCeil(extent - first, kSharers);
    groups.push_back(
        {first, std::min<int64_t>(kGroup, llvm::PowerOf2Ceil(each))});
  }
}

Values ScalarValues::startSums() {
  Values sums;
  for (int64_t row = 0; row < tile.threadRows; ++row)
    for (const Group &group : groups)
      sums.push_back(arith::ConstantOp::create(
          b, loc, b.getZeroAttr(vectorType(group.lanes))));
  return sums;
}

Value ScalarValues::loadShared(Value buffer, Value at, int64_t lanes) {
  return vector::LoadOp::create(b, loc, vectorType(lanes), buffer, at,
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(4 * lanes));
}

Values ScalarValues::multiplyStep(Value step, ValueRange before) {
  Values sums(before);
  Value base = baseOf(step);
  for (int64_t depth = 0; depth < stepDepth; ++depth) {
    Value key = scalar.add(scalar.mul(step, stepDepth), scalar.index(depth));
    Values ofRows, ofColumns;
    for (int64_t row = 0; row < tile.threadRows; row += kGroup) {
      Value at = scalar.add(scalar.mul(threadRow, kGroup),
                            scalar.index(row / kGroup * (tile.rows / 2)));
      at = scalar.add(scalar.mul(key, pitch(tile.rows)), at);
      ofRows.push_back(loadShared(weights, at, kGroup));
    }
    for (const Group &group : groups) {
      Value at = scalar.add(
          base, scalar.index(depth * pitch(tile.columns) + group.first));
      at = scalar.add(at, scalar.mul(threadColumn, group.lanes));
      ofColumns.push_back(loadShared(memory, at, group.lanes));
    }
    for (int64_t row = 0; row < tile.threadRows; ++row) {
      Value weight =
          vector::ExtractOp::create(b, loc, ofRows[row / kGroup], row % kGroup);
      for (auto [g, values] : llvm::enumerate(ofColumns)) {
        Value &sum = sums[row * groups.size() + g];
        Value same =
            vector::BroadcastOp::create(b, loc, values.getType(), weight);
        sum = vector::FMAOp::create(b, loc, same, values, sum);
      }
    }
  }
  return sums;
}

FailureOr<ScalarValues::Staged> ScalarValues::fetch(Value step, bool) {
  auto values =
      loadTile(columns, scalar.add(firstKey, scalar.mul(step, stepDepth)));
  if (failed(values))
    return failure();
  return Staged{Values(), *values};
}

FailureOr<Values> ScalarValues::add(Value first, const Values &loaded,
                                    ValueRange sums) {
  firstKey = first;
  store({Values(), loaded}, scalar.index(0));
  return buildLoop(
      b, loc, scalar.index(0), scalar.index(keys / stepDepth), 1, sums,
      [&](Value step, ValueRange before) { return addStep(step, before); });
}

LogicalResult ScalarValues::emitRow(ArrayRef<Value> sums, Value row) {
  return whenRow(row, [&]() -> LogicalResult {
    for (auto [group, vector] : llvm::zip_equal(groups, sums)) {
      Value column = scalar.add(scalar.mul(threadColumn, group.lanes),
                                scalar.index(group.first));
      if (failed(emitGroup(vector, row, column)))
        return failure();
    }
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

/// Each row's sums times the row's factor.
static void scale(OpBuilder &b, Location loc, MutableArrayRef<Value> sums,
                  ArrayRef<Value> factors) {
  size_t each = sums.size() / factors.size();
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value same =
        vector::BroadcastOp::create(b, loc, sum.getType(), factors[i / each]);
    sum = arith::MulFOp::create(b, loc, sum, same);
  }
}

/// Stores what follows from the sums of all keys; `end` has the state of rows
/// before these.
static LogicalResult emitResults(const AttentionBlock &block,
                                 ScalarScores &scores, ScalarValues &values,
                                 OnlineSoftmax &softmax, ArrayRef<Value> end) {
  int64_t rows = block.code.threadRows;
  Values sums(end.drop_front(2 * rows));
  scale(block.b, block.loc, sums, softmax.finish(end.take_front(2 * rows)));
  size_t groups = values.groupsOfRow();
  for (int64_t row = 0; row < rows; ++row) {
    Value query = block.scalar.add(block.firstQuery, scores.rowAt(row));
    if (failed(
            values.emitRow(ArrayRef(sums).slice(row * groups, groups), query)))
      return failure();
  }
  return success();
}

LogicalResult emitScalarAttention(EmittedKernel &kernel, const Attention &a,
                                  const AttentionCode &code, OpBuilder b) {
  AttentionBlock block(kernel, a, code, b);
  Value weights =
      kernel.sharedBuffer(b, 0, {code.keys * pitch(code.rows)}, b.getF32Type())
          .memref;
  ScalarScores scores(block);
  ScalarValues values(block, weights);
  OnlineSoftmax softmax(block, kSharers, code.threadRows);
  assert(leavesWeights(code));
  auto body = [&](Value first, ValueRange before) -> FailureOr<Values> {
    auto ofTile = scores.compute(first);
    auto loaded = values.load(first);
    Values state(before.take_front(2 * code.threadRows)),
        sums(before.drop_front(2 * code.threadRows));
    if (failed(ofTile) || failed(loaded))
      return failure();
    auto factors = softmax.add(*ofTile, state);
    if (failed(factors))
      return failure();
    kernel.barrier(b); // All have read their queries and keys.
    scores.storeWeights(*ofTile, weights);
    scale(b, block.loc, sums, *factors);
    auto after = values.add(first, *loaded, sums);
    if (failed(after))
      return failure();
    state.append(*after);
    return state;
  };
  Values initial = softmax.start();
  initial.append(values.startSums());
  auto end = buildLoop(b, block.loc, block.scalar.index(0), block.keysEnd,
                       code.keys, initial, body);
  return failed(end) ? failure()
                     : emitResults(block, scores, values, softmax, *end);
}

} // namespace tinh::cuda
