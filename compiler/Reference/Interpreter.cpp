//===- Interpreter.cpp - A naive interpreter of the graph dialect ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Interpreter.h"

#include "compiler/Reference/Families.h"

using namespace mlir;

namespace tinh::reference {

std::optional<Tensor> evaluateOp(Operation *op, Operands operands) {
  for (auto *family :
       {evaluateElementwise, evaluateContraction, evaluateMovement,
        evaluateReduction, evaluateNormalization})
    if (std::optional<Tensor> result = family(op, operands)) {
      roundElements(*result);
      return result;
    }
  return std::nullopt;
}

namespace {

class Interpreter {
public:
  explicit Interpreter(ReadExternal readExternal)
      : readExternal(readExternal) {}

  /// What the block's terminator returns.
  FailureOr<std::vector<Tensor>> run(Block &block,
                                     std::vector<Tensor> arguments);

private:
  FailureOr<const Tensor *> operand(Value value, std::vector<Tensor> &storage);
  FailureOr<Tensor> readConstant(graph::ConstantOp op);
  LogicalResult evaluate(Operation &op);
  LogicalResult evaluateKernel(graph::KernelOp op);
  void dropDead(Operation &op);

  ReadExternal readExternal;
  llvm::DenseMap<Value, Tensor> values;
  llvm::DenseMap<Value, unsigned> uses; // That are still to come.
};

} // namespace

FailureOr<std::vector<Tensor>> Interpreter::run(Block &block,
                                                std::vector<Tensor> arguments) {
  for (auto [argument, tensor] :
       llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = std::move(tensor);
  for (Operation &op : block)
    for (Value operand : op.getOperands())
      ++uses[operand];
  for (Operation &op : block.without_terminator())
    if (failed(evaluate(op)))
      return failure();
  std::vector<Tensor> results, storage;
  for (Value value : block.getTerminator()->getOperands()) {
    auto tensor = operand(value, storage);
    if (failed(tensor))
      return failure();
    results.push_back(**tensor);
  }
  return results;
}

/// The tensor of a value. Constants are read where they are used, into
/// `storage`, so that only those in use take memory.
FailureOr<const Tensor *> Interpreter::operand(Value value,
                                               std::vector<Tensor> &storage) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  if (!constant)
    return &values.find(value)->second;
  auto tensor = readConstant(constant);
  if (failed(tensor))
    return failure();
  return &storage.emplace_back(std::move(*tensor));
}

FailureOr<Tensor> Interpreter::readConstant(graph::ConstantOp op) {
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()))
    return fromAttribute(dense);
  auto bytes = readExternal(cast<graph::ExternalAttr>(op.getValue()));
  if (!bytes)
    return op.emitError(llvm::toString(bytes.takeError()));
  return fromBytes(cast<RankedTensorType>(op.getType()), *bytes);
}

LogicalResult Interpreter::evaluate(Operation &op) {
  if (isa<graph::ConstantOp>(op))
    return success();
  if (auto kernel = dyn_cast<graph::KernelOp>(op))
    return evaluateKernel(kernel);
  std::vector<Tensor> storage;
  storage.reserve(op.getNumOperands());
  SmallVector<const Tensor *> operands;
  for (Value value : op.getOperands()) {
    auto tensor = operand(value, storage);
    if (failed(tensor))
      return failure();
    operands.push_back(*tensor);
  }
  std::optional<Tensor> result;
  if (op.getNumResults() == 1)
    result = evaluateOp(&op, operands);
  if (!result)
    return op.emitError("the reference interpreter does not define '")
           << op.getName() << "' on these operands";
  values[op.getResult(0)] = std::move(*result);
  dropDead(op);
  return success();
}

LogicalResult Interpreter::evaluateKernel(graph::KernelOp op) {
  std::vector<Tensor> inputs, storage;
  storage.reserve(op.getInputs().size());
  for (Value value : op.getInputs()) {
    auto tensor = operand(value, storage);
    if (failed(tensor))
      return failure();
    inputs.push_back(**tensor);
  }
  auto results =
      Interpreter(readExternal).run(op.getBody().front(), std::move(inputs));
  if (failed(results))
    return failure();
  for (auto [value, tensor] : llvm::zip_equal(op.getOutputs(), *results))
    values[value] = std::move(tensor);
  dropDead(*op);
  return success();
}

/// Frees the operands that `op` was the last to read.
void Interpreter::dropDead(Operation &op) {
  for (Value operand : op.getOperands())
    if (--uses[operand] == 0)
      values.erase(operand);
}

FailureOr<std::vector<Tensor>> evaluate(func::FuncOp function,
                                        std::vector<Tensor> inputs,
                                        ReadExternal readExternal) {
  if (function.isExternal())
    return function.emitError("has no body to interpret");
  assert(llvm::equal(function.getArgumentTypes(),
                     llvm::map_range(inputs, [](const Tensor &input) -> Type {
                       return input.type;
                     })));
  return Interpreter(readExternal)
      .run(function.getBody().front(), std::move(inputs));
}

} // namespace tinh::reference
