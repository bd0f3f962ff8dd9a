//===- ScatterEmit.cpp - Elements written where indices say
//-------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for each unit: a block of the last dimension at an index of the others
//     y = x, unless they are in one place
//     for each update: y[position, block] = combine(y[…], update[…])
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Scatter/Scatter.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cpu {

/// Whether positions are the same along the last dimension.
static bool isUniformAlongLast(const Scatter &scatter) {
  return llvm::all_of(scatter.positions, [&](OpOperand *position) {
    linalg::GenericOp op = scatter.op;
    return !op.getMatchingIndexingMap(position).isFunctionOfDim(scatter.last());
  });
}

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(EmittedKernel &kernel, const Scatter &scatter,
                 const ScatterPlan &plan, const Target &target, OpBuilder &b)
      : kernel(kernel), scatter(scatter), plan(plan), lanes(target.lanes()),
        b(b), loc(kernel.source.getLoc()), scalar(kernel.makePull(b, 1)),
        result(kernel.operand(kernel.source.getNumArguments())),
        dims(scatter.extents.size()) {}

  LogicalResult emitUnit(Value unit);

private:
  using Body = function_ref<LogicalResult(Pull &)>;
  /// `body` for each index in [from, to) of the last dimension, in vectors of
  /// up to `width` lanes.
  LogicalResult forLast(Value from, Value to, int64_t width, Body body);
  /// The loops over `loops`, from the outermost on.
  LogicalResult nest(ArrayRef<unsigned> loops,
                     function_ref<LogicalResult()> body);
  LogicalResult emitInitial(Value from, Value to);
  LogicalResult emitUpdates(Value from, Value to);
  /// Sets the indices of the targets and gives the positions; leaves `b` where
  /// they are in the tensor.
  FailureOr<SmallVector<LaneValue>> findPositions();

  EmittedKernel &kernel;
  const Scatter &scatter;
  const ScatterPlan &plan;
  int64_t lanes;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Buffer result;
  Indices dims; // Of all loops, where code is being emitted.
};

} // namespace

LogicalResult ScatterEmitter::nest(ArrayRef<unsigned> loops,
                                   function_ref<LogicalResult()> body) {
  if (loops.empty())
    return body();
  Value extent = scalar.index(scatter.extents[loops.front()]);
  return buildLoop(b, loc, scalar.index(0), extent, 1, [&](Value iv) {
    dims[loops.front()] = {iv, 0, 1};
    return nest(loops.drop_front(), body);
  });
}

LogicalResult ScatterEmitter::forLast(Value from, Value to, int64_t width,
                                      Body body) {
  auto loop = [&](Value begin, Value end, bool masked) {
    return buildLoop(b, loc, begin, end, width, [&](Value iv) {
      Pull pull = kernel.makePull(b, width);
      if (masked)
        pull.mask = firstLanes(b, loc, scalar.sub(end, iv), width);
      dims[scatter.last()] = {iv, width > 1 ? 1 : 0, 1};
      return body(pull);
    });
  };
  if (width == 1)
    return loop(from, to, false);
  Value rest = scalar.remainder(scalar.sub(to, from), width);
  Value whole = scalar.sub(to, rest);
  if (failed(loop(from, whole, false)))
    return failure();
  return loop(whole, to, true);
}

LogicalResult ScatterEmitter::emitInitial(Value from, Value to) {
  SmallVector<unsigned> loops;
  for (unsigned target : scatter.targets)
    if (target != scatter.last())
      loops.push_back(target);
  llvm::sort(loops);
  return buildIf(b, loc, kernel.liesElsewhere(b, 0, scatter.initial), [&] {
    return nest(loops, [&] {
      return forLast(from, to, lanes, [&](Pull &pull) {
        return scatter.storeInitial(pull, result, dims);
      });
    });
  });
}

FailureOr<SmallVector<LaneValue>> ScatterEmitter::findPositions() {
  SmallVector<LaneValue> positions;
  Value exists;
  for (auto [operand, target] :
       llvm::zip_equal(scatter.positions, scatter.targets)) {
    auto position = pullOperand(scalar, *operand, dims);
    if (failed(position))
      return failure();
    if (operand->get().getDefiningOp<tensor::PadOp>()) {
      Value zero = arith::ConstantOp::create(
          b, loc, b.getZeroAttr(position->value.getType()));
      exists = scalar.compare(arith::CmpIPredicate::sge, position->value, zero);
    }
    Value index =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), position->value);
    dims[target] = {index, 0, 1};
    positions.push_back({position->value, true, {}});
  }
  if (exists) {
    auto branch = scf::IfOp::create(b, loc, TypeRange(), exists, false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  return positions;
}

LogicalResult ScatterEmitter::emitUpdates(Value from, Value to) {
  auto know = [&](Pull &pull, ArrayRef<LaneValue> positions) {
    for (auto [operand, position] :
         llvm::zip_equal(scatter.positions, positions))
      pull.registers[operand->get()] = position;
  };
  auto loops = llvm::to_vector(
      llvm::seq<unsigned>(scatter.rank, scatter.extents.size()));
  bool isLastTarget = scatter.isTarget(scatter.last());
  return nest(loops, [&]() -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (isUniformAlongLast(scatter)) {
      auto positions = findPositions();
      if (failed(positions))
        return failure();
      auto update = [&](Pull &pull) {
        know(pull, *positions);
        return scatter.update(pull, result, dims);
      };
      if (!isLastTarget)
        return forLast(from, to, lanes, update);
      Pull pull = kernel.makePull(b, 1);
      return update(pull);
    }
    return forLast(from, to, 1, [&](Pull &pull) -> LogicalResult {
      OpBuilder::InsertionGuard inner(b);
      auto positions = findPositions();
      if (failed(positions))
        return failure();
      know(pull, *positions);
      return scatter.update(pull, result, dims);
    });
  });
}

LogicalResult ScatterEmitter::emitUnit(Value unit) {
  Value block = scalar.takeDigit(unit, plan.blocks);
  for (unsigned dim = scatter.rank; dim-- > 0;)
    if (!scatter.isTarget(dim) && dim != scatter.last())
      dims[dim] = {scalar.takeDigit(unit, scatter.extents[dim]), 0, 1};
  Value from = scalar.mul(block, plan.blockSize);
  Value to = scalar.minimum(scalar.add(from, scalar.index(plan.blockSize)),
                            scatter.extents[scatter.last()]);
  if (failed(emitInitial(from, to)))
    return failure();
  return emitUpdates(from, to);
}

LogicalResult ScatterStrategy::emit(EmittedKernel &kernel,
                                    const Scatter &scatter,
                                    const ScatterPlan &plan,
                                    const Target &target) {
  OpBuilder b = kernel.builder();
  Value unit = kernel.loopOverUnits(b, plan.units, plan.unitsPerChunk);
  return ScatterEmitter(kernel, scatter, plan, target, b).emitUnit(unit);
}

} // namespace tinh::cpu
