//===- Gradients.cpp - Reverse-mode differentiation of graphs -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Gradients.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::gradients {

bool isDifferentiable(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<FloatType>(element) && !graph::isStorageFloat(element);
}

Value addGradients(OpBuilder &builder, Location location, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return graph::AddOp::create(builder, location, a, b);
}

llvm::DenseSet<Value> findNeeded(Block &block, ValueRange outputs) {
  llvm::DenseSet<Value> needed;
  SmallVector<Value> worklist(outputs);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (needed.insert(value).second && op && op->getBlock() == &block)
      llvm::append_range(worklist, graph::readValues(op));
  }
  return needed;
}

llvm::DenseSet<Value> findDependent(Block &block, ValueRange inputs) {
  llvm::DenseSet<Value> dependent(inputs.begin(), inputs.end());
  for (Operation &op : block) {
    if (isa<graph::StopGradientOp>(op) ||
        llvm::none_of(graph::readValues(&op),
                      [&](Value value) { return dependent.contains(value); }))
      continue;
    for (Value result : op.getResults())
      if (isDifferentiable(result.getType()))
        dependent.insert(result);
  }
  return dependent;
}

namespace {

/// One walk from the outputs back to the inputs.
class ReverseWalk {
public:
  ReverseWalk(OpBuilder &builder, ValueRange inputs, GradientHook hook)
      : builder(builder), block(builder.getInsertionBlock()), inputs(inputs),
        hook(hook) {}

  /// Says that `gradient` is (a part of) the gradient of `value`.
  void contribute(Location location, Value value, Value gradient) {
    Value &sum = sums[value];
    sum = addGradients(builder, location, sum, gradient);
  }
  LogicalResult run(ValueRange outputs);
  /// The complete gradient of `value`; null if there is none.
  Value gradientOf(Value value);

private:
  void findPath(ValueRange outputs);
  LogicalResult propagate(Operation *op);

  OpBuilder &builder;
  Block *block;
  ValueRange inputs;
  GradientHook hook;
  llvm::DenseMap<Value, Value> sums;
  llvm::DenseSet<Value> complete;
  llvm::DenseSet<Value> dependent; // On the inputs.
  SmallVector<Operation *> path;   // In the block's order.
};

/// Ops before the insertion point that the outputs need, whose results depend
/// on the inputs in a differentiable way.
void ReverseWalk::findPath(ValueRange outputs) {
  dependent = findDependent(*block, inputs);
  llvm::DenseSet<Value> needed = findNeeded(*block, outputs);
  for (Operation &op : *block)
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return needed.contains(result) && dependent.contains(result);
        }))
      path.push_back(&op);
}

Value ReverseWalk::gradientOf(Value value) {
  auto known = sums.find(value);
  if (known == sums.end())
    return nullptr;
  if (hook && complete.insert(value).second)
    known->second = hook(value, known->second);
  return known->second;
}

LogicalResult ReverseWalk::propagate(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradientOf(result));
  if (llvm::none_of(resultGradients, [](Value value) { return !!value; }))
    return success();
  SmallVector<Value> read = graph::readValues(op);
  SmallVector<bool> wanted;
  for (Value value : read)
    wanted.push_back(dependent.contains(value) &&
                     isDifferentiable(value.getType()));
  if (!llvm::is_contained(wanted, true)) // An input that is computed.
    return success();
  auto rule = dyn_cast<graph::DifferentiableOpInterface>(op);
  if (!rule)
    return op->emitError()
           << op->getName()
           << " cannot be differentiated; stop_gradient makes what it gives a "
              "constant, custom_gradient says what its gradient is";
  auto gradients = rule.buildGradients(builder, resultGradients, wanted);
  if (failed(gradients))
    return failure();
  for (auto [value, gradient, isWanted] :
       llvm::zip_equal(read, *gradients, wanted))
    if (gradient && isWanted)
      contribute(op->getLoc(), value, gradient);
  return success();
}

LogicalResult ReverseWalk::run(ValueRange outputs) {
  findPath(outputs);
  for (Operation *op : llvm::reverse(path))
    if (failed(propagate(op)))
      return failure();
  return success();
}

} // namespace

FailureOr<SmallVector<Value>>
buildGradients(OpBuilder &builder, ValueRange outputs, ValueRange seeds,
               ValueRange inputs, GradientHook hook) {
  ReverseWalk walk(builder, inputs, hook);
  for (auto [output, seed] : llvm::zip_equal(outputs, seeds))
    if (isDifferentiable(output.getType()))
      walk.contribute(output.getLoc(), output, seed);
  if (failed(walk.run(outputs)))
    return failure();
  SmallVector<Value> result;
  for (Value input : inputs)
    result.push_back(walk.gradientOf(input));
  return result;
}

} // namespace tinh::gradients
