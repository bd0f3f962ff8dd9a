//===- Rows.cpp - The strategy for kernels with stages ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All threads of a block go through the same code, as they meet in it: those
// that have nothing to do repeat what a neighbour computes, and do not store
// it. A few iterations are unrolled without branches, so that what several
// stages load or compute of one element stays in registers.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Rows.h"

#include "compiler/Codegen/CUDA/Exchange.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cuda {

/// As many iterations are unrolled as a whole, else so many at a time.
static constexpr int64_t kUnrolled = 8, kUnrolledOfMore = 4;

namespace {

class TeamEmitter {
public:
  TeamEmitter(EmittedKernel &kernel, const RowsPlan &plan, OpBuilder &b)
      : kernel(kernel), plan(plan), b(b), loc(kernel.source.getLoc()),
        scalar(b, loc, 1) {}

  LogicalResult emit();

private:
  /// An iteration's number, and whether it is one of this thread's; null if it
  /// always is.
  struct Unit {
    Value number, takesPart;
  };
  using Step =
      function_ref<FailureOr<SmallVector<Value>>(Unit unit, ValueRange state)>;
  using Values = FailureOr<SmallVector<Value>>;

  void findRow();
  /// What of a stage is this thread's.
  struct Part {
    Value place, share;
  };
  Part findPart(const RowStage &stage);
  Pull makePull(int64_t lanes);
  Value both(Value x, Value y);
  LogicalResult when(Value condition, function_ref<LogicalResult()> body);
  Unit unitAt(Value number, int64_t count, bool all);
  Values forShare(int64_t count, int64_t threads, Value number,
                  ValueRange initial, Step step);
  Indices place(ArrayRef<int64_t> shape, Value unit, int64_t lanes);
  void syncFor(Operation *op);
  bool readsUnsynchronised(Operation *op);

  SmallVector<Buffer> allocate(const RowStage &stage);
  LogicalResult emitStage(const RowStage &stage);
  FailureOr<SmallVector<LaneValue>> computeUnit(const RowStage &stage,
                                                const Indices &at, Value share);
  FailureOr<Value> reducePartly(const RowStage &stage, Pull &pull,
                                const Indices &at, Value share);
  Value combineShares(const RowStage &stage, Value partial);
  Value exchangeWarps(const RowStage &stage, Value partial, Value place);
  LogicalResult emitResults(ArrayRef<unsigned> results);

  EmittedKernel &kernel;
  const RowsPlan &plan;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Value thread; // Its number in the team.
  Indices row;
  Value rowExists;   // Null if it always does.
  Value firstColumn; // In vectors, if rows are cut into columns.
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, LaneValue> registers;
  llvm::DenseSet<Value> unsynchronised; // Written to shared memory just now.
};

} // namespace

//===----------------------------------------------------------------------===//
// Rows, units and iterations
//===----------------------------------------------------------------------===//

Pull TeamEmitter::makePull(int64_t lanes) {
  Pull pull(b, loc, lanes);
  pull.buffers = buffers;
  pull.registers = registers;
  return pull;
}

Value TeamEmitter::both(Value x, Value y) {
  return x && y ? b.createOrFold<arith::AndIOp>(loc, x, y) : x ? x : y;
}

LogicalResult TeamEmitter::when(Value condition,
                                function_ref<LogicalResult()> body) {
  if (!condition)
    return body();
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, loc, TypeRange(), condition, false);
  b.setInsertionPointToStart(branch.thenBlock());
  return body();
}

/// Unit `number` of `count`, or the last one where there are no more.
TeamEmitter::Unit TeamEmitter::unitAt(Value number, int64_t count, bool all) {
  if (all)
    return {number, {}};
  Value takesPart = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          number, scalar.index(count));
  return {arith::MinUIOp::create(b, loc, number, scalar.index(count - 1)),
          takesPart};
}

/// The block's and the thread's part of the rows.
void TeamEmitter::findRow() {
  Value number = kernel.block;
  thread = kernel.thread;
  if (plan.columnUnits)
    firstColumn =
        scalar.mul(scalar.peel(number, plan.columnBlocks), plan.columnUnits);
  int64_t perBlock = plan.rowsPerBlock();
  if (perBlock > 1) {
    Value team = thread;
    thread = scalar.peel(team, plan.team);
    number = scalar.add(scalar.mul(number, perBlock), team);
    Unit unit = unitAt(number, plan.rows, plan.rows % perBlock == 0);
    number = unit.number;
    rowExists = unit.takesPart;
  }
  ArrayRef<int64_t> shape = plan.written[0].type().getShape();
  row.resize(plan.rank);
  for (int64_t i = plan.rank - 1; i > 0; --i)
    row[i] = {scalar.peel(number, shape[i]), 0, 1};
  if (plan.rank > 0)
    row[0] = {number, 0, 1};
}

TeamEmitter::Part TeamEmitter::findPart(const RowStage &stage) {
  if (stage.shares == 1)
    return {thread, scalar.index(0)};
  if (stage.places == 1)
    return {scalar.index(0), thread};
  Value low = thread, high = thread;
  low = scalar.peel(high, stage.along ? stage.shares : stage.places);
  return stage.along ? Part{high, low} : Part{low, high};
}

/// `step` for those of `count` units that thread `number` of so many has.
TeamEmitter::Values TeamEmitter::forShare(int64_t count, int64_t threads,
                                          Value number, ValueRange initial,
                                          Step step) {
  int64_t whole = count / threads;
  int64_t rounds = llvm::divideCeil(count, threads);
  SmallVector<Value> state(initial.begin(), initial.end());
  auto at = [&](Value start, int64_t round, bool all) -> LogicalResult {
    Value unit =
        scalar.add(start, scalar.add(number, scalar.index(round * threads)));
    Values next = step(unitAt(unit, count, all), state);
    if (succeeded(next))
      state = *next;
    return next;
  };
  int64_t looped = rounds <= kUnrolled ? 0 : whole - whole % kUnrolledOfMore;
  if (looped > 0) {
    auto loop =
        buildLoop(b, loc, scalar.index(0), scalar.index(looped * threads),
                  kUnrolledOfMore * threads, state,
                  [&](Value iv, ValueRange carried) -> Values {
                    state.assign(carried.begin(), carried.end());
                    for (int64_t i = 0; i < kUnrolledOfMore; ++i)
                      if (failed(at(iv, i, true)))
                        return failure();
                    return state;
                  });
    if (failed(loop))
      return failure();
    state = *loop;
  }
  for (int64_t round = looped; round < rounds; ++round)
    if (failed(at(scalar.index(0), round, round < whole)))
      return failure();
  return state;
}

/// The row's index in a tensor of `shape` with that of a unit.
Indices TeamEmitter::place(ArrayRef<int64_t> shape, Value unit, int64_t lanes) {
  Indices at(row.begin(),
             row.begin() + std::min<size_t>(row.size(), shape.size()));
  at.resize(shape.size());
  for (int64_t i = shape.size() - 1; i >= plan.rank; --i) {
    bool last = i + 1 == static_cast<int64_t>(shape.size());
    int64_t extent = shape[i] / (last ? lanes : 1);
    Value digit = i == plan.rank ? unit : scalar.peel(unit, extent);
    at[i] = {digit, 0, 1};
    if (last && lanes > 1)
      at[i] = {scalar.mul(digit, lanes), 1, lanes};
  }
  return at;
}

/// Whether `op` needs what has been written since the last barrier.
bool TeamEmitter::readsUnsynchronised(Operation *op) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> worklist{op};
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    bool reads = false;
    next->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        reads |= unsynchronised.contains(operand);
        Operation *source = operand.getDefiningOp();
        if (source && !buffers.contains(operand) &&
            !registers.contains(operand))
          worklist.push_back(source);
      }
    });
    if (reads)
      return true;
  }
  return false;
}

void TeamEmitter::syncFor(Operation *op) {
  if (!readsUnsynchronised(op))
    return;
  kernel.barrier(b);
  unsynchronised.clear();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// The thread's share of the reduction at `at`: a vector where lanes lie along
/// the result, else one number.
FailureOr<Value> TeamEmitter::reducePartly(const RowStage &stage, Pull &pull,
                                           const Indices &at, Value share) {
  linalg::GenericOp op = stage.op;
  auto dims = pull.loopIndices(op, at);
  if (failed(dims))
    return failure();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto combiner = matchCombiner(op);
  Value start = arith::ConstantOp::create(b, loc, combiner->neutral);
  if (stage.lanes > 1)
    start = vector::BroadcastOp::create(
        b, loc, VectorType::get({stage.lanes}, start.getType()), start);
  auto step = [&](Unit unit, ValueRange state) -> Values {
    Value rest = unit.number;
    for (unsigned loop : llvm::reverse(reduced)) {
      bool vectors = stage.along && stage.lanes > 1 && loop == reduced.back();
      Value digit =
          loop == reduced.front()
              ? rest
              : scalar.peel(rest, extents[loop] / (vectors ? stage.lanes : 1));
      (*dims)[loop] = {digit, 0, 1};
      if (vectors)
        (*dims)[loop] = {scalar.mul(digit, stage.lanes), 1, stage.lanes};
    }
    auto next = pull.reduceStep(op, *dims, state);
    if (succeeded(next) && unit.takesPart)
      next->front() = arith::SelectOp::create(b, loc, unit.takesPart,
                                              next->front(), state.front());
    return next;
  };
  auto sums = forShare(stage.steps, stage.shares, share, start, step);
  if (failed(sums))
    return failure();
  if (!stage.along || stage.lanes == 1)
    return sums->front();
  return vector::ReductionOp::create(b, loc, combiner->kind, sums->front(),
                                     arith::FastMathFlags::reassoc)
      .getResult();
}

/// What warps have found of a place, combined: all threads get it.
Value TeamEmitter::exchangeWarps(const RowStage &stage, Value partial,
                                 Value place) {
  int64_t count = stage.warpShares();
  auto vector = dyn_cast<VectorType>(partial.getType());
  int64_t lanes = vector ? vector.getNumElements() : 1;
  Pull pull(b, loc, lanes);
  Buffer slots =
      kernel.sharedBuffer(b, stage.exchange, {count * stage.places, lanes},
                          getElementTypeOrSelf(partial));
  auto at = [&](Value slot) {
    return Indices{{slot, 0, 1}, {pull.index(0), lanes > 1 ? 1 : 0, lanes}};
  };
  // Of the lanes with the same place one writes: they have the same by now.
  int64_t writers = stage.along ? 1 : std::min(stage.places, kWarp);
  Value lane = thread;
  Value warp = thread;
  lane = scalar.peel(warp, kWarp);
  Value writes;
  if (writers < kWarp)
    writes = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, lane,
                                   pull.index(writers));
  Value own = thread;
  if (stage.along) {
    own = warp;
  } else if (stage.places < kWarp) {
    own = pull.add(pull.mul(warp, stage.places), place);
  }
  (void)when(writes, [&] {
    return pull.store({partial, lanes == 1, {}}, slots, at(own));
  });
  kernel.barrier(b);
  unsynchronised.clear();
  Value total;
  auto kind = matchCombiner(stage.op)->kind;
  for (int64_t i = 0; i < count; ++i) {
    Value slot = stage.along ? pull.add(pull.mul(place, count), pull.index(i))
                             : pull.add(pull.index(i * stage.places), place);
    auto other = pull.load(slots, getElementTypeOrSelf(partial), at(slot));
    total = total ? vector::makeArithReduction(b, loc, kind, total,
                                               pull.asVector(*other))
                  : pull.asVector(*other);
  }
  return total;
}

/// What the threads of the same place have found, combined.
Value TeamEmitter::combineShares(const RowStage &stage, Value partial) {
  auto kind = matchCombiner(stage.op)->kind;
  int64_t first = stage.firstShareBit(), last = first + stage.shareBits();
  for (int64_t bit = first; bit < std::min<int64_t>(last, 5); ++bit) {
    Value other =
        shuffle(b, loc, partial, int64_t(1) << bit, gpu::ShuffleMode::XOR);
    partial = vector::makeArithReduction(b, loc, kind, partial, other);
  }
  if (stage.warpShares() == 1)
    return partial;
  return exchangeWarps(stage, partial, findPart(stage).place);
}

/// The results of a stage at `at`.
FailureOr<SmallVector<LaneValue>>
TeamEmitter::computeUnit(const RowStage &stage, const Indices &at,
                         Value share) {
  linalg::GenericOp op = stage.op;
  Pull pull = makePull(stage.lanes);
  bool uniform = stage.along || stage.lanes == 1;
  if (op.getNumReductionLoops() == 0) {
    auto value = pull.at(op.getResult(0), at);
    if (failed(value))
      return failure();
    return SmallVector<LaneValue>{*value};
  }
  if (!matchCombiner(op))
    return pull.reduce(op, at);
  auto partial = reducePartly(stage, pull, at, share);
  auto initial = pull.at(op.getDpsInits()[0], at);
  if (failed(partial) || failed(initial))
    return failure();
  Value total = combineShares(stage, *partial);
  Value start = uniform ? initial->value : pull.asVector(*initial);
  total =
      vector::makeArithReduction(b, loc, matchCombiner(op)->kind, total, start);
  return SmallVector<LaneValue>{{total, uniform, {}}};
}

/// Where the results of a stage lie in shared memory.
SmallVector<Buffer> TeamEmitter::allocate(const RowStage &stage) {
  linalg::GenericOp op = stage.op;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getResult(0).getType()).getShape();
  int64_t lanes = stage.along ? 1 : stage.lanes;
  int64_t offset = stage.offset;
  SmallVector<Buffer> memory;
  for (Value result : op.getResults()) {
    Type element = getElementTypeOrSelf(result);
    Buffer buffer =
        kernel.sharedBuffer(b, offset, shape.drop_front(plan.rank), element);
    offset +=
        llvm::alignTo(stage.units * lanes * graph::elementSize(element), 16);
    buffer.strides.insert(buffer.strides.begin(), plan.rank, 0);
    memory.push_back(buffer);
  }
  return memory;
}

LogicalResult TeamEmitter::emitStage(const RowStage &stage) {
  linalg::GenericOp op = stage.op;
  syncFor(op);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getResult(0).getType()).getShape();
  int64_t lanes = stage.along ? 1 : stage.lanes;
  Part part = findPart(stage);
  Value place = part.place, share = part.share;
  if (!stage.inMemory) {
    if (plan.columnUnits)
      place = unitAt(scalar.add(firstColumn, place), shape.back() / lanes,
                     shape.back() / lanes % plan.columnUnits == 0)
                  .number;
    else
      place = scalar.index(0);
    auto values = computeUnit(stage, this->place(shape, place, lanes), share);
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), *values))
      registers[result] = value;
    return success();
  }
  SmallVector<Buffer> memory = allocate(stage);
  Value first = stage.shares == 1
                    ? Value()
                    : arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            share, scalar.index(0));
  // Where units have no shares, there are threads beyond the places.
  auto done = forShare(
      stage.units, stage.shares == 1 ? plan.team : stage.places, place, {},
      [&](Unit unit, ValueRange) -> Values {
        Indices at = this->place(shape, unit.number, lanes);
        auto values = computeUnit(stage, at, share);
        if (failed(values))
          return failure();
        Pull pull(b, loc, lanes);
        if (failed(when(both(unit.takesPart, first), [&]() -> LogicalResult {
              for (auto [value, buffer] : llvm::zip_equal(*values, memory))
                if (failed(pull.store(value, buffer, at)))
                  return failure();
              return success();
            })))
          return failure();
        return SmallVector<Value>();
      });
  for (auto [result, buffer] : llvm::zip_equal(op.getResults(), memory)) {
    buffers[result] = buffer;
    unsynchronised.insert(result);
  }
  return done;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Those of one shape.
LogicalResult TeamEmitter::emitResults(ArrayRef<unsigned> results) {
  ArrayRef<int64_t> shape = plan.written[results[0]].type().getShape();
  if (llvm::is_contained(shape, 0))
    return success();
  int64_t lanes = plan.lanesFor(shape), units = 1, threads = plan.team;
  Value number = thread, exists = rowExists;
  if (plan.columnUnits) {
    // One vector each, by the threads that have the first share.
    units = shape.back() / lanes;
    Value share = thread;
    Value place = scalar.peel(share, plan.columnUnits);
    number = scalar.add(firstColumn, place);
    exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, share,
                                   scalar.index(0));
    threads = units;
  } else if (static_cast<int64_t>(shape.size()) > plan.rank) {
    units = ShapedType::getNumElements(shape.drop_front(plan.rank)) / lanes;
  }
  unsigned inputs = kernel.source.getNumArguments();
  auto compute = [&](Unit unit, ValueRange) -> Values {
    Pull pull = makePull(lanes);
    Indices at = place(shape, unit.number, lanes);
    SmallVector<LaneValue> values;
    for (unsigned i : results) {
      auto value = pull.at(plan.written[i].value, at);
      if (failed(value))
        return failure();
      values.push_back(*value);
    }
    auto store = [&]() -> LogicalResult {
      for (auto [i, value] : llvm::zip_equal(results, values)) {
        Buffer buffer = kernel.operand(inputs + i);
        buffer.strides = plan.written[i].strides;
        if (failed(pull.store(value, buffer, at)))
          return failure();
      }
      return success();
    };
    if (failed(when(both(exists, unit.takesPart), store)))
      return failure();
    return SmallVector<Value>();
  };
  if (plan.columnUnits)
    return compute(unitAt(number, units, units % plan.columnUnits == 0), {});
  return forShare(units, threads, number, {}, compute);
}

LogicalResult TeamEmitter::emit() {
  findRow();
  for (BlockArgument argument : kernel.source.getArguments())
    buffers[argument] = kernel.operand(argument.getArgNumber());
  for (const RowStage &stage : plan.stages)
    if (failed(emitStage(stage)))
      return failure();
  syncFor(kernel.source.getBody().front().getTerminator());
  SmallVector<unsigned> rest =
      llvm::to_vector(llvm::seq<unsigned>(0, plan.written.size()));
  while (!rest.empty()) {
    ArrayRef<int64_t> shape = plan.written[rest[0]].type().getShape();
    SmallVector<unsigned> same, others;
    for (unsigned i : rest)
      (plan.written[i].type().getShape() == shape ? same : others).push_back(i);
    if (failed(emitResults(same)))
      return failure();
    rest = others;
  }
  return success();
}

LogicalResult emitRowsAs(EmittedKernel &kernel, const RowsPlan &plan) {
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  return TeamEmitter(kernel, plan, b).emit();
}

LogicalResult emitRows(EmittedKernel &kernel, const Target &) {
  auto plan = planRows(kernel.source);
  return plan ? emitRowsAs(kernel, *plan) : failure();
}

} // namespace tinh::cuda
