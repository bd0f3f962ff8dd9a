//===- Devices.cpp - On which devices values lie ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Devices.h"

using namespace mlir;

namespace tinh::codegen {

StringAttr argumentVariable(func::FuncOp function, unsigned index) {
  return function.getArgAttrOfType<StringAttr>(index, graph::names::kVariable);
}

StringAttr resultVariable(func::FuncOp function, unsigned index) {
  return function.getResultAttrOfType<StringAttr>(index,
                                                  graph::names::kVariable);
}

/// The value in whose memory `value` lies: a concatenation lies where its
/// pieces do.
static Value withoutViewsAndConcats(Value value) {
  while (isa_and_nonnull<graph::ReshapeOp, graph::SliceOp, graph::ConcatOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Whether a device of its own does `op`.
static bool runs(Operation *op) {
  return isa<graph::KernelOp, graph::DispatchOp>(op) || graph::isCollective(op);
}

void forEachFlow(Operation *op, function_ref<void(Value, Value)> flow) {
  auto add = [&](ValueRange to, ValueRange from) {
    for (auto [a, b] : llvm::zip_equal(to, from))
      flow(a, b);
  };
  if (auto branch = dyn_cast<graph::IfOp>(op)) {
    add(branch.getOutputs(), branch.getThenYield().getValues());
    add(branch.getOutputs(), branch.getElseYield().getValues());
  } else if (auto loop = dyn_cast<graph::WhileOp>(op)) {
    ValueRange carried = loop.getCondition().getArguments();
    add(carried, loop.getInitial());
    add(carried, loop.getYield().getValues());
    add(loop.getBody().getArguments(), carried);
    add(loop.getOutputs(), carried);
  } else if (auto scan = dyn_cast<graph::ScanOp>(op)) {
    ValueRange carried = scan.getCarried();
    add(carried, scan.getInitial());
    add(carried, scan.getNext());
    add(scan.getFinals(), carried);
    add(scan.getRows(), scan.getXs());
    add(scan.getStacked(), scan.getNextRows());
  }
}

//===----------------------------------------------------------------------===//
// What lies together
//===----------------------------------------------------------------------===//

Devices::Devices(ModuleOp module, Variables variables)
    : mode(variables), symbols(module) {
  for (auto variable : module.getOps<graph::VariableOp>())
    if (variable.isOnCuda())
      onCuda.insert(variable.getNameAttr());
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      functions.push_back(function);
  llvm::for_each(functions, [&](func::FuncOp function) { collect(function); });
  for (auto [open, value] : ties)
    follow(open, value);
  for (Value value : used)
    leaders.insert(leaderOf(value));
}

void Devices::collect(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (StringAttr name = argumentVariable(function, argument.getArgNumber());
        name && mode == Variables::Open) {
      tie(arguments.try_emplace(name, argument).first->second, argument);
      if (onCuda.contains(name)) // Whoever uses it.
        use(argument);
    }
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    collect(op);
    return isa<graph::KernelOp>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
  });
  if (mode == Variables::Chosen)
    return;
  Operation *end = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    if (StringAttr name = resultVariable(function, i);
        name && arguments.contains(name))
      tie(arguments.at(name), value);
}

void Devices::collect(Operation *op) {
  auto areIn = [&](const DenseSet<Value> &set) {
    return llvm::all_of(op->getOperands(),
                        [&](Value value) { return set.contains(value); });
  };
  bool isView = isa<graph::ReshapeOp, graph::SliceOp>(op);
  if (isa<graph::ConstantOp, graph::WeightOp>(op) ||
      ((isa<graph::KernelOp>(op) || isView) && areIn(constants))) {
    constants.insert_range(op->getResults());
    return both.insert_range(op->getResults());
  }
  if (isView && areIn(both))
    return both.insert_range(op->getResults());
  bool usesOperands = runs(op) ? runsOnCuda(op)
                               : isa<graph::TransferOp>(op) &&
                                     !cast<graph::TransferOp>(op).isToCuda();
  if (usesOperands)
    llvm::for_each(op->getOperands(), [&](Value value) { use(value); });
  if (graph::isControlFlow(op))
    collectControlFlow(op);
}

void Devices::collectControlFlow(Operation *op) {
  if (auto scan = dyn_cast<graph::ScanOp>(op))
    for (auto [row, whole] : llvm::zip_equal(scan.getRows(), scan.getXs()))
      if (both.contains(whole))
        both.insert(row);
  forEachFlow(op, [&](Value to, Value from) { tie(to, from); });
}

/// Whether values of regions are constants is known in the end.
void Devices::tie(Value open, Value value) {
  ties.push_back({open, withoutViewsAndConcats(value)});
}

void Devices::follow(Value open, Value value) {
  if (both.contains(value))
    return;
  if (!isOpen(value)) {
    if (isMadeOnCuda(value))
      use(open);
    return;
  }
  Value a = leaderOf(open), b = leaderOf(value);
  if (a != b)
    towardsLeader[b] = a;
}

void Devices::use(Value value) {
  value = withoutViewsAndConcats(value);
  if (isOpen(value) && !both.contains(value))
    used.insert(value);
}

/// Whether `value` lies where it is used: what control flow gives or gets, and
/// variables whose place is not chosen yet.
bool Devices::isOpen(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return graph::isControlFlow(op);
  auto argument = cast<BlockArgument>(value);
  Operation *around = argument.getOwner()->getParentOp();
  if (auto function = dyn_cast<func::FuncOp>(around))
    return mode == Variables::Open &&
           argumentVariable(function, argument.getArgNumber());
  auto scan = dyn_cast<graph::ScanOp>(around);
  return !scan || argument != scan.getIndex();
}

/// Where what is not open lies.
bool Devices::isMadeOnCuda(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto transfer = dyn_cast_if_present<graph::TransferOp>(op))
    return transfer.isToCuda();
  if (op)
    return runsOnCuda(op);
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  StringAttr name =
      function ? argumentVariable(function, argument.getArgNumber()) : nullptr;
  return name && onCuda.contains(name);
}

Value Devices::leaderOf(Value value) const {
  for (auto next = towardsLeader.find(value); next != towardsLeader.end();
       next = towardsLeader.find(value))
    value = next->second;
  return value;
}

bool Devices::runsOnCuda(Operation *op) const {
  if (auto dispatch = dyn_cast<graph::DispatchOp>(op)) {
    auto function = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    return function && graph::isOnCuda(function);
  }
  return runs(op) && graph::isOnCuda(op);
}

//===----------------------------------------------------------------------===//
// What lies where, and should
//===----------------------------------------------------------------------===//

bool Devices::isOnCuda(Value value) const {
  value = withoutViewsAndConcats(value);
  if (both.contains(value))
    return false;
  return isOpen(value) ? leaders.contains(leaderOf(value))
                       : isMadeOnCuda(value);
}

bool Devices::isOnCuda(StringAttr variable) const {
  auto argument = arguments.find(variable);
  return onCuda.contains(variable) ||
         (argument != arguments.end() && isOnCuda(argument->second));
}

std::optional<bool> Devices::needsCuda(graph::YieldOp yield,
                                       unsigned index) const {
  Operation *op = yield->getParentOp();
  auto scan = dyn_cast<graph::ScanOp>(op);
  if (scan && scan.getCondition()) {
    if (index == 0)
      return false;
    --index;
  }
  return isOnCuda(op->getResult(index));
}

std::optional<bool> Devices::needsCuda(OpOperand &use) const {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (both.contains(use.get()) || isa<graph::ReshapeOp, graph::SliceOp>(op))
    return std::nullopt;
  if (runs(op))
    return runsOnCuda(op);
  if (auto transfer = dyn_cast<graph::TransferOp>(op))
    return !transfer.isToCuda();
  if (isa<graph::ConcatOp>(op))
    return isOnCuda(op->getResult(0));
  if (auto yield = dyn_cast<graph::YieldOp>(op))
    return needsCuda(yield, index);
  if (isa<graph::WhileOp>(op))
    return isOnCuda(op->getResult(index));
  if (auto scan = dyn_cast<graph::ScanOp>(op)) {
    // Either may be none, which have no first operand to ask.
    unsigned rows = op->getNumOperands() - scan.getXs().size();
    unsigned first = rows - scan.getInitial().size();
    if (index >= rows)
      return isOnCuda(scan.getRows()[index - rows]);
    return index >= first && isOnCuda(scan.getFinals()[index - first]);
  }
  if (isa<func::ReturnOp>(op)) {
    StringAttr name =
        resultVariable(cast<func::FuncOp>(op->getParentOp()), index);
    return name && isOnCuda(name);
  }
  return false; // A condition.
}

//===----------------------------------------------------------------------===//
// Whether it does
//===----------------------------------------------------------------------===//

static StringRef nameOf(bool onCuda) { return onCuda ? "GPU" : "CPU"; }

LogicalResult Devices::verify() const {
  auto verifyOp = [&](Operation *op) -> WalkResult {
    if (isa<graph::KernelOp>(op))
      return WalkResult::skip();
    for (OpOperand &use : op->getOpOperands()) {
      std::optional<bool> needed = needsCuda(use);
      if (needed && *needed != isOnCuda(use.get()))
        return op->emitError()
               << "operand " << use.getOperandNumber() << " of '"
               << op->getName() << "' lies on the " << nameOf(!*needed)
               << ", but is needed on the " << nameOf(*needed)
               << "; a graph.transfer can bring it there";
    }
    return WalkResult::advance();
  };
  for (func::FuncOp function : functions)
    if (function.walk<WalkOrder::PreOrder>(verifyOp).wasInterrupted())
      return failure();
  return success();
}

} // namespace tinh::codegen
