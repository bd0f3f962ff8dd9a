//===- Gradients.cpp - Reverse-mode differentiation of graphs -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Gradients.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tinh::gradients {

bool isDifferentiable(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

Value addGradients(OpBuilder &builder, Location location, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return graph::AddOp::create(builder, location, a, b);
}

namespace {

/// One walk from the outputs back to the inputs.
class ReverseWalk {
public:
  ReverseWalk(OpBuilder &builder, ValueRange inputs)
      : builder(builder), block(builder.getInsertionBlock()), inputs(inputs) {}

  /// Says that `gradient` is (a part of) the gradient of `value`.
  void contribute(Location location, Value value, Value gradient) {
    Value &sum = sums[value];
    sum = addGradients(builder, location, sum, gradient);
  }
  LogicalResult run(ValueRange outputs);
  Value gradientOf(Value value) const { return sums.lookup(value); }

private:
  void findDependent(ValueRange outputs);
  LogicalResult propagate(Operation *op);

  OpBuilder &builder;
  Block *block;
  ValueRange inputs;
  llvm::DenseMap<Value, Value> sums;
  /// What depends on the inputs, and the outputs on, in the block's order.
  llvm::DenseSet<Value> dependent;
  SmallVector<Operation *> path;
};

/// Ops before the insertion point that the outputs need, whose results depend
/// on the inputs in a differentiable way.
void ReverseWalk::findDependent(ValueRange outputs) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> worklist(outputs);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == block && needed.insert(op).second)
      llvm::append_range(worklist, graph::readValues(op));
  }
  dependent.insert(inputs.begin(), inputs.end());
  for (Operation &op : *block) {
    if (!needed.contains(&op) || isa<graph::StopGradientOp>(op) ||
        llvm::none_of(graph::readValues(&op),
                      [&](Value value) { return dependent.contains(value); }))
      continue;
    bool counts = false;
    for (Value result : op.getResults())
      if (isDifferentiable(result.getType())) {
        dependent.insert(result);
        counts = true;
      }
    if (counts)
      path.push_back(&op);
  }
}

LogicalResult ReverseWalk::propagate(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(sums.lookup(result));
  if (llvm::none_of(resultGradients, [](Value value) { return !!value; }))
    return success();
  SmallVector<Value> read = graph::readValues(op);
  SmallVector<bool> wanted;
  for (Value value : read)
    wanted.push_back(dependent.contains(value) &&
                     isDifferentiable(value.getType()));
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
  findDependent(outputs);
  for (Operation *op : llvm::reverse(path))
    if (failed(propagate(op)))
      return failure();
  return success();
}

} // namespace

FailureOr<SmallVector<Value>> buildGradients(OpBuilder &builder,
                                             ValueRange outputs,
                                             ValueRange seeds,
                                             ValueRange inputs) {
  ReverseWalk walk(builder, inputs);
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
