//===- ContractionEmit.cpp - Products in tiles of blocks --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block goes through the depth in steps. While its threads multiply what one
// step has in shared memory, they load the elements of the next: to registers,
// where what comes before the product is pulled, or by asynchronous copies
// (ContractionEmitPipeline.cpp). The sums stay in registers; what follows the
// product is pulled on them before they are stored.
//
// Indices beyond an end are clamped, so that loads need no branches: sums of
// rows and columns that do not exist are not stored, and beyond the depth
// zeros are multiplied.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmitTensorCores.h"

#include "compiler/Codegen/CUDA/Chips.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// From global to shared memory
//===----------------------------------------------------------------------===//

/// What the thread loads as its `number`th vector.
ContractionEmitter::Unit ContractionEmitter::unitOf(const SharedTile &shared,
                                                    int64_t number,
                                                    int64_t lanes) {
  bool alongDepth = shared.factor.alongDepth;
  Value rest = scalar.add(kernel.thread, scalar.index(number * tile.threads()));
  Value inner =
      scalar.mul(scalar.takeDigit(
                     rest, (alongDepth ? stepDepth : shared.elements) / lanes),
                 lanes);
  return alongDepth ? Unit{rest, inner} : Unit{inner, rest};
}

Value ContractionEmitter::minimum(Value x, int64_t most) {
  return b.createOrFold<arith::MinUIOp>(loc, x, scalar.index(most));
}

Value ContractionEmitter::isBelow(Value x, int64_t end) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, x,
                                       scalar.index(end));
}

Value ContractionEmitter::isInside(const Unit &unit, Value first) {
  int64_t depth = p.extentOf(p.depth);
  if (depth % depthUnit() == 0)
    return {};
  return isBelow(scalar.add(first, unit.depth), depth);
}

Indices ContractionEmitter::indicesOf(Pull &pull, const SharedTile &shared,
                                      const Unit &unit, Value first) {
  int64_t lanes = pull.laneCount(), depth = p.extentOf(p.depth);
  bool alongDepth = shared.factor.alongDepth;
  int64_t rowLanes = alongDepth ? 1 : lanes,
          depthLanes = alongDepth ? lanes : 1;
  Indices dims = batch;
  Value row = scalar.add(shared.first, unit.row);
  if (shared.extent % shared.elements != 0)
    row = minimum(row, shared.extent - rowLanes);
  p.setDigits(pull, shared.factor.loops, row, rowLanes, dims);
  if (depth % depthUnit() == 0)
    p.setDepth(pull, first, unit.depth, stepDepth, depthLanes, dims);
  else
    p.setDigits(pull, p.depth,
                minimum(scalar.add(first, unit.depth), depth - depthLanes),
                depthLanes, dims);
  return dims;
}

/// A vector of the factor's width, or one element, as shared memory has it.
FailureOr<Value> ContractionEmitter::loadUnit(const SharedTile &shared,
                                              const Unit &unit, Value first) {
  int64_t lanes = shared.lanes, depth = p.extentOf(p.depth);
  Pull pull = kernel.makePull(b, lanes);
  if (depth % depthUnit() == 0)
    first = minimum(first, depth - stepDepth);
  auto indices =
      pull.apply(shared.factor.map, indicesOf(pull, shared, unit, first));
  if (failed(indices))
    return failure();
  auto element = pull.at(shared.factor.value, *indices);
  if (failed(element))
    return failure();
  Value value = pull.asVector(*element);
  Type type = storedType();
  if (lanes > 1)
    type = VectorType::get({lanes}, type);
  if (value.getType() != type)
    value = arith::ExtFOp::create(b, loc, type, value);
  Value inside = isInside(unit, first);
  if (!inside)
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return Value(arith::SelectOp::create(b, loc, inside, value, zero));
}

FailureOr<Values> ContractionEmitter::loadTile(const SharedTile &shared,
                                               Value first) {
  Values values;
  int64_t units = shared.elements * stepDepth / (shared.lanes * tile.threads());
  for (int64_t i = 0; i < units; ++i) {
    auto value = loadUnit(shared, unitOf(shared, i, shared.lanes), first);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

void ContractionEmitter::storeTile(const SharedTile &shared,
                                   ArrayRef<Value> values, Value base) {
  for (auto [i, value] : llvm::enumerate(values))
    storeUnit(shared, unitOf(shared, i, shared.lanes), value, base);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Tiles of one batch follow each other, those of the same rows first.
void ContractionEmitter::findBlock() {
  Value rest = kernel.block;
  Value column = scalar.takeDigit(rest, code.columnTiles),
        row = scalar.takeDigit(rest, code.rowTiles);
  rows = {p.left,
          code.loads[0],
          p.extentOf(p.left.loops),
          tile.rows,
          scalar.mul(row, tile.rows),
          0};
  columns = {p.right,
             code.loads[1],
             p.extentOf(p.right.loops),
             tile.columns,
             scalar.mul(column, tile.columns),
             columnsOffset()};
  batch.assign(p.extents.size(), {scalar.index(0), 0, kOfZero});
  p.setDigits(scalar, p.batch, rest, 1, batch);
}

Value ContractionEmitter::baseOf(Value step) {
  Value slot =
      stages == 2
          ? b.createOrFold<arith::AndIOp>(loc, step, scalar.index(1))
          : b.createOrFold<arith::RemUIOp>(loc, step, scalar.index(stages));
  return scalar.mul(slot, stepElements());
}

FailureOr<ContractionEmitter::Staged> ContractionEmitter::fetch(Value step,
                                                                bool) {
  Value first = scalar.mul(step, stepDepth);
  Staged staged;
  for (auto [values, shared] :
       {std::pair(&staged[0], &rows), std::pair(&staged[1], &columns)}) {
    if (isCopied(*shared))
      continue;
    auto loaded = loadTile(*shared, first);
    if (failed(loaded))
      return failure();
    *values = *loaded;
  }
  return staged;
}

void ContractionEmitter::store(const Staged &staged, Value step) {
  storeTile(rows, staged[0], baseOf(step));
  storeTile(columns, staged[1], baseOf(step));
}

FailureOr<Values> ContractionEmitter::addStep(Value step, ValueRange sums) {
  awaitStep();
  // It takes the place of one that all have multiplied.
  Value later = scalar.add(step, scalar.index(ahead));
  auto staged = fetch(later, /*isKnown=*/false);
  if (failed(staged))
    return failure();
  Values after = multiplyStep(step, sums);
  store(*staged, later);
  return after;
}

FailureOr<Values> ContractionEmitter::emitSums() {
  for (int64_t i = 0; i < ahead; ++i) {
    if (i >= steps()) {
      commit(); // Groups are counted.
      continue;
    }
    auto staged = fetch(scalar.index(i), /*isKnown=*/true);
    if (failed(staged))
      return failure();
    store(*staged, scalar.index(i));
  }
  return buildLoop(
      b, loc, scalar.index(0), scalar.index(steps()), 1, startSums(),
      [&](Value step, ValueRange sums) { return addStep(step, sums); });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult ContractionEmitter::whenRow(Value row,
                                          function_ref<LogicalResult()> body) {
  if (rows.extent % rows.elements == 0)
    return body();
  return buildIf(b, loc, isBelow(row, rows.extent), body);
}

/// The indices in `p.result` of the sums from these on.
FailureOr<Indices> ContractionEmitter::resultIndices(Pull &pull, Value row,
                                                     Value column) {
  Indices dims = batch;
  p.setDigits(pull, p.left.loops, row, 1, dims);
  p.setDigits(pull, p.right.loops, column, pull.laneCount(), dims);
  auto at = pull.apply(p.output, dims);
  if (failed(at))
    return failure();
  return indicesInResult(pull, p.op->getResult(0), p.result, *at);
}

/// Stores what follows from `sums`, of the columns from this one on.
LogicalResult ContractionEmitter::finish(Pull &pull, Value sums, Value row,
                                         Value column) {
  auto at = resultIndices(pull, row, column);
  if (failed(at))
    return failure();
  pull.buffers = kernel.inputs();
  pull.registers[p.result] = pull.inRegisters(sums);
  return kernel.storeResults(pull, *at);
}

/// The same, so many sums at a time.
LogicalResult ContractionEmitter::emitLanes(Value sums, Value row, Value column,
                                            int64_t lanes) {
  int64_t count = cast<VectorType>(sums.getType()).getNumElements();
  for (int64_t lane = 0; lane < count; lane += lanes) {
    Value at = scalar.add(column, scalar.index(lane));
    auto store = [&]() -> LogicalResult {
      Value sum = sums;
      if (lanes == 1)
        sum = vector::ExtractOp::create(b, loc, sums, lane);
      Pull pull(b, loc, lanes);
      return finish(pull, sum, row, at);
    };
    Value exists;
    if (columns.extent % columns.elements != 0)
      exists = isBelow(at, columns.extent);
    if (failed(buildIf(b, loc, exists, store)))
      return failure();
  }
  return success();
}

LogicalResult ContractionEmitter::emitGroup(Value sums, Value row,
                                            Value column) {
  int64_t count = cast<VectorType>(sums.getType()).getNumElements();
  return emitLanes(sums, row, column, count <= code.stores ? count : 1);
}

LogicalResult ContractionEmitter::emit() {
  findThread();
  findBlock();
  memory = kernel.sharedBuffer(b, 0, {sharedElements()}, storedType()).memref;
  auto sums = emitSums();
  return failed(sums) ? failure() : emitResults(*sums);
}

//===----------------------------------------------------------------------===//
// For each chip
//===----------------------------------------------------------------------===//

/// The code of the newest level that the plan has code for, for chips that have
/// it; then for the others.
LogicalResult ContractionStrategy::emit(EmittedKernel &kernel, const Product &p,
                                        Plan plan, const Target &) {
  kernel.takeRegisters();
  OpBuilder b = kernel.builder();
  Tiles tiles = tilesOf(p, plan);
  Tile tile = tileOf(plan);
  auto code = [&](int64_t depth, ArrayRef<int64_t> loads, int64_t stores) {
    return TileCode{tile,  tiles.rows,           tiles.columns,
                    depth, {loads[0], loads[1]}, stores};
  };
  if (TensorCoresAttr tensor = plan.getTensorCores()) {
    Value chip = emitChip(b, kernel);
    int64_t depth = kStepBytes / bytesOf(p), stages = tensor.getStages();
    // Not those after it: sm_90a alone has them.
    if (WarpgroupsAttr groups = plan.getWarpgroups())
      if (failed(emitWithWarpgroups(
              kernel, p, code(depth, tensor.getLoads(), groups.getStores()),
              groups, branchOnChip(b, chip, arith::CmpIPredicate::eq, 900))))
        return failure();
    OpBuilder later = branchOnChip(b, chip, arith::CmpIPredicate::sge, 800);
    TensorCoreEmitter emitter(
        kernel, p, code(depth, tensor.getLoads(), tensor.getStores()), later,
        stages, /*ahead=*/stages - 1, tensor.getWarp()[0], tensor.getWarp()[1]);
    if (failed(emitter.emit()))
      return failure();
  }
  TileCode scalar = code(plan.getDepth(), plan.getLoads(), plan.getStores());
  return p.isOfBytes() ? ByteEmitter(kernel, p, scalar, b).emit()
                       : ScalarEmitter(kernel, p, scalar, b).emit();
}

} // namespace tinh::cuda
