//===- Rematerialise.cpp - Values computed again for want of memory -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %1 = graph.conv %x, %v … : …
//   %2 = graph.relu %1 : …            // lives from here
//   %3 = graph.conv %2, %w … : …
//   …
//   %8 = graph.conv_weight_gradient %2, %7 … : …   // to here
// becomes
//   %1 = graph.conv %x, %v … : …
//   %2 = graph.relu %1 : …
//   %3 = graph.conv %2, %w … : …
//   …
//   %9 = graph.relu %1 : …
//   %8 = graph.conv_weight_gradient %9, %7 … : …
//
// What is in memory is known once there are kernels: they are formed in a copy
// of the function, and are the steps that planning chooses from. The ops of the
// kernels that it repeats are repeated, and all ops come in the order of its
// steps, which the later phases keep.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Recompute.h"
#include "compiler/Transforms/Arithmetic.h"
#include "compiler/Transforms/CheckDialect.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_REMATERIALISE
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

/// What is a view, or lies outside of the arena: it belongs to no step.
bool isPlaced(Operation *op) { return isa<ConstantOp, ReshapeOp>(op); }

Value withoutViews(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

/// The kernels that a block will have, each as the ops that it is made of.
using Groups = std::vector<SmallVector<Operation *>>;

Groups findGroups(func::FuncOp function, bool fuse) {
  constexpr StringLiteral kIndex = "rematerialise.index";
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  OwningOpRef<func::FuncOp> copy = function.clone();
  Block &block = copy->getBody().front();
  for (auto [i, op] : llvm::enumerate(block))
    op.setAttr(kIndex, Builder(&op).getIndexAttr(i));
  formKernels(*copy, fuse, /*remarks=*/false);
  auto original = [&](Operation &op) -> Operation * {
    auto index = op.getAttrOfType<IntegerAttr>(kIndex);
    Operation *found = index ? ops[index.getInt()] : nullptr;
    return found && !isPlaced(found) ? found : nullptr;
  };
  Groups groups;
  for (Operation &op : block) {
    SmallVector<Operation *> members;
    if (auto kernel = dyn_cast<KernelOp>(op)) {
      for (Operation &inner : kernel.getBody().front())
        if (Operation *member = original(inner))
          members.push_back(member);
    } else if (Operation *member = original(op)) {
      members.push_back(member);
    }
    if (!members.empty())
      groups.push_back(std::move(members));
  }
  return groups; // The last one is the terminator.
}

/// The problem of planning, from groups of ops.
class StepFinder {
public:
  StepFinder(func::FuncOp function, const Groups &groups)
      : function(function), groups(groups),
        constantOps(findConstantOps(function)) {}

  planning::Computations find();

private:
  uint32_t numberOf(Value value);
  void addReads(ArrayRef<Operation *> members, planning::Computation &step);
  void addWrites(ArrayRef<Operation *> members, planning::Computation &step);
  bool mayReplace(ArrayRef<Operation *> members, Value value,
                  Value result) const;
  uint64_t bytesInside(Operation *op) const;
  bool isRepeatable(ArrayRef<Operation *> members,
                    const planning::Computation &step) const;
  void findVariables();

  func::FuncOp function;
  const Groups &groups;
  DenseSet<Operation *> constantOps;
  planning::Computations problem;
  SmallVector<Value> values; ///< By their numbers.
  DenseMap<Value, uint32_t> numbers;
  /// What is returned, which has memory of its own, and the variables' old
  /// values, where it is a new one.
  DenseMap<Value, Value> returned;
};

uint32_t StepFinder::numberOf(Value value) {
  auto [known, added] = numbers.try_emplace(value, numbers.size());
  if (added) {
    values.push_back(value);
    constexpr uint64_t kAlignment = 64;
    Operation *source = value.getDefiningOp();
    bool placed = source && !returned.contains(value) &&
                  !constantOps.contains(source) && !isa<ConstantOp>(source);
    problem.sizes.push_back(
        placed ? llvm::alignTo(tensorSize(value.getType()), kAlignment) : 0);
  }
  return known->second;
}

void StepFinder::findVariables() {
  DenseMap<Attribute, Value> arguments;
  for (BlockArgument argument : function.getArguments())
    if (Attribute name =
            function.getArgAttr(argument.getArgNumber(), names::kVariable))
      arguments[name] = argument;
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    returned[withoutViews(value)] =
        arguments.lookup(function.getResultAttr(i, names::kVariable));
}

void StepFinder::addReads(ArrayRef<Operation *> members,
                          planning::Computation &step) {
  llvm::SmallSetVector<Value, 8> reads;
  for (Operation *op : members)
    for (Value value : readValues(op)) {
      Value whole = withoutViews(value);
      if (!llvm::is_contained(members, whole.getDefiningOp()))
        reads.insert(whole);
    }
  for (Value value : reads)
    step.reads.push_back(numberOf(value));
}

/// Whether a kernel can write `result` over `value`: if it reads that in
/// element-wise ops alone, at the index that it writes.
bool StepFinder::mayReplace(ArrayRef<Operation *> members, Value value,
                            Value result) const {
  return value.getType() == result.getType() &&
         llvm::all_of(members, [&](Operation *op) {
           return op->hasTrait<ElementwiseOpTrait>() ||
                  !llvm::is_contained(op->getOperands(), value);
         });
}

/// Results that others read, and what they can take the place of.
void StepFinder::addWrites(ArrayRef<Operation *> members,
                           planning::Computation &step) {
  for (Operation *op : members)
    for (Value result : op->getResults()) {
      if (llvm::all_of(op->getUsers(), [&](Operation *user) {
            return llvm::is_contained(members, user);
          }))
        continue;
      step.writes.push_back(numberOf(result));
      if (Value old = returned.lookup(result))
        step.overwrites.push_back(numberOf(old));
      for (uint32_t value : step.reads)
        if (mayReplace(members, values[value], result))
          step.inplace.push_back(value);
    }
}

/// What the regions of a branch or a loop take while it runs: of all that they
/// compute, as a bound.
uint64_t StepFinder::bytesInside(Operation *op) const {
  uint64_t bytes = 0;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      if (!isPlaced(inner) && !constantOps.contains(inner))
        for (Type type : inner->getResultTypes())
          bytes += tensorSize(type);
    });
  return bytes;
}

bool StepFinder::isRepeatable(ArrayRef<Operation *> members,
                              const planning::Computation &step) const {
  return step.overwrites.empty() && llvm::all_of(members, [&](Operation *op) {
           return isMemoryEffectFree(op) && !isa<WhileOp>(op) &&
                  !op->hasTrait<OpTrait::IsTerminator>() &&
                  !constantOps.contains(op);
         });
}

planning::Computations StepFinder::find() {
  // An element that is read or written takes about as long as so much
  // arithmetic in vectors.
  constexpr uint64_t kCostOfByte = 4;
  findVariables();
  for (ArrayRef<Operation *> members : groups) {
    planning::Computation step;
    addReads(members, step);
    addWrites(members, step);
    for (Operation *op : members) {
      step.cost += arithmeticOf(op);
      step.inside += bytesInside(op);
    }
    for (uint32_t value : step.reads)
      step.cost += kCostOfByte * problem.sizes[value];
    for (uint32_t value : step.writes)
      step.cost += kCostOfByte * problem.sizes[value];
    step.repeatable = isRepeatable(members, step);
    problem.steps.push_back(std::move(step));
  }
  return std::move(problem);
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// Writes a block anew, in the order of steps.
class Rewriter {
public:
  Rewriter(Block &block, const Groups &groups)
      : block(block), groups(groups), builder(block.getTerminator()) {}

  void rewrite(ArrayRef<uint32_t> order);

private:
  Value latest(Value value);

  Block &block;
  const Groups &groups;
  OpBuilder builder;
  IRMapping mapping;
  /// Of each view the one of the latest values, and what it is a view of.
  DenseMap<Operation *, std::pair<Value, Value>> views;
};

/// What `value` is by now.
Value Rewriter::latest(Value value) {
  auto view = value.getDefiningOp<ReshapeOp>();
  if (!view || view->getBlock() != &block)
    return mapping.lookupOrDefault(value);
  Value source = latest(view.getX());
  auto &[viewed, result] = views[view];
  if (viewed != source) {
    viewed = source;
    Operation *copy = builder.clone(*view);
    copy->setOperand(0, source);
    result = copy->getResult(0);
  }
  return result;
}

void Rewriter::rewrite(ArrayRef<uint32_t> order) {
  Operation *terminator = block.getTerminator();
  SmallVector<Operation *> old;
  for (Operation &op : block.without_terminator())
    old.push_back(&op);
  for (Operation *op : llvm::reverse(old))
    if (isa<ConstantOp>(op))
      op->moveBefore(&block, block.begin());
  for (uint32_t step : order)
    for (Operation *op : groups[step]) {
      IRMapping local;
      for (Value value : readValues(op))
        local.map(value, latest(value));
      if (op == terminator) {
        for (OpOperand &operand : op->getOpOperands())
          operand.set(local.lookup(operand.get()));
        continue;
      }
      Operation *copy = builder.clone(*op, local);
      mapping.map(op->getResults(), copy->getResults());
    }
  for (Operation *op : llvm::reverse(old))
    if (!isa<ConstantOp>(op))
      op->erase();
}

struct RematerialisePass : impl::RematerialiseBase<RematerialisePass> {
  using RematerialiseBase::RematerialiseBase;
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (failed(checkDialect(function)))
      return signalPassFailure();
    numRepeated += rematerialise(function, limit, fuse).repeated;
  }
};

} // namespace

Rematerialisation rematerialise(func::FuncOp function, uint64_t limit,
                                bool fuse) {
  Groups groups = findGroups(function, fuse);
  planning::Computations problem = StepFinder(function, groups).find();
  planning::Recomputation plan = planning::planRecomputation(problem, limit);
  Rematerialisation result;
  result.peak = plan.peak;
  result.repeated = plan.order.size() - groups.size();
  DenseSet<Operation *> constantOps = findConstantOps(function);
  auto sum = [&](auto steps) {
    uint64_t arithmetic = 0;
    for (uint32_t step : steps)
      for (Operation *op : groups[step])
        if (!constantOps.contains(op))
          arithmetic += arithmeticOf(op);
    return arithmetic;
  };
  result.arithmeticBefore = sum(llvm::seq<uint32_t>(0, groups.size()));
  result.arithmetic = sum(plan.order);
  if (result.repeated > 0)
    Rewriter(function.getBody().front(), groups).rewrite(plan.order);
  return result;
}

} // namespace tinh::transforms
