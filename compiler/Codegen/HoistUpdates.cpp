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
// Only if the new value is used before that, it is copied in the end.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/FunctionPlanner.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tinh::codegen {

namespace {

class UpdateHoister {
public:
  explicit UpdateHoister(func::FuncOp function)
      : function(function), block(function.getBody().front()) {}
  void run();

private:
  void findVariables();
  Operation *lastBefore(Operation *op);
  void readersOf(Value value, Operation *user, Operation *&last);

  func::FuncOp function;
  Block &block;
  /// The ops that compute next values, and the arguments that these replace.
  llvm::MapVector<Operation *, SmallVector<Value>> updates;
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

/// Makes `last` the op of the block that is the last one to read `value`, or a
/// view of it, if none is later and it is not `user`.
void UpdateHoister::readersOf(Value value, Operation *user, Operation *&last) {
  for (Operation *reader : value.getUsers()) {
    Operation *inBlock = block.findAncestorOpInBlock(*reader);
    if (inBlock == user || inBlock == block.getTerminator())
      continue;
    if (isa<graph::ReshapeOp, graph::SliceOp>(inBlock))
      readersOf(inBlock->getResult(0), user, last);
    if (!last || last->isBeforeInBlock(inBlock))
      last = inBlock;
  }
}

/// The op that `op` has to come after; null if there is none.
Operation *UpdateHoister::lastBefore(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp();
        source && (!last || last->isBeforeInBlock(source)))
      last = source;
  for (Value old : updates[op])
    readersOf(old, op, last);
  return last;
}

void UpdateHoister::run() {
  findVariables();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!updates.contains(&op))
      continue;
    Operation *last = lastBefore(&op);
    auto comesAfter = [&](Operation *user) {
      return last->isBeforeInBlock(block.findAncestorOpInBlock(*user));
    };
    if (last && llvm::all_of(op.getUsers(), comesAfter))
      op.moveAfter(last);
  }
}

} // namespace

void hoistUpdates(func::FuncOp function) { UpdateHoister(function).run(); }

} // namespace tinh::codegen
