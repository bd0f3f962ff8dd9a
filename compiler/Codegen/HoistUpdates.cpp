//===- HoistUpdates.cpp - When variables get their next values --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step says first what all gradients are and then what they change.
// In that order all gradients would be live at one time. An update comes
// instead as soon as its operands are there and what reads the old values is
// done: a gradient dies at once, and the new value is written over the old one.
// What is computed for an update alone moves with it.
// Only if the new value is used before that, it is copied in the end.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/FunctionPlanner.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tinh::codegen {

namespace {

class UpdateHoister {
public:
  explicit UpdateHoister(func::FuncOp function)
      : function(function), block(function.getBody().front()) {}
  void run();

private:
  using Group = llvm::SmallSetVector<Operation *, 4>;

  void findVariables();
  void findAwaiting();
  void addSources(Operation *op, Group &group);
  Operation *lastBefore(const Group &group);
  void readersOf(Value value, const Group &group, Operation *&last);

  func::FuncOp function;
  Block &block;
  /// The ops that compute next values, and the arguments that these replace.
  llvm::MapVector<Operation *, SmallVector<Value>> updates;
  /// What depends on collectives: it comes as late as it does to leave them
  /// time.
  DenseSet<Operation *> awaiting;
};

void UpdateHoister::findVariables() {
  llvm::SmallDenseMap<StringAttr, Value> arguments;
  for (BlockArgument argument : function.getArguments())
    if (StringAttr name = argumentVariable(function, argument.getArgNumber()))
      arguments[name] = argument;
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    StringAttr name = resultVariable(function, i);
    Operation *op = withoutReshapes(value).getDefiningOp();
    if (name && isa_and_present<graph::DispatchOp>(op))
      updates[op].push_back(arguments.at(name));
  }
}

void UpdateHoister::findAwaiting() {
  for (Operation &op : block)
    if (llvm::any_of(graph::readValues(&op), [&](Value value) {
          Operation *source = value.getDefiningOp();
          return source &&
                 (graph::isCollective(source) || awaiting.contains(source));
        }))
      awaiting.insert(&op);
}

/// Adds the dispatches that compute something for `op` alone, and then itself.
void UpdateHoister::addSources(Operation *op, Group &group) {
  for (Value operand : op->getOperands()) {
    auto source = operand.getDefiningOp<graph::DispatchOp>();
    if (source && source->getBlock() == &block && !updates.contains(source) &&
        llvm::all_of(source->getUsers(),
                     [&](Operation *user) { return user == op; }))
      addSources(source, group);
  }
  group.insert(op);
}

/// Makes `last` the op of the block that is the last one to read `value`, or a
/// view of it, if none is later and it is not in `group`.
void UpdateHoister::readersOf(Value value, const Group &group,
                              Operation *&last) {
  for (Operation *reader : value.getUsers()) {
    Operation *inBlock = block.findAncestorOpInBlock(*reader);
    if (group.contains(inBlock) || inBlock == block.getTerminator())
      continue;
    if (isa<graph::ReshapeOp, graph::SliceOp>(inBlock))
      readersOf(inBlock->getResult(0), group, last);
    if (!last || last->isBeforeInBlock(inBlock))
      last = inBlock;
  }
}

/// The op that an update, the last one of `group`, has to come after; null if
/// there is none.
Operation *UpdateHoister::lastBefore(const Group &group) {
  Operation *last = nullptr;
  for (Operation *op : group)
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !group.contains(source) &&
          (!last || last->isBeforeInBlock(source)))
        last = source;
  for (Value old : updates[group.back()])
    readersOf(old, group, last);
  return last;
}

void UpdateHoister::run() {
  findVariables();
  findAwaiting();
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (updates.contains(&op) && !awaiting.contains(&op))
      ops.push_back(&op);
  for (Operation *op : ops) {
    Group group;
    addSources(op, group);
    Operation *last = lastBefore(group);
    auto comesAfter = [&](Operation *user) {
      return last->isBeforeInBlock(block.findAncestorOpInBlock(*user));
    };
    if (!last || !llvm::all_of(op->getUsers(), comesAfter))
      continue;
    for (Operation *moved : group)
      if (last->isBeforeInBlock(moved)) {
        moved->moveAfter(last);
        last = moved;
      }
  }
}

} // namespace

void hoistUpdates(func::FuncOp function) { UpdateHoister(function).run(); }

} // namespace tinh::codegen
