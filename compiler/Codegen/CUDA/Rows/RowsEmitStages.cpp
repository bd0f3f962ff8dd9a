//===- RowsEmitStages.cpp - Reductions by teams of threads ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Rows/RowsEmit.h"

#include "compiler/Codegen/CUDA/Exchange.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cuda {

/// The thread's share of the reduction at `at`: a vector where lanes lie along
/// the result, else one number.
FailureOr<Value> RowsEmitter::reducePartly(const RowStage &stage, Pull &pull,
                                           const Indices &at, Value share) {
  linalg::GenericOp op = stage.op;
  auto dims = pull.loopIndices(op, at);
  if (failed(dims))
    return failure();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto extents =
      llvm::map_to_vector(reduced, [&](unsigned loop) { return ranges[loop]; });
  auto combiner = matchCombiner(op);
  Value start = arith::ConstantOp::create(b, loc, combiner->neutral);
  if (stage.lanes > 1)
    start = vector::BroadcastOp::create(
        b, loc, VectorType::get({stage.lanes}, start.getType()), start);
  auto step = [&](Unit unit, ValueRange state) -> Values {
    Indices indices = scalar.unravelIndex(unit.number, extents,
                                          stage.along ? stage.lanes : 1);
    for (auto [loop, index] : llvm::zip_equal(reduced, indices))
      (*dims)[loop] = index;
    auto next = pull.reduceStep(op, *dims, state);
    if (succeeded(next) && unit.takesPart)
      next->front() =
          scalar.select(unit.takesPart, next->front(), state.front());
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
Value RowsEmitter::exchangeWarps(const RowStage &stage, Value partial,
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
  lane = scalar.takeDigit(warp, kWarp);
  Value writes;
  if (writers < kWarp)
    writes = pull.isBelow(lane, writers);
  Value own = thread;
  if (stage.along) {
    own = warp;
  } else if (stage.places < kWarp) {
    own = pull.add(pull.mul(warp, stage.places), place);
  }
  (void)buildIf(b, loc, writes, [&] {
    return pull.store(pull.inRegisters(partial), slots, at(own));
  });
  kernel.barrier(b);
  unsynchronised.clear();
  Value total;
  auto kind = matchCombiner(stage.op)->kind;
  for (int64_t i = 0; i < count; ++i) {
    Value slot = stage.along ? pull.add(pull.mul(place, count), pull.index(i))
                             : pull.add(pull.index(i * stage.places), place);
    Value other = pull.asVector(
        pull.load(slots, getElementTypeOrSelf(partial), at(slot)));
    total =
        total ? vector::makeArithReduction(b, loc, kind, total, other) : other;
  }
  return total;
}

/// What the threads of the same place have found, combined.
Value RowsEmitter::combineShares(const RowStage &stage, Value partial) {
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
RowsEmitter::computeUnit(const RowStage &stage, const Indices &at,
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
SmallVector<Buffer> RowsEmitter::allocate(const RowStage &stage) {
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

LogicalResult RowsEmitter::emitStage(const RowStage &stage) {
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
  Value first = stage.shares == 1 ? Value() : scalar.isEqual(share, 0);
  // Where units have no shares, there are threads beyond the places.
  auto done = forShare(
      stage.units, stage.shares == 1 ? plan.team : stage.places, place, {},
      [&](Unit unit, ValueRange) -> Values {
        Indices at = this->place(shape, unit.number, lanes);
        auto values = computeUnit(stage, at, share);
        if (failed(values))
          return failure();
        Pull pull(b, loc, lanes);
        if (failed(buildIf(b, loc, scalar.both(unit.takesPart, first),
                           [&]() -> LogicalResult {
                             for (auto [value, buffer] :
                                  llvm::zip_equal(*values, memory))
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

} // namespace tinh::cuda
