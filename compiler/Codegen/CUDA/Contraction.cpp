//===- Contraction.cpp - Products in tiles of blocks ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block goes through the depth in steps. While its threads multiply what one
// step has in shared memory, they load the next step's elements to registers:
// what comes before the product is pulled then. The sums stay in registers;
// what follows the product is pulled on them before they are stored.
//
// Indices beyond an end are clamped, so that loads need no branches: sums of
// rows and columns that do not exist are not stored, and beyond the depth
// zeros are multiplied.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/ContractionEmitter.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

/// Sums of a thread lie in groups of so many rows or columns: as wide as the
/// accesses to shared memory.
constexpr int64_t kGroup = 4;

//===----------------------------------------------------------------------===//
// From global to shared memory
//===----------------------------------------------------------------------===//

/// What the thread loads as its `number`th.
ContractionEmitter::Unit ContractionEmitter::unitOf(const SharedTile &shared,
                                                    int64_t number) {
  int64_t lanes = width(shared);
  bool alongDepth = shared.factor.alongDepth;
  Value rest = scalar.add(kernel.thread, scalar.index(number * tile.threads()));
  Value inner = scalar.mul(
      scalar.peel(rest, (alongDepth ? tile.depth : shared.elements) / lanes),
      lanes);
  return alongDepth ? Unit{rest, inner} : Unit{inner, rest};
}

Value ContractionEmitter::minimum(Value x, int64_t most) {
  return b.createOrFold<arith::MinUIOp>(loc, x, scalar.index(most));
}

/// A vector of the factor's width, or one element, as shared memory has it.
FailureOr<Value> ContractionEmitter::loadUnit(const SharedTile &shared,
                                              const Unit &unit, Value first) {
  int64_t lanes = width(shared), depth = p.extentOf(p.depth);
  bool alongDepth = shared.factor.alongDepth;
  Value at = scalar.add(first, unit.depth);
  Indices dims = batch;
  Pull pull(b, loc, lanes);
  kernel.bindInputs(pull);
  int64_t rowLanes = alongDepth ? 1 : lanes,
          depthLanes = alongDepth ? lanes : 1;
  p.setDigits(
      pull, shared.factor.loops,
      minimum(scalar.add(shared.first, unit.row), shared.extent - rowLanes),
      rowLanes, dims);
  p.setDigits(pull, p.depth, minimum(at, depth - depthLanes), depthLanes, dims);
  auto indices = pull.apply(shared.factor.map, dims);
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
  if (depth % tile.depth == 0)
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                       scalar.index(depth));
  return Value(arith::SelectOp::create(b, loc, inside, value, zero));
}

/// All that the thread loads of a factor for the step from `depth` on.
FailureOr<Values> ContractionEmitter::loadTile(SharedTile &shared,
                                               Value depth) {
  Values values;
  for (int64_t i = 0; i < unitsPerThread(shared); ++i) {
    auto value = loadUnit(shared, unitOf(shared, i), depth);
    if (failed(value) && shared.factor.width > 1) {
      shared.factor.width = 1; // It cannot be computed in vectors.
      return loadTile(shared, depth);
    }
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

/// Stores them to the step at `base` in shared memory.
void ContractionEmitter::storeTile(const SharedTile &shared,
                                   ArrayRef<Value> values, Value base) {
  int64_t lanes = width(shared);
  bool alongDepth = shared.factor.alongDepth;
  int64_t stride = alongDepth ? shared.depthStride : shared.rowStride;
  for (auto [i, value] : llvm::enumerate(values)) {
    Unit unit = unitOf(shared, i);
    Value at = scalar.add(scalar.mul(unit.depth, shared.depthStride),
                          scalar.mul(unit.row, shared.rowStride));
    at = scalar.add(scalar.add(base, scalar.index(shared.offset)), at);
    if (lanes == 1) {
      memref::StoreOp::create(b, loc, value, memory, at);
    } else if (stride == 1) {
      int64_t bytes = lanes * graph::elementSize(storedType());
      vector::StoreOp::create(b, loc, value, memory, at, /*nontemporal=*/false,
                              llvm::MaybeAlign(std::min<int64_t>(16, bytes)));
    } else {
      for (int64_t lane = 0; lane < lanes; ++lane)
        memref::StoreOp::create(
            b, loc, vector::ExtractOp::create(b, loc, value, lane), memory,
            scalar.add(at, scalar.index(lane * stride)));
    }
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Warps are 4 threads high and 8 wide: together they read the least from
/// shared memory.
void ContractionEmitter::findThread() {
  constexpr int64_t kHeight = 4, kWidth = kWarp / kHeight;
  Value rest = kernel.thread;
  Value column = scalar.peel(rest, kWidth), row = scalar.peel(rest, kHeight);
  int64_t warps = tile.columns / tile.threadColumns / kWidth;
  Value warpColumn = scalar.peel(rest, warps);
  threadColumn = scalar.add(scalar.mul(warpColumn, kWidth), column);
  threadRow = scalar.add(scalar.mul(rest, kHeight), row);
}

/// Tiles of one batch follow each other, those of the same rows first.
void ContractionEmitter::findBlock() {
  Value rest = kernel.block;
  Value column = scalar.peel(rest, plan.columnTiles),
        row = scalar.peel(rest, plan.rowTiles);
  rows = {p.rows,    p.extentOf(p.rows.loops),
          tile.rows, scalar.mul(row, tile.rows),
          0,         0,
          0};
  columns = {p.columns,
             p.extentOf(p.columns.loops),
             tile.columns,
             scalar.mul(column, tile.columns),
             0,
             0,
             0};
  batch.assign(p.extents.size(), {scalar.index(0), 0, 1 << 20});
  p.setDigits(scalar, p.batch, rest, 1, batch);
}

/// Rows lie side by side, so that threads read vectors of them.
void ContractionEmitter::layOut() {
  rows.rowStride = columns.rowStride = 1;
  rows.depthStride = Tile::pitch(tile.rows);
  columns.depthStride = Tile::pitch(tile.columns);
  columns.offset = tile.depth * rows.depthStride;
}

/// Group `group` of the elements that the thread multiplies at `depth` of the
/// step at `base`.
Value ContractionEmitter::sharedVector(const SharedTile &shared, Value base,
                                       int64_t depth, Value thread,
                                       int64_t group, int64_t groups) {
  int64_t offset = shared.offset + depth * shared.depthStride +
                   group * (shared.elements / groups);
  Value at = scalar.add(base, scalar.mul(thread, kGroup));
  return vector::LoadOp::create(b, loc, vectorType(kGroup), memory,
                                scalar.add(at, scalar.index(offset)),
                                /*nontemporal=*/false, llvm::MaybeAlign(16));
}

/// Adds the products of a step to the thread's sums: vectors of columns, one
/// row after the other.
Values ContractionEmitter::multiply(Value base, ValueRange before) {
  int64_t rowGroups = tile.threadRows / kGroup;
  int64_t columnGroups = tile.threadColumns / kGroup;
  Values sums(before);
  for (int64_t depth = 0; depth < tile.depth; ++depth) {
    Values ofRows, ofColumns;
    for (int64_t g = 0; g < rowGroups; ++g)
      ofRows.push_back(
          sharedVector(rows, base, depth, threadRow, g, rowGroups));
    for (int64_t g = 0; g < columnGroups; ++g)
      ofColumns.push_back(
          sharedVector(columns, base, depth, threadColumn, g, columnGroups));
    for (int64_t row = 0; row < tile.threadRows; ++row) {
      Value element =
          vector::ExtractOp::create(b, loc, ofRows[row / kGroup], row % kGroup);
      Value same =
          vector::BroadcastOp::create(b, loc, vectorType(kGroup), element);
      for (int64_t g = 0; g < columnGroups; ++g) {
        Value &sum = sums[row * columnGroups + g];
        sum = vector::FMAOp::create(b, loc, same, ofColumns[g], sum);
      }
    }
  }
  return sums;
}

Values ContractionEmitter::startSums() {
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType(kGroup)));
  return Values(tile.threadRows * tile.threadColumns / kGroup, zero);
}

FailureOr<Values> ContractionEmitter::emitSums() {
  int64_t steps = llvm::divideCeil(p.extentOf(p.depth), tile.depth);
  auto load = [&](Value step) -> FailureOr<std::array<Values, 2>> {
    Value depth = scalar.mul(step, tile.depth);
    auto ofRows = loadTile(rows, depth), ofColumns = loadTile(columns, depth);
    if (failed(ofRows) || failed(ofColumns))
      return failure();
    return std::array<Values, 2>{*ofRows, *ofColumns};
  };
  // Every other step lies in the same place.
  auto place = [&](Value step) {
    Value odd = b.createOrFold<arith::AndIOp>(loc, step, scalar.index(1));
    return scalar.mul(odd, stepElements());
  };
  auto store = [&](const std::array<Values, 2> &values, Value step) {
    storeTile(rows, values[0], place(step));
    storeTile(columns, values[1], place(step));
  };
  auto first = load(scalar.index(0));
  if (failed(first))
    return failure();
  store(*first, scalar.index(0));
  auto body = [&](Value step, ValueRange before) -> FailureOr<Values> {
    // All have stored this step's elements, and multiplied those of the one
    // before, which the next one's take the place of.
    kernel.barrier(b);
    Value next = scalar.add(step, scalar.index(1));
    auto values = load(next);
    if (failed(values))
      return failure();
    Values after = multiply(place(step), before);
    store(*values, next);
    return after;
  };
  return buildLoop(b, loc, scalar.index(0), scalar.index(steps), 1, startSums(),
                   body);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult ContractionEmitter::when(Value index, int64_t end,
                                       function_ref<LogicalResult()> body) {
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index,
                                       scalar.index(end));
  auto branch = scf::IfOp::create(b, loc, inside);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  LogicalResult emitted = body();
  if (failed(emitted))
    branch.erase(); // Its caller may go on in another way.
  return emitted;
}

/// The columns, at most so many, that are stored as a vector.
int64_t ContractionEmitter::resultLanes(int64_t most) const {
  if (p.columns.loops.empty())
    return 1;
  unsigned loop = p.columns.loops.back();
  bool last = p.output.getDimPosition(p.output.getNumResults() - 1) == loop;
  return last && p.extents[loop] % most == 0 ? most : 1;
}

/// The indices in `p.result` of the sums from these on.
FailureOr<Indices> ContractionEmitter::resultIndices(Pull &pull, Value row,
                                                     Value column) {
  Indices dims = batch;
  p.setDigits(pull, p.rows.loops, row, 1, dims);
  p.setDigits(pull, p.columns.loops, column, pull.laneCount(), dims);
  auto at = pull.apply(p.output, dims);
  auto merged = p.result.getDefiningOp<tensor::CollapseShapeOp>();
  if (failed(at) || !merged)
    return at;
  return pull.merge(*at, merged.getSrcType().getShape(),
                    merged.getReassociationIndices());
}

/// Stores what follows from `sums`, of the columns from this one on.
LogicalResult ContractionEmitter::finish(Pull &pull, Value sums, Value row,
                                         Value column) {
  auto at = resultIndices(pull, row, column);
  if (failed(at))
    return failure();
  kernel.bindInputs(pull);
  pull.registers[p.result] = {sums, pull.laneCount() == 1, {}};
  SmallVector<LaneValue> values;
  auto results = kernel.source.getBody().front().getTerminator();
  for (Value result : results->getOperands()) {
    auto value = pull.at(result, *at);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  unsigned inputs = kernel.source.getNumArguments();
  for (auto [i, value] : llvm::enumerate(values))
    if (failed(pull.store(value, kernel.operand(inputs + i), *at)))
      return failure();
  return success();
}

/// The same, so many sums at a time.
LogicalResult ContractionEmitter::emitLanes(Value sums, Value row, Value column,
                                            int64_t lanes) {
  int64_t count = cast<VectorType>(sums.getType()).getNumElements();
  for (int64_t lane = 0; lane < count; lane += lanes) {
    Value at = scalar.add(column, scalar.index(lane));
    auto store = [&] {
      Value sum = sums;
      if (lanes == 1)
        sum = vector::ExtractOp::create(b, loc, sums, lane);
      Pull pull(b, loc, lanes);
      return finish(pull, sum, row, at);
    };
    if (failed(when(at, columns.extent, store)))
      return failure();
  }
  return success();
}

LogicalResult ContractionEmitter::emitGroup(Value sums, Value row,
                                            Value column) {
  int64_t count = cast<VectorType>(sums.getType()).getNumElements();
  // What follows the product may have no form in vectors.
  if (succeeded(emitLanes(sums, row, column, resultLanes(count))))
    return success();
  return emitLanes(sums, row, column, 1);
}

/// A row of the thread's sums.
LogicalResult ContractionEmitter::emitRow(ArrayRef<Value> sums, Value row) {
  for (auto [g, sum] : llvm::enumerate(sums)) {
    Value column =
        scalar.add(scalar.add(columns.first, scalar.mul(threadColumn, kGroup)),
                   scalar.index(g * (tile.columns / sums.size())));
    if (failed(emitGroup(sum, row, column)))
      return failure();
  }
  return success();
}

LogicalResult ContractionEmitter::emitResults(const Values &sums) {
  int64_t rowGroups = tile.threadRows / kGroup;
  int64_t columnGroups = tile.threadColumns / kGroup;
  for (int64_t i = 0; i < tile.threadRows; ++i) {
    int64_t from = i / kGroup * (tile.rows / rowGroups) + i % kGroup;
    Value row =
        scalar.add(scalar.add(rows.first, scalar.mul(threadRow, kGroup)),
                   scalar.index(from));
    auto ofRow = ArrayRef(sums).slice(i * columnGroups, columnGroups);
    if (failed(when(row, rows.extent, [&] { return emitRow(ofRow, row); })))
      return failure();
  }
  return success();
}

LogicalResult ContractionEmitter::emit() {
  findThread();
  findBlock();
  layOut();
  memory = kernel.sharedBuffer(b, 0, {2 * stepElements()}, storedType()).memref;
  auto sums = emitSums();
  return failed(sums) ? failure() : emitResults(*sums);
}

/// The chip that code is compiled for, such as 800 for sm_80: LLVM folds it,
/// and what depends on it.
static Value emitChip(OpBuilder &b, EmittedKernel &kernel) {
  constexpr StringLiteral kName = "cuda_arch_name";
  Location loc = kernel.source.getLoc();
  auto module = kernel.function->getParentOfType<gpu::GPUModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(kName);
  if (!global) {
    StringRef text("__CUDA_ARCH\0", 12);
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    global = LLVM::GlobalOp::create(
        outside, loc, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, kName,
        b.getStringAttr(text));
  }
  Value name = LLVM::AddressOfOp::create(b, loc, global);
  return LLVM::CallIntrinsicOp::create(b, loc, b.getI32Type(),
                                       b.getStringAttr(kReflect),
                                       ValueRange(name))
      .getResult(0);
}

LogicalResult emitContraction(EmittedKernel &kernel, const Target &target) {
  auto p = matchProduct(kernel.source);
  if (!p)
    return failure();
  // All registers there are: without this ptxas spills some, to run more blocks
  // at a time.
  kernel.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                           OpBuilder(kernel.function).getI32IntegerAttr(1));
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  Tile tile = planContraction(*p).tile;
  if (!p->takesTensorCores(target))
    return ContractionEmitter(kernel, *p, b, tile).emit();
  Location loc = kernel.source.getLoc();
  Value first = arith::ConstantIntOp::create(b, loc, 800, 32);
  Value has = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                    emitChip(b, kernel), first);
  auto branch = scf::IfOp::create(b, loc, has, /*withElseRegion=*/true);
  if (failed(emitWithTensorCores(kernel, *p, branch.getThenBodyBuilder())))
    return failure();
  return ContractionEmitter(kernel, *p, branch.getElseBodyBuilder(), tile)
      .emit();
}

} // namespace tinh::cuda
