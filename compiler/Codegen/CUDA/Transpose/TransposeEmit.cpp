//===- TransposeEmit.cpp - Moving the last dimension elsewhere --*- C++ -*-===//
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
#include "compiler/Codegen/CUDA/Strategy.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

static constexpr int64_t kThreads = 256;

namespace {

/// A permutation that moves the last dimension, with what is computed element
/// by element before and after it.
struct Turn {
  linalg::GenericOp op;
  SmallVector<int64_t> shape; ///< Of its result.
  unsigned column;            ///< The result's dimension that is read last,
  unsigned row() const { return shape.size() - 1; } ///< and its own last one.
  int64_t lanes = 1; ///< Elements that a thread moves at a time.
  Value result() const { return op->getOpResult(0); }
  Type element() const { return getElementTypeOrSelf(result()); }
  /// Rows and columns of a tile.
  int64_t tile() const { return kWarp * lanes; }
  /// Elements from one row of it to the next.
  int64_t pitch() const { return tile() + lanes; }
  int64_t tiles() const {
    int64_t count = llvm::divideCeil(shape[column], tile()) *
                    llvm::divideCeil(shape[row()], tile());
    for (auto [i, extent] : llvm::enumerate(shape))
      if (i != column && i != row())
        count *= extent;
    return count;
  }
  /// Rows of the tile that the threads have at a time.
  static constexpr int64_t kLines = kThreads / kWarp;
};

} // namespace

/// The permutation that `op` is, if it moves the last of long dimensions.
static std::optional<Turn> matchPermutation(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0 || op.getNumDpsInputs() != 1 ||
      op.getNumResults() != 1 ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!map.isPermutation() || !output.isIdentity() || map.getNumDims() < 2)
    return std::nullopt;
  constexpr int64_t kLeast = 8;
  Turn turn{op, {}, map.getDimPosition(map.getNumResults() - 1)};
  turn.shape.assign(op.getStaticLoopRanges());
  if (turn.column == turn.row() || turn.shape[turn.column] < kLeast ||
      turn.shape[turn.row()] < kLeast)
    return std::nullopt;
  return turn;
}

/// Whether what the kernel reads to compute `value` is read along its last
/// dimension: nothing is reduced, or read elsewhere.
static bool followsElementwise(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return isa<BlockArgument>(value) || !value.getDefiningOp() ||
           isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, linalg::FillOp,
               tensor::EmptyOp, arith::ConstantOp>(value.getDefiningOp());
  bool extracts = false;
  op.getBody()->walk([&](tensor::ExtractOp) { extracts = true; });
  return !extracts && op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getDpsInputs(), followsElementwise);
}

/// The one permutation of `kernel`, whose results follow from it element by
/// element.
static std::optional<Turn> matchTurn(func::FuncOp kernel) {
  std::optional<Turn> found;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    auto turn = matchPermutation(op);
    if (!turn)
      continue;
    if (found)
      return std::nullopt;
    found = turn;
  }
  if (!found || !resultsFollowElementwise(kernel, found->result()) ||
      !followsElementwise(found->op.getDpsInputs()[0]))
    return std::nullopt;
  return found;
}

namespace {

class TurnEmitter {
public:
  TurnEmitter(EmittedKernel &kernel, const Turn &turn, OpBuilder &b)
      : kernel(kernel), turn(turn), b(b), loc(kernel.source.getLoc()),
        scalar(b, loc, 1) {}
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
  FailureOr<LaneValue> loadColumn(const Buffer &tile, Value row, Value column);
  LaneIndex vectorAt(Value base) const {
    return {base, turn.lanes > 1 ? 1 : 0, turn.lanes};
  }

  EmittedKernel &kernel;
  const Turn &turn;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Indices first; // Where the tile begins in the result.
  Value lane, line;
};

} // namespace

LogicalResult TurnEmitter::forLines(
    unsigned lineDim, unsigned alongDim,
    function_ref<LogicalResult(Value, Value, const Indices &)> body) {
  OpBuilder::InsertionGuard guard(b);
  Value along = scalar.mul(lane, turn.lanes);
  for (int64_t i = 0; i < turn.tile(); i += Turn::kLines) {
    Value number = scalar.add(line, scalar.index(i));
    Indices at = first;
    at[lineDim].base = scalar.add(at[lineDim].base, number);
    at[alongDim] = vectorAt(scalar.add(at[alongDim].base, along));
    Value inside;
    for (unsigned dim : {lineDim, alongDim}) {
      if (turn.shape[dim] % turn.tile() == 0)
        continue;
      Value fits =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at[dim].base,
                                scalar.index(turn.shape[dim]));
      inside = inside ? b.createOrFold<arith::AndIOp>(loc, inside, fits) : fits;
    }
    OpBuilder::InsertionGuard inner(b);
    if (inside) {
      auto branch = scf::IfOp::create(b, loc, TypeRange(), inside, false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    if (failed(body(number, along, at)))
      return failure();
  }
  return success();
}

/// Reads lines along the dimension that is the last one before the permutation.
LogicalResult TurnEmitter::load(const Buffer &tile) {
  return forLines(
      turn.row(), turn.column,
      [&](Value row, Value column, const Indices &at) -> LogicalResult {
        Pull pull(b, loc, turn.lanes);
        kernel.bindInputs(pull);
        Indices source(at.size());
        linalg::GenericOp op = turn.op;
        AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
        for (unsigned i = 0; i < source.size(); ++i)
          source[i] = at[map.getDimPosition(i)];
        auto value = pull.at(op.getDpsInputs()[0], source);
        if (failed(value))
          return failure();
        return pull.store(*value, tile, {{row, 0, 1}, vectorAt(column)});
      });
}

/// Elements of a column of the tile from `row` on.
FailureOr<LaneValue> TurnEmitter::loadColumn(const Buffer &tile, Value row,
                                             Value column) {
  Type element = turn.element();
  if (turn.lanes == 1)
    return scalar.load(tile, element, {{row, 0, 1}, {column, 0, 1}});
  SmallVector<Value> elements;
  for (int64_t i = 0; i < turn.lanes; ++i) {
    Value next = scalar.add(row, scalar.index(i));
    auto value = scalar.load(tile, element, {{next, 0, 1}, {column, 0, 1}});
    if (failed(value))
      return failure();
    elements.push_back(value->value);
  }
  auto type = VectorType::get({turn.lanes}, element);
  Value all = vector::FromElementsOp::create(b, loc, type, elements);
  return LaneValue{all, false, {}};
}

/// Writes lines along the last dimension of the results.
LogicalResult TurnEmitter::store(const Buffer &tile) {
  Value turned = turn.result();
  Operation *terminator = kernel.source.getBody().front().getTerminator();
  unsigned inputs = kernel.source.getNumArguments();
  return forLines(
      turn.column, turn.row(),
      [&](Value column, Value row, const Indices &at) -> LogicalResult {
        auto value = loadColumn(tile, row, column);
        if (failed(value))
          return failure();
        Pull after(b, loc, turn.lanes);
        kernel.bindInputs(after);
        after.registers[turned] = *value;
        for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
          auto stored = after.at(result, at);
          if (failed(stored) ||
              failed(after.store(*stored, kernel.operand(inputs + i), at)))
            return failure();
        }
        return success();
      });
}

LogicalResult TurnEmitter::emit() {
  lane = kernel.thread;
  line = kernel.thread;
  lane = scalar.peel(line, kWarp);
  Value rest = kernel.block;
  first.assign(turn.shape.size(), LaneIndex{scalar.index(0), 0, 1});
  for (unsigned dim : {turn.column, turn.row()})
    first[dim].base = scalar.mul(
        scalar.peel(rest, llvm::divideCeil(turn.shape[dim], turn.tile())),
        turn.tile());
  for (unsigned dim = turn.shape.size(); dim-- > 0;)
    if (dim != turn.column && dim != turn.row())
      first[dim].base = scalar.peel(rest, turn.shape[dim]);
  Buffer tile =
      kernel.sharedBuffer(b, 0, {turn.tile(), turn.pitch()}, turn.element());
  if (failed(load(tile)))
    return failure();
  kernel.barrier(b);
  return store(tile);
}

static LogicalResult emitAs(EmittedKernel &kernel, const Turn &turn) {
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  return TurnEmitter(kernel, turn, b).emit();
}

/// The permutation of `kernel`, with vectors of its elements if it has such.
static std::optional<Turn> planTurn(func::FuncOp kernel) {
  auto turn = matchTurn(kernel);
  if (!turn || turn->tiles() == 0)
    return std::nullopt;
  int64_t lanes = 4 / std::min<int64_t>(4, graph::elementSize(turn->element()));
  if (turn->shape[turn->column] % lanes == 0 &&
      turn->shape[turn->row()] % lanes == 0) {
    Turn vectors = *turn;
    vectors.lanes = lanes;
    if (canEmit(kernel,
                [&](EmittedKernel &trial) { return emitAs(trial, vectors); }))
      return vectors;
  }
  return turn;
}

std::optional<Division> divideTranspose(func::FuncOp kernel) {
  auto turn = planTurn(kernel);
  if (!turn)
    return std::nullopt;
  return Division{turn->tiles(), kThreads,
                  turn->tile() * turn->pitch() *
                      graph::elementSize(turn->element())};
}

LogicalResult emitTranspose(EmittedKernel &kernel, const Target &) {
  auto turn = planTurn(kernel.source);
  return turn ? emitAs(kernel, *turn) : failure();
}

} // namespace tinh::cuda
