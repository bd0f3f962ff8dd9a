//===- PlanControlFlow.cpp - The steps of branches and loops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %sum = graph.scan %i length 10 carry (%a = %zero) over (%x = %xs) : … {
//     %0 = graph.dispatch @add_0(%a, %x) : …
//     graph.yield %0 : tensor<4xf32>
//   }
// becomes
//   %0 = plan.copy weights[0 to 16] to arena[0 to 16]
//   %1 = plan.loop after %0 length 10
//   %2 = plan.dispatch @add_0 after %1 … reads(arena[0 to 16],
//       input 0[0 to 16] step (16)) writes(arena[0 to 16] inplace 0)
//   %3 = plan.end_loop
//
// A value that a region yields is written where the op's result lies by what
// computes it: the result of a branch by both of its sides, a carried value by
// the body if nothing reads the old one afterwards, a row to its place among
// the stacked ones. So is the first value of what a loop carries, if it is not
// used otherwise. Where that cannot be, the value is copied.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/FunctionPlanner.h"
#include "compiler/Planning/SideBySide.h"
#include "tinh/artifact.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tinh::codegen {

//===----------------------------------------------------------------------===//
// Who reads a value when
//===----------------------------------------------------------------------===//

static OperandRange initialOf(Operation *loop) {
  if (auto op = dyn_cast<graph::WhileOp>(loop))
    return op.getInitial();
  return cast<graph::ScanOp>(loop).getInitial();
}

/// Whether `use` is the first value of what becomes result `index` of a loop.
static bool isInitial(OpOperand &use, unsigned index) {
  if (!isa<graph::WhileOp, graph::ScanOp>(use.getOwner()))
    return false;
  OperandRange initial = initialOf(use.getOwner());
  return index < initial.size() &&
         use.getOperandNumber() == initial.getBeginOperandIndex() + index;
}

/// Whether `value` may be written where `old` lies: nothing reads `old` later,
/// and what computes `value` does so in place.
bool FunctionPlanner::mayReplace(Value old, Value value) {
  Operation *op = value.getDefiningOp();
  unsigned result = cast<OpResult>(value).getResultNumber();
  unsigned usesByOp = 0;
  auto readsInPlace = [&](OpOperand &use) {
    if (++usesByOp > 1 || withoutReshapes(use.get()) != old)
      return false;
    if (isInitial(use, result))
      return true;
    auto dispatch = dyn_cast<graph::DispatchOp>(op);
    auto kernel = dispatch ? symbols.lookup<func::FuncOp>(dispatch.getKernel())
                           : func::FuncOp();
    return kernel && llvm::is_contained(inplacePairs(kernel),
                                        std::pair<int64_t, int64_t>(
                                            use.getOperandNumber(), result));
  };
  return !isa<graph::ConcatOp>(op) && allUses(old, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user == op)
      return readsInPlace(use);
    // A collective may read on, up to where it is awaited.
    return comesBefore(user, op) && !graph::isCollective(user);
  });
}

//===----------------------------------------------------------------------===//
// Where values go
//===----------------------------------------------------------------------===//

/// Makes what computes `value`, an op of `block`, write it to `target`, if it
/// may; says whether it does.
bool FunctionPlanner::placeAt(Value value, const Operand &target,
                              Block &block) {
  Value source = withoutReshapes(value);
  Operation *op = source.getDefiningOp();
  if (!op || op->getBlock() != &block ||
      !(isa<graph::DispatchOp, graph::ConcatOp, graph::TransferOp>(op) ||
        graph::isControlFlow(op)) ||
      layouts.placedIn(source) || buffers.contains(source))
    return false;
  Value old = carried.lookup(target.place.buffer);
  if (old && !mayReplace(old, source))
    return false;
  places[source] = target.place;
  buffers[source] = target.place.buffer;
  return true;
}

/// Has the first values of what the block's loops carry written to where their
/// results lie. The last loop first: its first value may be another's result.
void FunctionPlanner::placeInitial(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (!isa<graph::WhileOp, graph::ScanOp>(op))
      continue;
    for (auto [i, value] : llvm::enumerate(initialOf(&op))) {
      unsigned usesByLoop = 0;
      bool dies = allUses(withoutReshapes(value), [&](OpOperand &use) {
        return use.getOwner() == &op ? ++usesByLoop == 1 && isInitial(use, i)
                                     : comesBefore(use.getOwner(), &op);
      });
      if (dies)
        placeAt(value, operandOf(op.getResult(i)), block);
    }
  }
}

/// Copies all values at once: none is overwritten before it has been read.
LogicalResult FunctionPlanner::addMoves(SmallVector<Move> moves,
                                        Location location) {
  auto copy = [&](const Operand &from, const Operand &to) {
    addStep({Kind::Copy, location, {}, {from}, {to}, {}});
  };
  for (const Move &move : moves)
    if (move.from.rows.count != 1)
      return emitError(location)
             << "a result is a part of a tensor that is not contiguous";
  llvm::erase_if(moves,
                 [](const Move &m) { return m.from.place == m.to.place; });
  while (!moves.empty()) {
    auto isRead = [&](const Move &move) {
      return llvm::any_of(moves, [&](const Move &other) {
        return &other != &move &&
               other.from.place.buffer == move.to.place.buffer;
      });
    };
    auto *next = llvm::find_if_not(moves, isRead);
    if (next ==
        moves.end()) { // A cycle: one of its values gets out of the way.
      Move &first = moves.front();
      Operand aside = first.to;
      bool onCuda = isOnCuda(first.to);
      aside.place = {};
      aside.place.space = onCuda ? plan::Space::Device : plan::Space::Arena;
      aside.place.buffer =
          addBuffer(first.from.rows.span(), /*external=*/false, onCuda);
      copy(first.from, aside);
      first.from = aside;
      continue;
    }
    copy(next->from, next->to);
    moves.erase(next);
  }
  return success();
}

/// Adds a block and moves what it yields to where that belongs.
LogicalResult FunctionPlanner::addYielding(Block &block,
                                           SmallVector<Move> moves) {
  llvm::erase_if(moves, [&](const Move &move) {
    return placeAt(move.source, move.to, block);
  });
  if (failed(addBlock(block)))
    return failure();
  for (Move &move : moves)
    move.from = operandOf(move.source, isOnCuda(move.to));
  return addMoves(std::move(moves), block.getTerminator()->getLoc());
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

LogicalResult FunctionPlanner::addIf(graph::IfOp op) {
  auto addSide = [&](Region &side) {
    SmallVector<Move> moves;
    for (auto [value, result] : llvm::zip_equal(
             side.front().getTerminator()->getOperands(), op.getOutputs()))
      moves.push_back({value, {}, operandOf(result)});
    return addYielding(side.front(), std::move(moves));
  };
  planning::Control control;
  control.first = steps.size();
  addStep({Kind::If, op.getLoc(), {}, {operandOf(op.getCondition())}, {}, {}});
  if (failed(addSide(op.getThenBranch())))
    return failure();
  control.otherwise = steps.size();
  addStep({Kind::Else, op.getLoc(), {}, {}, {}, {}});
  if (failed(addSide(op.getElseBranch())))
    return failure();
  control.last = steps.size();
  addStep({Kind::EndIf, op.getLoc(), {}, {}, {}, {}});
  problem.controls.push_back(control);
  return success();
}

//===----------------------------------------------------------------------===//
// while, scan
//===----------------------------------------------------------------------===//

/// Whether the step is the CPU's and has nothing to divide.
bool FunctionPlanner::isOnePiece(const PlannedStep &step) const {
  auto isLarge = [&](const Operand &operand) {
    return operand.rows.span() > static_cast<int64_t>(TINH_COPY_SHARE);
  };
  auto isOnGpu = [&](const Operand &operand) { return isOnCuda(operand); };
  if (llvm::any_of(step.reads, isOnGpu) || llvm::any_of(step.writes, isOnGpu))
    return false;
  switch (step.kind) {
  case Kind::Dispatch:
    return !graph::isOnCuda(step.kernel) &&
           step.kernel->getAttrOfType<IntegerAttr>(graph::names::kChunks)
                   .getInt() == 1;
  case Kind::Copy:
  case Kind::Zero:
    return llvm::none_of(step.writes, isLarge);
  default:
    return true;
  }
}

void FunctionPlanner::beginLoop(Location location,
                                std::optional<int64_t> length, Value count) {
  PlannedStep step{Kind::Loop, location, {}, {}, {}, length};
  if (count)
    step.reads.push_back(operandOf(count));
  loops.push_back(steps.size());
  addStep(std::move(step));
}

void FunctionPlanner::endLoop(Location location) {
  planning::Control control;
  control.kind = planning::Control::Kind::Loop;
  control.first = loops.pop_back_val();
  control.last = steps.size();
  control.alone = steps[control.first].alone =
      llvm::all_of(ArrayRef(steps).drop_front(control.first),
                   [&](const PlannedStep &step) { return isOnePiece(step); });
  addStep({Kind::EndLoop, location, {}, {}, {}, {}});
  problem.controls.push_back(control);
}

void FunctionPlanner::gatherLoops() {
  std::vector<PlannedStep> gathered;
  std::vector<uint32_t> places(steps.size());
  for (uint32_t step : planning::gatherLoops(problem)) {
    places[step] = static_cast<uint32_t>(gathered.size());
    gathered.push_back(std::move(steps[step]));
  }
  for (PlannedStep &step : gathered)
    step.start = places[step.start];
  steps = std::move(gathered);
}

/// Carried values lie where the results do.
void FunctionPlanner::carry(ValueRange arguments, ValueRange results) {
  for (auto [argument, result] : llvm::zip_equal(arguments, results)) {
    places[argument] = operandOf(result).place;
    buffers[argument] = places[argument].buffer;
  }
}

LogicalResult FunctionPlanner::addWhile(graph::WhileOp op) {
  SmallVector<Move> initial, next;
  for (auto [value, yielded, result] : llvm::zip_equal(
           op.getInitial(), op.getYield().getValues(), op.getOutputs())) {
    initial.push_back(
        {value, operandOf(value, devices.isOnCuda(result)), operandOf(result)});
    next.push_back({yielded, {}, operandOf(result)});
  }
  if (failed(addMoves(std::move(initial), op.getLoc())))
    return failure();
  beginLoop(op.getLoc(), std::nullopt, {});
  Block &condition = op.getCondition().front(), &body = op.getBody().front();
  carry(condition.getArguments(), op.getOutputs());
  carry(body.getArguments(), op.getOutputs());
  if (failed(addBlock(condition)))
    return failure();
  graph::ConditionOp decision = op.getConditionOp();
  addStep({Kind::Leave,
           decision.getLoc(),
           {},
           {operandOf(decision.getCondition())},
           {},
           {}});
  llvm::SaveAndRestore outer(carried, carried);
  for (Value argument : body.getArguments())
    carried[buffers[argument]] = argument;
  if (failed(addYielding(body, std::move(next))))
    return failure();
  endLoop(op.getLoc());
  return success();
}

/// `flag` is where the condition lies that an iteration begins with, or null.
LogicalResult FunctionPlanner::addScanBody(graph::ScanOp op,
                                           const Operand *flag) {
  unsigned depth = loops.size() - 1;
  auto rowOf = [&](Value whole, Type type) {
    Operand row = operandOf(whole);
    int64_t size = graph::tensorSize(type);
    row.place.strides.resize(depth + 1);
    row.place.strides[depth] = size;
    row.rows = {1, size, size};
    return row;
  };
  places[op.getIndex()] = {plan::Space::Loop, depth, 0, -1, {}};
  buffers[op.getIndex()] = -1;
  for (auto [row, whole] : llvm::zip_equal(op.getRows(), op.getXs())) {
    places[row] = rowOf(whole, row.getType()).place;
    buffers[row] = places[row].buffer;
  }
  SmallVector<Move> moves;
  if (flag)
    moves.push_back({op.getNextCondition(), {}, *flag});
  for (auto [value, result] : llvm::zip_equal(op.getNext(), op.getFinals()))
    moves.push_back({value, {}, operandOf(result)});
  for (auto [value, result] :
       llvm::zip_equal(op.getNextRows(), op.getStacked()))
    moves.push_back({value, {}, rowOf(result, value.getType())});

  carry(op.getCarried(), op.getFinals());
  llvm::SaveAndRestore outer(carried, carried);
  for (Value argument : op.getCarried())
    carried[buffers[argument]] = argument;
  return addYielding(op.getBody().front(), std::move(moves));
}

LogicalResult FunctionPlanner::addScan(graph::ScanOp op) {
  SmallVector<Move> initial;
  Operand flag{{}, {1, 1, 1}};
  if (op.getCondition()) {
    flag.place.buffer = addBuffer(1, /*external=*/false, /*onCuda=*/false);
    initial.push_back({op.getCondition(), operandOf(op.getCondition()), flag});
  }
  for (auto [value, result] : llvm::zip_equal(op.getInitial(), op.getFinals()))
    initial.push_back(
        {value, operandOf(value, devices.isOnCuda(result)), operandOf(result)});
  if (failed(addMoves(std::move(initial), op.getLoc())))
    return failure();
  if (!op.runsToEnd())
    for (Value stacked : op.getStacked())
      addStep({Kind::Zero, op.getLoc(), {}, {}, {operandOf(stacked)}, {}});
  for (Value whole : op.getXs())
    if (operandOf(whole).rows.count != 1)
      return op.emitError() << "what it runs over is a part of a tensor that "
                               "is not contiguous";
  beginLoop(op.getLoc(), op.getLength(), op.getTripCount());
  if (op.getCondition())
    addStep({Kind::Leave, op.getLoc(), {}, {flag}, {}, {}});
  if (failed(addScanBody(op, op.getCondition() ? &flag : nullptr)))
    return failure();
  endLoop(op.getLoc());
  return success();
}

} // namespace tinh::codegen
