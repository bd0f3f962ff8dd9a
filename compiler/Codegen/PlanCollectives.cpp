//===- PlanCollectives.cpp - The steps of collectives ---------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %1 = graph.all_reduce mean %0
//   …
//   %2 = graph.dispatch @update(%1)
// becomes
//   %4 = plan.start <all_reduce, mean, f32> arena[0 to 64] to arena[0 to 64]
//   …
//   %7 = plan.await %4
//   %8 = plan.dispatch @update after %7 reads(arena[0 to 64]) …
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/FunctionPlanner.h"

using namespace mlir;

namespace tinh::codegen {

/// What all ranks do by `op`, for the runtime.
static plan::CollectiveAttr describe(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  auto get = [&](plan::CollectiveKind kind, graph::ReduceKind reduce,
                 std::optional<Type> communicationDtype, int64_t root,
                 int64_t ranks) {
    plan::Reduction reduction =
        reduce == graph::ReduceKind::Mean  ? plan::Reduction::Mean
        : reduce == graph::ReduceKind::Max ? plan::Reduction::Max
                                           : plan::Reduction::Sum;
    return plan::CollectiveAttr::get(op->getContext(), kind, reduction, element,
                                     communicationDtype.value_or(Type()), root,
                                     ranks);
  };
  constexpr auto kNone = graph::ReduceKind::Sum;
  using Kind = plan::CollectiveKind;
  if (auto reduce = dyn_cast<graph::AllReduceOp>(op))
    return get(Kind::AllReduce, reduce.getKind(),
               reduce.getCommunicationDtype(), 0, 0);
  if (auto scatter = dyn_cast<graph::ReduceScatterOp>(op))
    return get(Kind::ReduceScatter, scatter.getKind(),
               scatter.getCommunicationDtype(), 0, scatter.getRanks());
  if (auto gather = dyn_cast<graph::AllGatherOp>(op))
    return get(Kind::AllGather, kNone, {}, 0, gather.getRanks());
  auto broadcast = cast<graph::CollectiveBroadcastOp>(op);
  return get(Kind::Broadcast, kNone, {}, broadcast.getRoot(), 0);
}

/// Whether the result may lie where the operand does: nothing reads it, or a
/// piece of it, later, as another collective may that stands before.
static bool isReducedInPlace(Operation *op, const Layouts &layouts) {
  Value operand = op->getOperand(0), whole = withoutReshapes(operand);
  Operation *source = whole.getDefiningOp();
  if (operand.getType() != op->getResult(0).getType() || !source ||
      !isa<graph::DispatchOp, graph::ConcatOp, graph::TransferOp>(source) ||
      layouts.placedIn(whole))
    return false;
  SmallVector<Value> parts = {whole};
  for (size_t i = 0; i < parts.size(); ++i)
    if (auto concat = parts[i].getDefiningOp<graph::ConcatOp>())
      for (Value piece : concat.getInputs())
        parts.push_back(withoutReshapes(piece));
  return llvm::all_of(parts, [&](Value part) {
    return allUses(part, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user == op ||
             (comesBefore(user, op) && !graph::isCollective(user));
    });
  });
}

LogicalResult FunctionPlanner::addCollective(Operation *op) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  Operand source = operandOf(operand, devices.isOnCuda(result));
  if (source.rows.count != 1)
    return op->emitError("the operand is a part of a tensor that is not "
                         "contiguous, and so cannot be sent");
  if (!places.contains(withoutReshapes(operand)) &&
      isReducedInPlace(op, layouts)) {
    places[result] = source.place;
    buffers[result] = source.place.buffer;
  }
  PlannedStep step{Kind::Start, op->getLoc(),        {},
                   {source},    {operandOf(result)}, {}};
  step.collective = describe(op);
  started[result] = steps.size();
  addStep(std::move(step));
  return success();
}

/// What `op` reads, and what that is a view of.
static SmallVector<Value> readThroughViews(Operation *op) {
  SmallVector<Value> reads = graph::readValues(op);
  for (size_t i = 0; i < reads.size(); ++i)
    if (Operation *source = reads[i].getDefiningOp();
        isa_and_present<graph::ReshapeOp, graph::SliceOp, graph::ConcatOp>(
            source))
      llvm::append_range(reads, source->getOperands());
  return reads;
}

/// Ends the collectives that give what `op` reads.
void FunctionPlanner::awaitOperands(Operation *op) {
  if (started.empty())
    return;
  for (Value read : readThroughViews(op))
    if (started.contains(read))
      await(read);
}

void FunctionPlanner::await(Value result) {
  auto found = started.find(result);
  PlannedStep step = steps[found->second];
  step.kind = Kind::Await;
  step.start = found->second;
  started.erase(found);
  addStep(std::move(step));
}

} // namespace tinh::codegen
