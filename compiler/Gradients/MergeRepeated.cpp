//===- MergeRepeated.cpp - Branches and loops that run once ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/MergeRepeated.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::gradients {

namespace {

/// A branch or a loop, and a later one.
class Pair {
public:
  Pair(Operation *first, Operation *second, Replaced replaced)
      : first(first), second(second), replaced(replaced) {}

  /// Whether the second one does all that the first one does, and can do it
  /// where that is.
  bool isRepeated();
  /// Puts both in the place of the first.
  Operation *merge();

private:
  bool haveEqualOperands();
  bool beginAlike(Block &a, Block &b);
  bool carryAlike();
  bool canMoveUp();
  void moveConstants();
  Operation *createMerged(TypeRange more);
  /// The value of the second op that is `value` of the first.
  Value counterpart(Value value) const { return same.lookupOrDefault(value); }
  void replace(Operation *op, ValueRange values);

  Operation *first, *second;
  Replaced replaced;
  IRMapping same; // From values of the first op's regions.
};

} // namespace

bool Pair::haveEqualOperands() {
  if (first->getName() != second->getName() ||
      first->getOperands() != second->getOperands())
    return false;
  auto a = dyn_cast<graph::ScanOp>(first);
  if (!a)
    return isa<graph::IfOp>(first);
  auto b = cast<graph::ScanOp>(second);
  return a.getLength() == b.getLength() &&
         a.getTripCount() == b.getTripCount() &&
         a.getCondition() == b.getCondition() &&
         a.getInitial().size() == b.getInitial().size();
}

/// Whether the ops of `a` are also the first ones of `b`.
bool Pair::beginAlike(Block &a, Block &b) {
  same.map(a.getArguments(), b.getArguments());
  auto check = [&](Value x, Value y) { return success(counterpart(x) == y); };
  auto mark = [&](Value x, Value y) { same.map(x, y); };
  auto next = b.begin();
  for (Operation &op : a.without_terminator()) {
    if (&*next == b.getTerminator() ||
        !OperationEquivalence::isEquivalentTo(
            &op, &*next, check, mark, OperationEquivalence::IgnoreLocations))
      return false;
    same.map(op.getResults(), next->getResults());
    ++next;
  }
  return true;
}

bool Pair::carryAlike() {
  auto a = dyn_cast<graph::ScanOp>(first);
  if (!a)
    return true;
  auto b = cast<graph::ScanOp>(second);
  if (a.getCondition() &&
      counterpart(a.getNextCondition()) != b.getNextCondition())
    return false;
  return llvm::all_of(llvm::zip_equal(a.getNext(), b.getNext()),
                      [&](auto next) {
                        auto [x, y] = next;
                        return counterpart(x) == y;
                      });
}

/// Constants can be moved, too.
bool Pair::canMoveUp() {
  return llvm::all_of(graph::readValues(second), [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->getBlock() != first->getBlock() ||
           op->isBeforeInBlock(first) || isa<graph::ConstantOp>(op);
  });
}

bool Pair::isRepeated() {
  if (!haveEqualOperands())
    return false;
  for (auto [a, b] : llvm::zip_equal(first->getRegions(), second->getRegions()))
    if (!beginAlike(a.front(), b.front()))
      return false;
  return carryAlike() && canMoveUp();
}

void Pair::moveConstants() {
  for (Value value : graph::readValues(second)) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == first->getBlock() &&
        !op->isBeforeInBlock(first))
      op->moveBefore(first);
  }
}

/// The second op with further results, without its regions.
Operation *Pair::createMerged(TypeRange more) {
  SmallVector<Type> types(second->getResultTypes());
  llvm::append_range(types, more);
  OperationState state(first->getLoc(), second->getName());
  state.addOperands(second->getOperands());
  state.addTypes(types);
  state.addAttributes(second->getAttrs());
  state.propertiesAttr = second->getPropertiesAsAttribute();
  for (unsigned i = 0; i < second->getNumRegions(); ++i)
    state.addRegion();
  OpBuilder builder(first);
  return builder.create(state);
}

void Pair::replace(Operation *op, ValueRange values) {
  if (replaced)
    replaced(op, values);
  op->replaceAllUsesWith(values);
  op->erase();
}

Operation *Pair::merge() {
  moveConstants();
  auto scan = dyn_cast<graph::ScanOp>(first);
  // A scan's carried results are those of the other one.
  size_t numShared = scan ? scan.getInitial().size() : 0;
  size_t numMore = first->getNumResults() - numShared;
  size_t numSecond = second->getNumResults();
  Operation *merged =
      createMerged(first->getResults().take_back(numMore).getTypes());
  for (auto [from, other, to] : llvm::zip_equal(
           second->getRegions(), first->getRegions(), merged->getRegions())) {
    to.takeBody(from);
    Operation *yield = to.front().getTerminator();
    SmallVector<Value> values(yield->getOperands());
    for (Value value :
         other.front().getTerminator()->getOperands().take_back(numMore))
      values.push_back(counterpart(value));
    yield->setOperands(values);
  }
  ResultRange results = merged->getResults();
  SmallVector<Value> values(results.take_front(numShared));
  llvm::append_range(values, results.take_back(numMore));
  replace(second, results.take_front(numSecond));
  replace(first, values);
  return merged;
}

void mergeRepeated(Block &block, Replaced replaced) {
  for (auto it = block.begin(); it != block.end(); ++it) {
    Operation *op = &*it;
    if (!isa<graph::IfOp, graph::ScanOp>(op))
      continue;
    Operation *later = op->getNextNode();
    while (later) {
      Pair pair(op, later, replaced);
      if (!pair.isRepeated()) {
        later = later->getNextNode();
        continue;
      }
      Operation *after = later->getNextNode();
      op = pair.merge();
      later = after;
    }
    it = Block::iterator(op);
  }
}

} // namespace tinh::gradients
