//===- Rows.cpp - The strategy for all kernels without packed weights -----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategy.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Whether a value is computed by the kernel, element by element.
static bool isIntermediate(Value value) {
  return value.getDefiningOp() &&
         !isa<linalg::FillOp, tensor::EmptyOp, arith::ConstantOp>(
             value.getDefiningOp());
}

static AffineMap outputMap(linalg::GenericOp op) {
  return op.getMatchingIndexingMap(op.getDpsInitOperand(0));
}

/// The values that are computed from what is in scratch memory, and that
/// itself: of these only the unit's own part exists.
static llvm::DenseSet<Value> findPartial(ArrayRef<linalg::GenericOp> stages,
                                         Block &body) {
  llvm::DenseSet<Value> partial;
  for (linalg::GenericOp stage : stages)
    partial.insert_range(stage->getResults());
  for (Operation &op : body.without_terminator()) {
    bool reads = llvm::any_of(op.getOperands(),
                              [&](Value v) { return partial.contains(v); });
    op.walk([&](tensor::ExtractOp extract) {
      reads |= partial.contains(extract.getTensor());
    });
    if (reads)
      partial.insert_range(op.getResults());
  }
  return partial;
}

/// Leading dimensions, at most `rank`, in which `op` computes each index of its
/// result from that index of its partial operands alone.
static int64_t sharedRank(Operation *op, int64_t rank,
                          const llvm::DenseSet<Value> &partial) {
  auto isPartial = [&](Value value) { return partial.contains(value); };
  if (!llvm::any_of(op->getResults(), isPartial))
    return rank;
  auto keeps = [&](int64_t i) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      AffineMap output = outputMap(generic);
      if (i >= output.getNumResults() ||
          !isa<AffineDimExpr>(output.getResult(i)))
        return false;
      for (OpOperand *operand : generic.getDpsInputOperands()) {
        AffineMap map = generic.getMatchingIndexingMap(operand);
        if (isPartial(operand->get()) &&
            (i >= map.getNumResults() ||
             map.getResult(i) != output.getResult(i)))
          return false;
      }
      bool reads = false;
      generic.getBody()->walk([&](tensor::ExtractOp extract) {
        reads |= isPartial(extract.getTensor());
      });
      return !reads;
    }
    if (isa<linalg::FillOp, tensor::EmptyOp, arith::ConstantOp>(op))
      return true;
    auto sameExtent = [&](RankedTensorType a, RankedTensorType b,
                          ArrayRef<ReassociationIndices> groups) {
      return i < static_cast<int64_t>(groups.size()) && groups[i].size() == 1 &&
             groups[i][0] == i && a.getDimSize(i) == b.getDimSize(i);
    };
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return !isPartial(expand.getSrc()) ||
             sameExtent(expand.getSrcType(), expand.getResultType(),
                        expand.getReassociationIndices());
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      return !isPartial(collapse.getSrc()) ||
             sameExtent(collapse.getSrcType(), collapse.getResultType(),
                        collapse.getReassociationIndices());
    return llvm::none_of(op->getOperands(), isPartial);
  };
  int64_t shared = 0;
  while (shared < rank && keeps(shared))
    ++shared;
  return shared;
}

/// Whether all that depends on `value` reads it at the index it computes.
static bool pulledOnce(Value value) {
  if (!llvm::hasSingleElement(value.getUses()))
    return false;
  Operation *user = *value.user_begin();
  if (isa<func::ReturnOp>(user))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(user);
  if (!generic || generic.getNumReductionLoops() > 0 ||
      generic.getNumResults() != 1)
    return false;
  OpOperand &use = *value.use_begin();
  return generic.getMatchingIndexingMap(&use).isPermutation() &&
         pulledOnce(generic.getResult(0));
}

/// Whether lanes should lie along the reduction: its first input is contiguous
/// there.
static bool reducesLanes(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() == 0)
    return false;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  if (map.getNumResults() == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResult(map.getNumResults() - 1));
  if (!last)
    return false;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  return last.getPosition() == reduced.back();
}

/// If `value` only reorders the dimensions of another value, but for the last:
/// that value, with `strides` those of its elements in memory for `value`.
static Value peelPermutation(Value value, SmallVectorImpl<int64_t> &strides) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || op.getNumDpsInputs() != 1 ||
      op.getNumResults() != 1 || !isIntermediate(op.getDpsInputs()[0]) ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return value;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  unsigned rank = map.getNumDims();
  if (!map.isPermutation() || !outputMap(op).isIdentity() || rank == 0 ||
      map.getDimPosition(rank - 1) != rank - 1)
    return value;
  SmallVector<int64_t> permuted;
  for (unsigned i = 0; i < rank; ++i)
    permuted.push_back(strides[map.getDimPosition(i)]);
  strides.assign(permuted);
  return op.getDpsInputs()[0];
}

/// The values that a kernel's results are read from, and the strides with which
/// they are written.
static SmallVector<std::pair<Value, SmallVector<int64_t>>>
writtenValues(func::FuncOp kernel) {
  SmallVector<std::pair<Value, SmallVector<int64_t>>> values;
  for (Value value : kernel.getBody().front().getTerminator()->getOperands()) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> strides = denseStrides(type.getShape());
    Value source = peelPermutation(value, strides);
    values.push_back({source, strides});
  }
  return values;
}

static SmallVector<linalg::GenericOp> chooseStages(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> all, stages;
  kernel.walk([&](linalg::GenericOp op) { all.push_back(op); });
  bool anyReduction = false;
  for (linalg::GenericOp op : all)
    if (op.getNumReductionLoops() > 0 &&
        (reducesLanes(op) || !llvm::all_of(op.getResults(), pulledOnce)))
      anyReduction = true;
  if (!anyReduction)
    return {};
  for (linalg::GenericOp op : all) {
    bool shared = op->getNumResults() == 1 && !op.getResult(0).hasOneUse() &&
                  !op.getResult(0).use_empty() && op.getNumDpsInputs() > 0;
    if (op.getNumReductionLoops() > 0 || shared)
      stages.push_back(op);
  }
  return stages;
}

/// The dimension of `value` that lanes should lie along: the last one, unless
/// it has too few elements for a vector and what `value` is computed from is
/// contiguous along another one.
static int64_t laneDimension(Value value) {
  constexpr int64_t kLongVector = 16;
  auto type = cast<RankedTensorType>(value.getType());
  int64_t last = type.getRank() - 1;
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || op.getNumResults() != 1 ||
      last < 0 || type.getDimSize(last) >= kLongVector ||
      !outputMap(op).isIdentity())
    return last;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (map.isEmpty())
      continue;
    auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (dim && type.getDimSize(dim.getPosition()) >= kLongVector)
      return dim.getPosition();
    if (map.isIdentity())
      return laneDimension(operand->get());
  }
  return last;
}

RowsPlan planRows(func::FuncOp kernel) {
  RowsPlan plan;
  plan.stages = chooseStages(kernel);
  SmallVector<RankedTensorType> results;
  llvm::DenseSet<Operation *> peeled;
  for (auto [written, returned] :
       llvm::zip(writtenValues(kernel),
                 kernel.getBody().front().getTerminator()->getOperands())) {
    results.push_back(cast<RankedTensorType>(written.first.getType()));
    if (written.first != returned && returned.hasOneUse())
      peeled.insert(returned.getDefiningOp());
  }
  auto first = results[0];
  plan.rank = first.getRank();
  for (RankedTensorType type : results) {
    int64_t same = 0;
    while (same < std::min(plan.rank, type.getRank()) &&
           type.getDimSize(same) == first.getDimSize(same))
      ++same;
    plan.rank = same;
  }
  bool hasLanes = llvm::any_of(results, [&](RankedTensorType type) {
    return type.getRank() == plan.rank;
  });
  if (plan.stages.empty()) {
    // One dimension is for lanes.
    if (hasLanes && plan.rank > 0)
      --plan.rank;
    if (results.size() == 1) {
      plan.lane = laneDimension(writtenValues(kernel)[0].first);
      plan.rank = std::clamp<int64_t>(plan.lane, 0, plan.rank);
    }
  } else {
    Block &body = kernel.getBody().front();
    llvm::DenseSet<Value> partial = findPartial(plan.stages, body);
    for (Operation &op : body.without_terminator())
      if (!peeled.contains(&op))
        plan.rank = sharedRank(&op, plan.rank, partial);
    // Products want several rows together.
    for (linalg::GenericOp stage : plan.stages)
      if (auto c = matchContractionStage(stage))
        plan.rank = std::min<int64_t>(plan.rank, c->batch.size());
  }
  for (int64_t i = 0; i < plan.rank; ++i)
    plan.rows *= first.getDimSize(i);

  int64_t rowBytes = 0, elements = 0;
  for (linalg::GenericOp stage : plan.stages)
    for (Value result : stage.getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      int64_t size = graph::tensorSize(type);
      for (int64_t i = 0; i < plan.rank; ++i)
        size /= std::max<int64_t>(type.getDimSize(i), 1);
      rowBytes += alignBytes(size);
    }
  for (RankedTensorType type : results)
    elements += type.getNumElements();
  plan.stagesScratch = plan.scratch = rowBytes;
  for (linalg::GenericOp stage : plan.stages)
    if (auto c = matchContractionStage(stage))
      plan.scratch =
          std::max(plan.scratch, rowBytes + contractionStageScratch(*c));

  plan.blockSize = first.getRank() > plan.rank ? first.getShape().back() : 1;
  bool oneLaneDimension =
      llvm::all_of(results,
                   [&](RankedTensorType type) {
                     return type == first ||
                            type.getShape() == first.getShape();
                   }) &&
      first.getRank() == plan.rank + 1;
  if (plan.stages.empty() && plan.rows < 16 && oneLaneDimension &&
      plan.blockSize > 1024) {
    plan.blockSize = 1024;
    plan.blocks = (first.getShape().back() + 1023) / 1024;
  }
  int64_t units = plan.rows * plan.blocks;
  // A chunk should be worth its call, and 48 are enough to share evenly.
  int64_t perUnit =
      std::max<int64_t>(1, elements / std::max<int64_t>(units, 1));
  int64_t least = plan.stages.empty() ? (1023 + perUnit) / perUnit : 1;
  plan.unitsPerChunk = std::max<int64_t>({1, least, (units + 47) / 48});
  plan.chunks = std::max<int64_t>(1, (units + plan.unitsPerChunk - 1) /
                                         plan.unitsPerChunk);
  return plan;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Emits the code of one unit: a row, or a block of one.
class RowEmitter {
public:
  RowEmitter(EmittedKernel &kernel, const RowsPlan &plan, const Target &target,
             OpBuilder &b)
      : kernel(kernel), plan(plan), target(target), b(b),
        loc(kernel.source.getLoc()) {}

  LogicalResult emit(ArrayRef<LaneIndex> row, Value block) {
    for (BlockArgument argument : kernel.source.getArguments())
      buffers[argument] = kernel.operand(b, argument.getArgNumber());
    int64_t offset = 0;
    for (linalg::GenericOp stage : plan.stages)
      if (failed(emitStage(stage, row, offset)))
        return failure();
    unsigned inputs = kernel.source.getNumArguments();
    for (auto [i, written] : llvm::enumerate(writtenValues(kernel.source))) {
      Buffer buffer = kernel.operand(b, inputs + i);
      buffer.strides = written.second;
      if (failed(emitResult(written.first, buffer, row, block)))
        return failure();
    }
    return success();
  }

private:
  int64_t lanesFor(int64_t extent) const {
    return extent <= 1 ? 1 : target.lanes();
  }

  Pull makePull(int64_t lanes) {
    Pull pull(b, loc, lanes);
    pull.buffers = buffers;
    return pull;
  }

  using Body = function_ref<LogicalResult(Pull &, Indices)>;

  LogicalResult loop(int64_t extent, function_ref<LogicalResult(Value)> body) {
    auto emitted =
        buildLoop(b, loc, extent, 1, {},
                  [&](Value iv, ValueRange) -> FailureOr<SmallVector<Value>> {
                    if (failed(body(iv)))
                      return failure();
                    return SmallVector<Value>{};
                  });
    return emitted;
  }

  /// Loops over the dimensions of `shape` from `plan.rank` on, `lane` a vector
  /// at a time; calls `body` with each index.
  LogicalResult forEach(ArrayRef<int64_t> shape, ArrayRef<LaneIndex> row,
                        int64_t lane, int64_t lanes, Body body) {
    std::function<LogicalResult(Pull &, Indices)> nest =
        [&](Pull &pull, Indices indices) -> LogicalResult {
      int64_t dim = indices.size(), rank = shape.size();
      if (dim == rank)
        return body(pull, indices);
      if (dim == lane && lanes > 1)
        return forLanes(shape[dim], lanes, pull.index(0), indices, nest);
      indices.push_back({});
      return loop(shape[dim], [&](Value iv) {
        indices.back() = {iv, 0, 1};
        return nest(pull, indices);
      });
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
    auto main =
        buildLoop(b, loc, whole, lanes, {},
                  [&](Value iv, ValueRange) -> FailureOr<SmallVector<Value>> {
                    if (failed(at(iv, {})))
                      return failure();
                    return SmallVector<Value>{};
                  });
    if (failed(main) || whole == extent)
      return main;
    Value mask = vector::ConstantMaskOp::create(
        b, loc, VectorType::get({lanes}, b.getI1Type()),
        b.getDenseI64ArrayAttr(extent - whole));
    return at(arith::ConstantIndexOp::create(b, loc, whole), mask);
  }

  LogicalResult emitStage(linalg::GenericOp stage, ArrayRef<LaneIndex> row,
                          int64_t &offset) {
    SmallVector<Buffer> memory;
    auto type = cast<RankedTensorType>(stage.getResult(0).getType());
    ArrayRef<int64_t> shape = type.getShape();
    for (Value result : stage.getResults()) {
      Type element = getElementTypeOrSelf(result);
      Buffer buffer =
          kernel.scratchBuffer(b, offset, shape.drop_front(plan.rank), element);
      offset += alignBytes(graph::tensorSize(
          RankedTensorType::get(shape.drop_front(plan.rank), element)));
      buffer.strides.insert(buffer.strides.begin(), plan.rank, 0);
      memory.push_back(buffer);
    }
    auto contraction = matchContractionStage(stage);
    if (contraction && target.lanes() > 1 &&
        static_cast<int64_t>(contraction->batch.size()) == plan.rank) {
      if (failed(emitContractionStage(kernel, *contraction, buffers,
                                      Indices(row), plan.stagesScratch,
                                      memory[0], target, b)))
        return failure();
      buffers[stage.getResult(0)] = memory[0];
      return success();
    }
    bool along = reducesLanes(stage) && target.lanes() > 1;
    bool hasLanes = shape.size() > static_cast<size_t>(plan.rank);
    int64_t lanes = along || !hasLanes ? 1 : lanesFor(shape.back());
    auto compute = [&](Pull &pull, Indices indices) -> LogicalResult {
      if (along) {
        Pull vectors = makePull(target.lanes());
        auto total = vectors.reduceAlongLanes(stage, indices);
        if (succeeded(total))
          return pull.store(*total, memory[0], indices);
        // Some reductions (argmax) have no vector form; then one by one. What
        // was emitted so far has no effect and is cleaned up.
      }
      if (stage.getNumReductionLoops() == 0) {
        auto value = pull.at(stage.getResult(0), indices);
        return failed(value) ? failure()
                             : pull.store(*value, memory[0], indices);
      }
      auto values = pull.reduce(stage, indices);
      if (failed(values))
        return failure();
      for (auto [value, buffer] : llvm::zip(*values, memory))
        if (failed(pull.store(value, buffer, indices)))
          return failure();
      return success();
    };
    if (failed(forEach(shape, row, shape.size() - 1, lanes, compute)))
      return failure();
    for (auto [result, buffer] : llvm::zip(stage.getResults(), memory))
      buffers[result] = buffer;
    return success();
  }

  LogicalResult emitResult(Value value, const Buffer &buffer,
                           ArrayRef<LaneIndex> row, Value block) {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape();
    if (llvm::is_contained(shape, 0))
      return success();
    // A concatenation is the sum of its pieces, each with its own loops.
    auto concat = value.getDefiningOp<tensor::ConcatOp>();
    if (concat && plan.blocks == 1 &&
        static_cast<int64_t>(concat.getDim()) >= plan.rank) {
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
    if (shape.size() <= static_cast<size_t>(plan.rank)) {
      Pull pull = makePull(1);
      return compute(pull, Indices(row.take_front(shape.size())));
    }
    int64_t lane = plan.lane >= 0 ? plan.lane : shape.size() - 1;
    if (plan.blocks == 1)
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
    int64_t tail = extent % plan.blockSize;
    if (tail == 0)
      return forLanes(plan.blockSize, lanes, start, indices, body);
    Value last = pull.index(plan.blocks - 1);
    Value whole =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, block, last);
    auto branch = scf::IfOp::create(b, loc, TypeRange(), whole, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(forLanes(plan.blockSize, lanes, start, indices, body)))
      return failure();
    b.setInsertionPointToStart(branch.elseBlock());
    return forLanes(tail, lanes, start, indices, body);
  }

  EmittedKernel &kernel;
  const RowsPlan &plan;
  const Target &target;
  OpBuilder &b;
  Location loc;
  llvm::DenseMap<Value, Buffer> buffers;
};

} // namespace

LogicalResult emitRows(EmittedKernel &kernel, const Target &target) {
  RowsPlan plan = planRows(kernel.source);
  Block &entry = kernel.function.getBody().front();
  OpBuilder b(entry.getTerminator());
  Location loc = kernel.source.getLoc();
  Pull scalar(b, loc, 1);
  int64_t units = plan.rows * plan.blocks;
  Value begin = scalar.mul(kernel.begin, plan.unitsPerChunk);
  Value end = arith::MinUIOp::create(
      b, loc, scalar.mul(kernel.end, plan.unitsPerChunk), scalar.index(units));
  auto loop = scf::ForOp::create(b, loc, begin, end, scalar.index(1));
  b.setInsertionPointToStart(loop.getBody());

  Value unit = loop.getInductionVar(), block = scalar.index(0);
  if (plan.blocks > 1) {
    Value blocks = scalar.index(plan.blocks);
    block = arith::RemUIOp::create(b, loc, unit, blocks);
    unit = arith::DivUIOp::create(b, loc, unit, blocks);
  }
  auto first =
      cast<RankedTensorType>(writtenValues(kernel.source)[0].first.getType());
  Indices row(plan.rank);
  for (int64_t i = plan.rank; i-- > 0;) {
    if (i == 0) {
      row[i] = {unit, 0, 1};
      break;
    }
    Value extent = scalar.index(first.getDimSize(i));
    row[i] = {arith::RemUIOp::create(b, loc, unit, extent), 0, 1};
    unit = arith::DivUIOp::create(b, loc, unit, extent);
  }
  return RowEmitter(kernel, plan, target, b).emit(row, block);
}

} // namespace tinh::cpu
