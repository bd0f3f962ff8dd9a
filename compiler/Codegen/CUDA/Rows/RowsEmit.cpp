//===- RowsEmit.cpp - The strategy for kernels with stages ------*- C++ -*-===//
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
#include "compiler/Codegen/CUDA/Rows/RowsEmit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Rows, units and iterations
//===----------------------------------------------------------------------===//

Pull RowsEmitter::makePull(int64_t lanes) {
  Pull pull(b, loc, lanes);
  pull.buffers = buffers;
  pull.registers = registers;
  return pull;
}

/// Unit `number` of `count`, or the last one where there are no more.
RowsEmitter::Unit RowsEmitter::unitAt(Value number, int64_t count, bool all) {
  if (all)
    return {number, {}};
  Value takesPart = scalar.isBelow(number, count);
  return {scalar.minimum(number, count - 1), takesPart};
}

/// The block's and the thread's part of the rows.
void RowsEmitter::findRow() {
  Value number = kernel.block;
  thread = kernel.thread;
  if (plan.columnUnits)
    firstColumn = scalar.mul(scalar.takeDigit(number, plan.columnBlocks),
                             plan.columnUnits);
  int64_t perBlock = plan.rowsPerBlock();
  if (perBlock > 1) {
    Value team = thread;
    thread = scalar.takeDigit(team, plan.team);
    number = scalar.add(scalar.mul(number, perBlock), team);
    Unit unit = unitAt(number, plan.rows, plan.rows % perBlock == 0);
    number = unit.number;
    rowExists = unit.takesPart;
  }
  row = scalar.unravelIndex(
      number, plan.written[0].type().getShape().take_front(plan.rank));
}

RowsEmitter::Part RowsEmitter::findPart(const RowStage &stage) {
  if (stage.shares == 1)
    return {thread, scalar.index(0)};
  if (stage.places == 1)
    return {scalar.index(0), thread};
  Value low = thread, high = thread;
  low = scalar.takeDigit(high, stage.along ? stage.shares : stage.places);
  return stage.along ? Part{high, low} : Part{low, high};
}

/// `step` for those of `count` units that thread `number` of so many has.
RowsEmitter::Values RowsEmitter::forShare(int64_t count, int64_t threads,
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
  // Up to twice as many as in a loop are not worth one.
  int64_t unrolled = plan.unrolled;
  int64_t looped = rounds <= 2 * unrolled ? 0 : whole - whole % unrolled;
  if (looped > 0) {
    auto loop = buildLoop(b, loc, scalar.index(0),
                          scalar.index(looped * threads), unrolled * threads,
                          state, [&](Value iv, ValueRange carried) -> Values {
                            state.assign(carried.begin(), carried.end());
                            for (int64_t i = 0; i < unrolled; ++i)
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
Indices RowsEmitter::place(ArrayRef<int64_t> shape, Value unit, int64_t lanes) {
  size_t rank = std::min(row.size(), shape.size());
  Indices at(ArrayRef(row).take_front(rank));
  at.append(scalar.unravelIndex(unit, shape.drop_front(rank), lanes));
  return at;
}

/// Whether `op` needs what has been written since the last barrier.
bool RowsEmitter::readsUnsynchronised(Operation *op) {
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

void RowsEmitter::syncFor(Operation *op) {
  if (!readsUnsynchronised(op))
    return;
  kernel.barrier(b);
  unsynchronised.clear();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Those of one shape.
LogicalResult RowsEmitter::emitResults(ArrayRef<unsigned> results) {
  ArrayRef<int64_t> shape = plan.written[results[0]].type().getShape();
  if (llvm::is_contained(shape, 0))
    return success();
  int64_t lanes = plan.lanesFor(shape), units = 1, threads = plan.team;
  Value number = thread, exists = rowExists;
  if (plan.columnUnits) {
    // One vector each, by the threads that have the first share.
    units = shape.back() / lanes;
    Value share = thread;
    Value place = scalar.takeDigit(share, plan.columnUnits);
    number = scalar.add(firstColumn, place);
    exists = scalar.isEqual(share, 0);
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
    if (failed(buildIf(b, loc, scalar.both(exists, unit.takesPart), store)))
      return failure();
    return SmallVector<Value>();
  };
  if (plan.columnUnits)
    return compute(unitAt(number, units, units % plan.columnUnits == 0), {});
  return forShare(units, threads, number, {}, compute);
}

LogicalResult RowsEmitter::emit() {
  findRow();
  buffers = kernel.inputs();
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

LogicalResult RowsStrategy::emit(EmittedKernel &kernel, const RowsKernel &,
                                 const RowsLayout &layout, const Target &) {
  kernel.preferRegisters();
  OpBuilder b = kernel.builder();
  return RowsEmitter(kernel, layout, b).emit();
}

} // namespace tinh::cuda
