//===- SplitStages.cpp - Stages of large kernels as kernels -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of rows whose results need all of what one of its stages computes is
// one chunk: no two workers could share it. Where that is much work, the stage
// becomes a kernel of its own, and its result an operand.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/SplitStages.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::cpu {

/// The ops of the kernel's block that `stage` depends on, and itself.
static llvm::DenseSet<Operation *> dependencies(Operation *stage) {
  llvm::DenseSet<Operation *> found;
  SmallVector<Operation *> worklist{stage};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!found.insert(op).second)
      continue;
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && source->getBlock() == stage->getBlock())
          worklist.push_back(source);
    });
  }
  return found;
}

/// Makes a kernel, outside of any module, of what computes `results`, which are
/// of one op, from those arguments of `kernel` whose numbers `inputs` receives.
static func::FuncOp outlineStage(OpBuilder &b, func::FuncOp kernel,
                                 StringRef suffix, ValueRange results,
                                 SmallVectorImpl<unsigned> &inputs) {
  llvm::DenseSet<Operation *> ops = dependencies(results[0].getDefiningOp());
  auto isRead = [&](BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return ops.contains(
          kernel.getBody().front().findAncestorOpInBlock(*user));
    });
  };
  SmallVector<Type> types;
  for (BlockArgument argument : kernel.getArguments())
    if (isRead(argument)) {
      inputs.push_back(argument.getArgNumber());
      types.push_back(argument.getType());
    }
  OpBuilder::InsertionGuard guard(b);
  b.clearInsertionPoint();
  auto stage = func::FuncOp::create(
      b, results[0].getLoc(), (kernel.getName() + suffix).str(),
      b.getFunctionType(types, results.getTypes()));
  stage.setPrivate();
  b.setInsertionPointToStart(stage.addEntryBlock());
  IRMapping mapping;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(kernel.getArgument(input), stage.getArgument(i));
    if (Attribute strides = kernel.getArgAttr(input, graph::names::kStrides))
      stage.setArgAttr(i, graph::names::kStrides, strides);
  }
  for (Operation &op : kernel.getBody().front())
    if (ops.contains(&op))
      b.clone(op, mapping);
  func::ReturnOp::create(b, stage.getLoc(),
                         llvm::map_to_vector(results, [&](Value value) {
                           return mapping.lookup(value);
                         }));
  return stage;
}

/// Removes what nobody reads from `kernel`, and from what `dispatch` passes.
static void eraseUnused(func::FuncOp kernel, graph::DispatchOp dispatch) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(kernel.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned i = kernel.getNumArguments(); i-- > 0;)
    if (kernel.getArgument(i).use_empty()) {
      (void)kernel.eraseArgument(i);
      dispatch.getInputsMutable().erase(i);
    }
}

/// The values, all of one op, that a kernel would have to hand over if `stage`
/// were one of its own: its results, or what alone follows from them element by
/// element. None if nothing else is computed of them.
static SmallVector<Value> handedOver(linalg::GenericOp stage) {
  SmallVector<Value> values;
  for (Value result : stage.getResults())
    if (!result.use_empty())
      values.push_back(result);
  while (values.size() == 1 && values[0].hasOneUse()) {
    OpOperand &use = *values[0].use_begin();
    auto next = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!next || next.getNumReductionLoops() > 0 ||
        next.getNumDpsInputs() != 1 || next.getNumResults() != 1 ||
        !next.getMatchingIndexingMap(&use).isIdentity() ||
        !next.getMatchingIndexingMap(next.getDpsInitOperand(0)).isIdentity())
      break;
    values[0] = next.getResult(0);
  }
  auto isReturned = [](Value value) {
    return llvm::any_of(value.getUsers(), llvm::IsaPred<func::ReturnOp>);
  };
  if (llvm::any_of(values, isReturned))
    values.clear();
  return values;
}

int64_t largestValue(func::FuncOp kernel, Operation *without) {
  llvm::DenseSet<Operation *> others;
  if (without)
    others = dependencies(without);
  int64_t most = 0;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    int64_t elements = 1;
    for (int64_t extent : op.getStaticLoopRanges())
      elements *= extent;
    if (!others.contains(op))
      most = std::max(most, elements);
  }
  return most;
}

graph::DispatchOp dispatchStage(OpBuilder &b, SymbolTable &symbols,
                                func::FuncOp kernel, graph::DispatchOp dispatch,
                                StringRef suffix, ValueRange values) {
  SmallVector<unsigned> inputs;
  func::FuncOp stage = outlineStage(b, kernel, suffix, values, inputs);
  symbols.insert(stage, kernel->getIterator());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(dispatch);
  auto operands = llvm::map_to_vector(inputs, [&](unsigned input) {
    return Value(dispatch.getInputs()[input]);
  });
  auto computed = graph::DispatchOp::create(
      b, dispatch.getLoc(), stage.getResultTypes(), stage.getName(), operands);
  for (auto [value, result] : llvm::zip_equal(values, computed.getResults())) {
    unsigned number = kernel.getNumArguments();
    (void)kernel.insertArgument(number, value.getType(), {}, value.getLoc());
    Value(value).replaceAllUsesWith(kernel.getArgument(number));
    dispatch.getInputsMutable().append(result);
  }
  eraseUnused(kernel, dispatch);
  return computed;
}

graph::DispatchOp splitStage(OpBuilder &b, SymbolTable &symbols,
                             func::FuncOp kernel, graph::DispatchOp dispatch) {
  constexpr StringLiteral kSuffix = "_stage";
  // What one worker does in less time than it takes to share it.
  constexpr int64_t kLeastElements = 1 << 15;
  if (largestValue(kernel) < kLeastElements)
    return {};
  RowsPlan plan = planRows(kernel);
  if (plan.chunks > 1)
    return {};
  for (linalg::GenericOp op : plan.stages) {
    SmallVector<Value> values = handedOver(op);
    if (values.empty())
      continue;
    SmallVector<unsigned> inputs;
    OwningOpRef<func::FuncOp> stage =
        outlineStage(b, kernel, kSuffix, values, inputs);
    if (planRows(*stage).chunks > 1 ||
        largestValue(kernel, values[0].getDefiningOp()) >= kLeastElements)
      return dispatchStage(b, symbols, kernel, dispatch, kSuffix, values);
  }
  return {};
}

} // namespace tinh::cpu
