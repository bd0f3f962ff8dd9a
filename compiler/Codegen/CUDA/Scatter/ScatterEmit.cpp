//===- ScatterEmit.cpp - Elements written where indices say -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element is written by one thread alone, which combines it with its updates
// in their order: nothing depends on which thread comes first. Where positions
// differ from line to line and there are many lines, a thread has one and goes
// through its updates. Else a block owns a range of positions:
//
//   y = x, in the block's range, unless they are in one place
//   for each chunk of as many updates as there are threads:
//     each thread writes the position of one of them to shared memory, and its
//     warp which of them lie in the range; then, after a barrier,
//     for each of these: y[position, …] = combine(y[…], update[…])
//
// by the threads that own the position, each with its columns: dimensions that
// positions are neither for nor differ along. Chunks lie in two places in turn,
// so that nobody waits for those who still read.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Scatter/Scatter.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(EmittedKernel &kernel, const ScatterKernel &form,
                 ScatterPlanAttr plan, OpBuilder &b)
      : kernel(kernel), form(form), plan(plan),
        layout(layOutScatter(form, plan)), scatter(form.scatter), b(b),
        loc(kernel.source.getLoc()), lanes(plan.getLanes()),
        scalar(kernel.makePull(b, 1)),
        result(kernel.operand(kernel.source.getNumArguments())),
        dims(scatter.extents.size()) {}

  LogicalResult emitLines();
  LogicalResult emitRanges();

private:
  void setDims(ArrayRef<unsigned> which, Value number);
  void setUpdate(Value number);
  void setRow(Value row);
  FailureOr<Value> findRow();
  LogicalResult when(Value condition, function_ref<LogicalResult()> body) {
    return buildIf(b, loc, condition, body);
  }
  LogicalResult emitInitial(Value first, Value end, int64_t step);
  LogicalResult combine(Pull &pull);

  void findRange();
  FailureOr<Value> loadPosition(Value chunk);
  void publish(Value position, Value half);
  LogicalResult consume(Value chunk, Value half);
  LogicalResult emitHits(Value chunk, Value warp, Value half, Value hits);
  /// An update in the block's range, and which of its rows it is for.
  struct Hit {
    Value row;
    LaneValue update;
  };
  FailureOr<Hit> loadHit(Value chunk, Value position, Value half, Value &hits);
  FailureOr<Value> emitGroup(int64_t count, Value chunk, Value position,
                             Value half, Value hits);
  OpOperand *updates() {
    linalg::GenericOp op = scatter.op;
    return op.getDpsInputOperand(op.getNumDpsInputs() - 1);
  }

  EmittedKernel &kernel;
  const ScatterKernel &form;
  ScatterPlanAttr plan;
  ScatterLayout layout;
  const Scatter &scatter;
  OpBuilder &b;
  Location loc;
  int64_t lanes;
  Pull scalar;
  Buffer result;
  Indices dims; // Of all loops, where code is being emitted.

  Value firstRow, rows; // Those of the block.
  Value slot, owns;     // The thread's, and whether it has columns at all.
  Buffer positions, ballots;
};

} // namespace

/// Sets the indices in these dimensions to those of number `number` in them.
void ScatterEmitter::setDims(ArrayRef<unsigned> which, Value number) {
  for (unsigned dim : llvm::reverse(which)) {
    bool vector = lanes > 1 && dim == scatter.last();
    int64_t extent = scatter.extents[dim] / (vector ? lanes : 1);
    Value digit =
        dim == which.front() ? number : scalar.takeDigit(number, extent);
    dims[dim] = {digit, 0, 1};
    if (vector)
      dims[dim] = {scalar.mul(digit, lanes), 1, lanes};
  }
}

void ScatterEmitter::setUpdate(Value number) {
  setDims(llvm::to_vector(
              llvm::seq<unsigned>(scatter.rank, scatter.extents.size())),
          number);
}

void ScatterEmitter::setRow(Value row) { setDims(scatter.targets, row); }

/// The number of the current update's position, all targets together; none of
/// them if there is no such update.
FailureOr<Value> ScatterEmitter::findRow() {
  Value row;
  for (auto [operand, target] :
       llvm::zip_equal(scatter.positions, scatter.targets)) {
    auto position = pullOperand(scalar, *operand, dims);
    if (failed(position))
      return failure();
    Value index =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), position->value);
    row = row ? scalar.add(scalar.mul(row, scatter.extents[target]), index)
              : index;
  }
  return row;
}

/// What the thread's rows start as, every `step`-th one.
LogicalResult ScatterEmitter::emitInitial(Value first, Value end,
                                          int64_t step) {
  return when(kernel.liesElsewhere(b, 0, scatter.initial), [&] {
    return buildLoop(b, loc, first, end, step, [&](Value row) {
      setRow(firstRow ? scalar.add(firstRow, row) : row);
      Pull pull = kernel.makePull(b, lanes);
      return scatter.storeInitial(pull, result, dims);
    });
  });
}

/// Combines the element at `dims` with the update there.
LogicalResult ScatterEmitter::combine(Pull &pull) {
  Type i64 = b.getI64Type();
  for (auto [operand, target] :
       llvm::zip_equal(scatter.positions, scatter.targets))
    pull.registers[operand->get()] = {
        arith::IndexCastOp::create(b, loc, i64, dims[target].base), true, {}};
  return scatter.update(pull, result, dims);
}

//===----------------------------------------------------------------------===//
// A line for each thread
//===----------------------------------------------------------------------===//

LogicalResult ScatterEmitter::emitLines() {
  Value unit =
      scalar.add(scalar.mul(kernel.block, layout.threads), kernel.thread);
  Value exists = scalar.isBelow(unit, form.lines * layout.columns);
  return when(exists, [&]() -> LogicalResult {
    SmallVector<unsigned> free(form.lineDims);
    llvm::append_range(free, form.columnDims);
    llvm::sort(free);
    setDims(free, unit);
    Value rows = scalar.index(form.rows);
    if (failed(emitInitial(scalar.index(0), rows, 1)))
      return failure();
    return buildLoop(b, loc, scalar.index(0), scalar.index(form.updates), 1,
                     [&](Value update) -> LogicalResult {
                       setUpdate(update);
                       auto row = findRow();
                       if (failed(row))
                         return failure();
                       return when(scalar.isBelow(*row, form.rows), [&] {
                         setRow(*row);
                         Pull pull = kernel.makePull(b, lanes);
                         return combine(pull);
                       });
                     });
  });
}

//===----------------------------------------------------------------------===//
// A range of positions for each block
//===----------------------------------------------------------------------===//

/// The block's rows and the thread's columns.
void ScatterEmitter::findRange() {
  Value number = kernel.block;
  Value columnBlock = scalar.takeDigit(number, layout.columnBlocks);
  Value range = scalar.takeDigit(number, layout.ranges);
  setDims(form.lineDims, number);
  firstRow = scalar.mul(range, plan.getRows());
  rows = scalar.index(plan.getRows());
  if (form.rows % plan.getRows())
    rows = scalar.minimum(rows, scalar.sub(scalar.index(form.rows), firstRow));
  slot = kernel.thread;
  Value column = scalar.takeDigit(slot, plan.getColumns());
  column = scalar.add(scalar.mul(columnBlock, plan.getColumns()), column);
  Value hasSlot = scalar.isBelow(slot, plan.getSlots());
  owns = scalar.both(hasSlot, scalar.isBelow(column, layout.columns));
  setDims(form.columnDims, scalar.minimum(column, layout.columns - 1));
  int64_t threads = layout.threads;
  positions = kernel.sharedBuffer(b, 0, {2, threads}, b.getI32Type());
  ballots = kernel.sharedBuffer(b, 2 * layout.chunkBytes(),
                                {2, threads / kWarp}, b.getI32Type());
}

/// Which of the block's rows the thread's update of `chunk` is for; none of
/// them if there is no such update.
FailureOr<Value> ScatterEmitter::loadPosition(Value chunk) {
  Value update = scalar.add(scalar.mul(chunk, layout.threads), kernel.thread);
  Value last = scalar.index(form.updates - 1);
  setUpdate(scalar.minimum(update, last));
  auto row = findRow();
  if (failed(row))
    return failure();
  Value exists = scalar.compare(arith::CmpIPredicate::ule, update, last);
  return scalar.select(exists, scalar.sub(*row, firstRow), scalar.index(-1));
}

/// Tells the block of the thread's position, and of which ones of its warp lie
/// in the block's range.
void ScatterEmitter::publish(Value position, Value half) {
  Type i32 = b.getI32Type();
  Value narrow = arith::IndexCastOp::create(b, loc, i32, position);
  (void)scalar.store({narrow, true, {}}, positions,
                     {{half, 0, 1}, {kernel.thread, 0, 1}});
  Value hit = scalar.compare(arith::CmpIPredicate::ult, position, rows);
  Value all = arith::ConstantIntOp::create(b, loc, i32, -1);
  Value hits = NVVM::VoteSyncOp::create(b, loc, i32, all, hit,
                                        NVVM::VoteSyncKind::ballot);
  Value warp = kernel.thread, lane = scalar.takeDigit(warp, kWarp);
  (void)when(scalar.isEqual(lane, 0), [&] {
    return scalar.store({hits, true, {}}, ballots,
                        {{half, 0, 1}, {warp, 0, 1}});
  });
}

/// Loads the update of the first one of `hits`, bits of the positions from
/// `position` on, and takes it out of them.
FailureOr<ScatterEmitter::Hit>
ScatterEmitter::loadHit(Value chunk, Value position, Value half, Value &hits) {
  Type i32 = b.getI32Type(), index = b.getIndexType();
  Value bit = arith::IndexCastOp::create(
      b, loc, index,
      LLVM::CountTrailingZerosOp::create(b, loc, i32, hits,
                                         /*is_zero_poison=*/true));
  Value one = arith::ConstantIntOp::create(b, loc, i32, 1);
  hits = scalar.both(hits, scalar.sub(hits, one));
  position = scalar.add(position, bit);
  LaneValue row = scalar.load(positions, i32, {{half, 0, 1}, {position, 0, 1}});
  Value number = arith::IndexCastOp::create(b, loc, index, row.value);
  setUpdate(scalar.add(scalar.mul(chunk, layout.threads), position));
  setRow(scalar.add(firstRow, number));
  Pull pull = kernel.makePull(b, lanes);
  auto value = pullOperand(pull, *updates(), dims);
  if (failed(value))
    return failure();
  return Hit{number, *value};
}

/// Combines the next `count` of `hits`, all of which are loaded before; gives
/// those that remain.
FailureOr<Value> ScatterEmitter::emitGroup(int64_t count, Value chunk,
                                           Value position, Value half,
                                           Value hits) {
  SmallVector<Hit> group;
  for (int64_t i = 0; i < count; ++i) {
    auto hit = loadHit(chunk, position, half, hits);
    if (failed(hit))
      return failure();
    group.push_back(*hit);
  }
  for (const Hit &hit : group) {
    Value mine = owns;
    if (plan.getSlots() > 1) {
      Value rest = hit.row;
      Value owner = scalar.takeDigit(rest, plan.getSlots());
      mine = scalar.both(owns,
                         scalar.compare(arith::CmpIPredicate::eq, owner, slot));
    }
    setRow(scalar.add(firstRow, hit.row));
    Pull pull = kernel.makePull(b, lanes);
    pull.registers[updates()->get()] = hit.update;
    if (failed(when(mine, [&] { return combine(pull); })))
      return failure();
  }
  return hits;
}

/// The hits of a warp, several at a time.
LogicalResult ScatterEmitter::emitHits(Value chunk, Value warp, Value half,
                                       Value hits) {
  int64_t group = plan.getGroup();
  Value position = scalar.mul(warp, kWarp);
  Value hitCount = arith::IndexCastOp::create(
      b, loc, b.getIndexType(),
      LLVM::CtPopOp::create(b, loc, b.getI32Type(), hits));
  Value rest = scalar.remainder(hitCount, group);
  Value whole = scalar.sub(hitCount, rest);
  auto loop = [&](Value to, int64_t count, Value from) {
    return buildLoop(
        b, loc, scalar.index(0), to, count, from,
        [&](Value, ValueRange bits) -> FailureOr<SmallVector<Value>> {
          auto next = emitGroup(count, chunk, position, half, bits[0]);
          if (failed(next))
            return failure();
          return SmallVector<Value>{*next};
        });
  };
  auto after = loop(whole, group, hits);
  if (failed(after))
    return failure();
  return loop(rest, 1, after->front());
}

LogicalResult ScatterEmitter::consume(Value chunk, Value half) {
  Value warps = scalar.index(layout.threads / kWarp);
  return buildLoop(b, loc, scalar.index(0), warps, 1, [&](Value warp) {
    LaneValue hits =
        scalar.load(ballots, b.getI32Type(), {{half, 0, 1}, {warp, 0, 1}});
    return emitHits(chunk, warp, half, hits.value);
  });
}

LogicalResult ScatterEmitter::emitRanges() {
  findRange();
  if (failed(
          when(owns, [&] { return emitInitial(slot, rows, plan.getSlots()); })))
    return failure();
  if (form.updates == 0)
    return success();
  auto first = loadPosition(scalar.index(0));
  if (failed(first))
    return failure();
  int64_t chunks = llvm::divideCeil(form.updates, layout.threads);
  return buildLoop(
      b, loc, chunks, 1, *first,
      [&](Value chunk, ValueRange position) -> FailureOr<SmallVector<Value>> {
        Value half = scalar.remainder(chunk, 2);
        publish(position[0], half);
        // The next positions arrive while these are used.
        auto next = loadPosition(scalar.add(chunk, scalar.index(1)));
        kernel.barrier(b);
        if (failed(next) || failed(consume(chunk, half)))
          return failure();
        return SmallVector<Value>{*next};
      });
}

LogicalResult ScatterStrategy::emit(EmittedKernel &kernel,
                                    const ScatterKernel &form,
                                    ScatterPlanAttr plan, const Target &) {
  OpBuilder b = kernel.builder();
  ScatterEmitter emitter(kernel, form, plan, b);
  return plan.getRows() ? emitter.emitRanges() : emitter.emitLines();
}

} // namespace tinh::cuda
