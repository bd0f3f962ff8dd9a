//===- RowsEmit.cpp - Code of rows ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/ContractionEmit.h"
#include "compiler/Codegen/CPU/Rows/Rows.h"
#include "compiler/Codegen/CPU/Rows/Scan.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Emits the code of one unit: a row, or a block of one.
class RowEmitter {
public:
  RowEmitter(EmittedKernel &kernel, const Rows &rows, const RowsPlan &plan,
             const Target &target, OpBuilder &b)
      : kernel(kernel), rows(rows), plan(plan), target(target), b(b),
        loc(kernel.source.getLoc()), scalar(b, loc, 1),
        buffers(kernel.inputs()) {}

  /// Copies the right factors of products, for all blocks of the row.
  LogicalResult emitRightFactors(ArrayRef<LaneIndex> row) {
    for (const RowStage &stage : plan.stages)
      if (stage.product && failed(emitRightFactor(stage, row)))
        return failure();
    return success();
  }

  LogicalResult emit(ArrayRef<LaneIndex> row, Value block) {
    if (plan.cutsStages)
      findIndices(block);
    int64_t offset = 0;
    for (const RowStage &stage : plan.stages)
      if (failed(emitStage(stage, row, offset)))
        return failure();
    unsigned inputs = kernel.source.getNumArguments();
    for (auto [i, written] : llvm::enumerate(rows.written)) {
      Buffer buffer = kernel.operand(inputs + i);
      buffer.strides = written.strides;
      if (failed(emitResult(written.value, buffer, row, block)))
        return failure();
    }
    return success();
  }

private:
  /// A product that is a stage, and where its results go.
  struct Product {
    std::unique_ptr<ContractionEmitter> emitter;
    Buffer memory;
  };

  int64_t lanesFor(int64_t extent) const {
    return plan.lanesFor(extent, rows.reduced);
  }

  Pull makePull(int64_t lanes) {
    Pull pull(b, loc, lanes);
    pull.buffers = buffers;
    return pull;
  }

  using Body = function_ref<LogicalResult(Pull &, Indices)>;

  /// The indices behind `plan.outer` that are in a block of stages.
  void findIndices(Value block) {
    int64_t extent = rows.resultType(0).getDimSize(plan.outer);
    from = scalar.mul(block, plan.blockSize);
    to = scalar.minimum(scalar.add(from, scalar.index(plan.blockSize)), extent);
  }

  /// Loops over the dimensions of `shape` from `plan.outer` on, `lane` a vector
  /// at a time; calls `body` with each index. Of a block of stages, the first
  /// dimension has its indices alone.
  LogicalResult forEach(ArrayRef<int64_t> shape, ArrayRef<LaneIndex> row,
                        int64_t lane, int64_t lanes, Body body) {
    std::function<LogicalResult(Pull &, Indices)> nest =
        [&](Pull &pull, Indices indices) -> LogicalResult {
      int64_t dim = indices.size(), rank = shape.size();
      if (dim == rank)
        return body(pull, indices);
      bool isCut = plan.cutsStages && dim == plan.outer;
      if (dim == lane && lanes > 1 && !isCut)
        return forLanes(shape[dim], lanes, pull.index(0), indices, nest);
      indices.push_back({});
      auto next = [&](Value iv) {
        indices.back() = {iv, 0, 1};
        return nest(pull, indices);
      };
      return isCut ? buildLoop(b, loc, from, to, 1, next)
                   : buildLoop(b, loc, shape[dim], 1, next);
    };
    Pull pull = makePull(1);
    return nest(pull, Indices(row));
  }

  /// Loops over `extent` elements of the next dimension from `start`.
  LogicalResult forLanes(int64_t extent, int64_t lanes, Value start,
                         Indices indices, Body body) {
    int64_t whole = extent / lanes * lanes;
    indices.push_back({});
    auto at = [&](Value iv, Value mask) {
      Pull pull = makePull(lanes);
      pull.mask = mask;
      indices.back() = {pull.add(start, iv), lanes > 1 ? 1 : 0, lanes};
      return body(pull, indices);
    };
    LogicalResult main =
        buildLoop(b, loc, whole, lanes, [&](Value iv) { return at(iv, {}); });
    if (failed(main) || whole == extent)
      return main;
    return at(arith::ConstantIndexOp::create(b, loc, whole),
              firstLanes(b, loc, extent - whole, lanes));
  }

  /// Where the results of a stage go, of a row each, from `offset` on.
  SmallVector<Buffer> stageMemory(linalg::GenericOp stage, int64_t &offset) {
    SmallVector<Buffer> memory;
    for (Value result : stage.getResults()) {
      RankedTensorType kept = plan.keptType(result);
      Buffer buffer = kernel.scratchBuffer(b, offset, kept.getShape(),
                                           kept.getElementType());
      offset += alignBytes(graph::tensorSize(kept));
      buffer.strides.insert(buffer.strides.begin(), plan.outer, 0);
      if (plan.cutsStages) {
        buffer.origin.assign(buffer.strides.size(), scalar.index(0));
        buffer.origin[plan.outer] = from;
      }
      memory.push_back(buffer);
    }
    return memory;
  }

  LogicalResult emitStage(const RowStage &stage, ArrayRef<LaneIndex> row,
                          int64_t &offset) {
    linalg::GenericOp op = stage.kept;
    SmallVector<Buffer> memory = stageMemory(op, offset);
    if (failed(fillStage(stage, row, memory)))
      return failure();
    for (auto [result, buffer] : llvm::zip(op.getResults(), memory))
      buffers[result] = buffer;
    return success();
  }

  LogicalResult fillStage(const RowStage &stage, ArrayRef<LaneIndex> row,
                          ArrayRef<Buffer> memory) {
    linalg::GenericOp op = stage.op;
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op.getResult(0).getType()).getShape();
    if (stage.form == RowStage::Product)
      return emitProduct(stage, row, memory[0]);
    if (stage.form == RowStage::Scan) {
      buffers[op.getResult(0)] = memory[0];
      return emitScanStage(*matchScan(op), shape, row, memory[0]);
    }
    bool hasLanes =
        !reducesLanes(op) && shape.size() > static_cast<size_t>(plan.outer);
    int64_t lanes = hasLanes ? lanesFor(shape.back()) : 1;
    auto compute = [&](Pull &pull, Indices indices) {
      return computeElements(stage, pull, indices, memory);
    };
    return forEach(shape, row, shape.size() - 1, lanes, compute);
  }

  LogicalResult emitRightFactor(const RowStage &stage,
                                ArrayRef<LaneIndex> row) {
    linalg::GenericOp op = stage.op, kept = stage.kept;
    auto finish = [this, op, kept](Pull &pull, Value sums,
                                   Indices at) mutable -> LogicalResult {
      pull.registers[op.getResult(0)] = {sums, false, {}};
      auto value = pull.at(kept.getResult(0), at);
      return failed(value) ? failure()
                           : pull.store(*value, products[op].memory, at);
    };
    auto &emitter = products[op].emitter;
    emitter = std::make_unique<ContractionEmitter>(
        kernel, *stage.product, stage.plan, target, b, buffers, finish);
    return emitter->emitRight(Indices(row));
  }

  LogicalResult emitProduct(const RowStage &stage, ArrayRef<LaneIndex> row,
                            const Buffer &memory) {
    if (!plan.cutsStages && failed(emitRightFactor(stage, row)))
      return failure();
    Product &product = products[stage.op];
    product.memory = memory;
    Value tile = scalar.index(0), tileEnd = scalar.index(stage.plan.tiles);
    if (plan.cutsStages) {
      Value rows = scalar.index(stage.plan.tileRows);
      tile = b.createOrFold<arith::DivUIOp>(loc, from, rows);
      tileEnd = b.createOrFold<arith::CeilDivUIOp>(loc, to, rows);
    }
    return product.emitter->emitRows(tile, tileEnd);
  }

  LogicalResult computeElements(const RowStage &stage, Pull &pull,
                                const Indices &indices,
                                ArrayRef<Buffer> memory) {
    linalg::GenericOp op = stage.op;
    if (stage.form == RowStage::AlongLanes) {
      Pull vectors = makePull(plan.lanes);
      auto total = vectors.reduceAlongLanes(op, indices);
      return failed(total) ? failure() : pull.store(*total, memory[0], indices);
    }
    if (op.getNumReductionLoops() == 0) {
      auto value = pull.at(op.getResult(0), indices);
      return failed(value) ? failure() : pull.store(*value, memory[0], indices);
    }
    auto values = pull.reduce(op, indices);
    if (failed(values))
      return failure();
    for (auto [value, buffer] : llvm::zip(*values, memory))
      if (failed(pull.store(value, buffer, indices)))
        return failure();
    return success();
  }

  /// A running sum goes along its axis inside of the loops over all others.
  LogicalResult emitScanStage(const Scan &scan, ArrayRef<int64_t> shape,
                              ArrayRef<LaneIndex> row, const Buffer &memory) {
    int64_t last = shape.size() - 1;
    bool along = scan.axis == last && plan.lanes > 1;
    SmallVector<int64_t> others(shape);
    others[scan.axis] = 1;
    auto compute = [&](Pull &pull, Indices indices) {
      if (!along)
        return emitScan(pull, scan, memory, indices);
      Pull vectors = makePull(plan.lanes);
      return emitScanAlongLanes(vectors, scan, memory, indices);
    };
    return forEach(others, row, last, lanesFor(others[last]), compute);
  }

  LogicalResult emitResult(Value value, const Buffer &buffer,
                           ArrayRef<LaneIndex> row, Value block) {
    SmallVector<int64_t> shape =
        plan.mergedShape(cast<RankedTensorType>(value.getType()).getShape());
    if (llvm::is_contained(shape, 0))
      return success();
    // A concatenation is the sum of its pieces, each with its own loops.
    auto concat = value.getDefiningOp<tensor::ConcatOp>();
    if (concat && !plan.cutsLanes() &&
        static_cast<int64_t>(concat.getDim()) >= plan.outer) {
      int64_t start = 0;
      for (Value piece : concat.getInputs()) {
        Buffer part = buffer;
        part.origin.assign(shape.size(),
                           arith::ConstantIndexOp::create(b, loc, 0));
        part.origin[concat.getDim()] =
            arith::ConstantIndexOp::create(b, loc, -start);
        if (failed(emitResult(piece, part, row, block)))
          return failure();
        start +=
            cast<RankedTensorType>(piece.getType()).getDimSize(concat.getDim());
      }
      return success();
    }
    auto compute = [&](Pull &pull, Indices indices) -> LogicalResult {
      auto element = pull.at(value, indices);
      if (failed(element))
        return failure();
      return pull.store(*element, buffer, indices);
    };
    if (shape.size() <= static_cast<size_t>(plan.outer)) {
      Pull pull = makePull(1);
      return compute(pull, Indices(row.take_front(shape.size())));
    }
    int64_t lane = plan.along >= 0 ? plan.along : shape.size() - 1;
    if (!plan.cutsLanes())
      return forEach(shape, row, lane, lanesFor(shape[lane]), compute);
    return emitBlock(shape.back(), row, block, compute);
  }

  /// One block of the last dimension; the last one may be shorter.
  LogicalResult emitBlock(int64_t extent, ArrayRef<LaneIndex> row, Value block,
                          Body body) {
    int64_t lanes = lanesFor(plan.blockSize);
    Pull pull = makePull(lanes);
    Value start = pull.mul(block, plan.blockSize);
    Indices indices(row.begin(), row.end());
    indices.append(plan.merged - 1, {pull.index(0), 0, 1});
    int64_t tail = extent % plan.blockSize;
    if (tail == 0)
      return forLanes(plan.blockSize, lanes, start, indices, body);
    Value last = pull.index(plan.blocks - 1);
    Value whole = pull.compare(arith::CmpIPredicate::ne, block, last);
    auto branch = scf::IfOp::create(b, loc, TypeRange(), whole, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(forLanes(plan.blockSize, lanes, start, indices, body)))
      return failure();
    b.setInsertionPointToStart(branch.elseBlock());
    return forLanes(tail, lanes, start, indices, body);
  }

  EmittedKernel &kernel;
  const Rows &rows;
  const RowsPlan &plan;
  const Target &target;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Operation *, Product> products;
  Value from, to; // Of a block of stages.
};

} // namespace

LogicalResult RowsStrategy::emit(EmittedKernel &kernel, const Rows &rows,
                                 const RowsPlan &plan, const Target &target) {
  OpBuilder b = kernel.builder();
  Location loc = kernel.source.getLoc();
  ArrayRef<int64_t> outer =
      rows.resultType(0).getShape().take_front(plan.outer);
  Pull scalar(b, loc, 1);
  if (!plan.cutsStages) {
    Value unit = kernel.loopOverUnits(b, plan.units(), plan.unitsPerChunk);
    Value block = scalar.takeDigit(unit, plan.blocks);
    Indices row = scalar.unravelIndex(unit, outer);
    return RowEmitter(kernel, rows, plan, target, b).emit(row, block);
  }
  Value chunk = kernel.loopOverUnits(b, plan.chunks, 1);
  Value first = scalar.mul(scalar.takeDigit(chunk, plan.chunksPerRow()),
                           plan.unitsPerChunk);
  Value last = scalar.minimum(
      scalar.add(first, scalar.index(plan.unitsPerChunk)), plan.blocks);
  Indices row = scalar.unravelIndex(chunk, outer);
  RowEmitter emitter(kernel, rows, plan, target, b);
  if (failed(emitter.emitRightFactors(row)))
    return failure();
  return buildLoop(b, loc, first, last, 1,
                   [&](Value block) { return emitter.emit(row, block); });
}

} // namespace tinh::cpu
