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
       {evaluateQuantization, evaluateElementwise, evaluateContraction,
        evaluateMovement, evaluateReduction, evaluateNormalization})
    if (std::optional<Tensor> result = family(op, operands)) {
      roundElements(*result);
      return result;
    }
  return std::nullopt;
}

namespace {

/// Runs one block; what its regions read from above is in `outer`.
class Interpreter {
public:
  explicit Interpreter(ReadExternal readExternal, Interpreter *outer = nullptr,
                       Observe observe = {})
      : readExternal(readExternal), outer(outer), observe(observe) {}

  /// What the block's terminator returns.
  FailureOr<std::vector<Tensor>> run(Block &block,
                                     std::vector<Tensor> arguments);

  // The same op by op.
  void begin(Block &block, std::vector<Tensor> arguments);
  LogicalResult evaluate(Operation &op);
  void setResults(Operation &op, std::vector<Tensor> results);
  FailureOr<std::vector<Tensor>> copies(ValueRange values);

private:
  const Tensor *find(Value value) const;
  FailureOr<const Tensor *> operand(Value value, std::vector<Tensor> &storage);
  FailureOr<bool> condition(Value value);
  FailureOr<Tensor> readConstant(graph::ConstantOp op);
  FailureOr<std::vector<Tensor>> evaluateResults(Operation &op);
  FailureOr<std::vector<Tensor>> evaluateOne(Operation &op);
  FailureOr<std::vector<Tensor>> evaluateIf(graph::IfOp op);
  FailureOr<std::vector<Tensor>> evaluateWhile(graph::WhileOp op);
  FailureOr<std::vector<Tensor>> evaluateScan(graph::ScanOp op);
  FailureOr<int64_t> tripCount(graph::ScanOp op);
  FailureOr<std::vector<Tensor>> evaluateCustom(graph::CustomGradientOp op);
  LogicalResult keepConstants(Operation *loop);
  void dropDead(Operation &op);

  ReadExternal readExternal;
  Interpreter *outer;
  Observe observe; // May be empty.
  llvm::DenseMap<Value, Tensor> values;
  llvm::DenseMap<Value, unsigned> uses; // That are still to come.
};

} // namespace

void Interpreter::begin(Block &block, std::vector<Tensor> arguments) {
  for (auto [argument, tensor] :
       llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = std::move(tensor);
  for (Operation &op : block)
    for (Value read : graph::readValues(&op))
      ++uses[read];
}

FailureOr<std::vector<Tensor>> Interpreter::run(Block &block,
                                                std::vector<Tensor> arguments) {
  begin(block, std::move(arguments));
  for (Operation &op : block.without_terminator())
    if (failed(evaluate(op)))
      return failure();
  return copies(block.getTerminator()->getOperands());
}

const Tensor *Interpreter::find(Value value) const {
  auto it = values.find(value);
  if (it != values.end())
    return &it->second;
  return outer ? outer->find(value) : nullptr;
}

/// The tensor of a value. Constants are read where they are used, into
/// `storage`, so that only those in use take memory.
FailureOr<const Tensor *> Interpreter::operand(Value value,
                                               std::vector<Tensor> &storage) {
  if (const Tensor *tensor = find(value))
    return tensor;
  auto tensor = readConstant(cast<graph::ConstantOp>(value.getDefiningOp()));
  if (failed(tensor))
    return failure();
  return &storage.emplace_back(std::move(*tensor));
}

FailureOr<std::vector<Tensor>> Interpreter::copies(ValueRange range) {
  std::vector<Tensor> result, storage;
  storage.reserve(range.size());
  for (Value value : range) {
    auto tensor = operand(value, storage);
    if (failed(tensor))
      return failure();
    result.push_back(**tensor);
  }
  return result;
}

FailureOr<bool> Interpreter::condition(Value value) {
  auto tensor = copies(value);
  if (failed(tensor))
    return failure();
  return tensor->front().integers.front() != 0;
}

FailureOr<Tensor> Interpreter::readConstant(graph::ConstantOp op) {
  TypedAttr elements = graph::elementsOf(op.getValue());
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    return fromAttribute(dense);
  auto bytes = readExternal(cast<graph::ExternalAttr>(elements));
  if (!bytes)
    return op.emitError(llvm::toString(bytes.takeError()));
  return fromBytes(cast<RankedTensorType>(op.getType()), *bytes);
}

LogicalResult Interpreter::evaluate(Operation &op) {
  if (isa<graph::ConstantOp>(op))
    return success();
  auto results = evaluateResults(op);
  if (failed(results))
    return failure();
  setResults(op, std::move(*results));
  return success();
}

void Interpreter::setResults(Operation &op, std::vector<Tensor> results) {
  for (auto [value, tensor] : llvm::zip_equal(op.getResults(), results)) {
    if (observe)
      observe(value, tensor);
    values[value] = std::move(tensor);
  }
  dropDead(op);
}

FailureOr<std::vector<Tensor>> Interpreter::evaluateResults(Operation &op) {
  if (auto branch = dyn_cast<graph::IfOp>(op))
    return evaluateIf(branch);
  if (auto loop = dyn_cast<graph::WhileOp>(op))
    return evaluateWhile(loop);
  if (auto loop = dyn_cast<graph::ScanOp>(op))
    return evaluateScan(loop);
  if (auto custom = dyn_cast<graph::CustomGradientOp>(op))
    return evaluateCustom(custom);
  if (auto stop = dyn_cast<graph::StopGradientOp>(op))
    return copies(stop.getX());
  if (auto dropout = dyn_cast<graph::DropoutOp>(op))
    return copies(dropout.getX());
  auto kernel = dyn_cast<graph::KernelOp>(op);
  if (!kernel)
    return evaluateOne(op);
  auto inputs = copies(kernel.getInputs());
  if (failed(inputs))
    return failure();
  return Interpreter(readExternal)
      .run(kernel.getBody().front(), std::move(*inputs));
}

FailureOr<std::vector<Tensor>> Interpreter::evaluateOne(Operation &op) {
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
  return std::vector<Tensor>{std::move(*result)};
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

FailureOr<std::vector<Tensor>> Interpreter::evaluateIf(graph::IfOp op) {
  auto chosen = condition(op.getCondition());
  if (failed(chosen))
    return failure();
  Region &branch = *chosen ? op.getThenBranch() : op.getElseBranch();
  return Interpreter(readExternal, this).run(branch.front(), {});
}

/// Constants from above that a loop reads, so that each iteration need not.
LogicalResult Interpreter::keepConstants(Operation *loop) {
  for (Value value : graph::readValues(loop)) {
    auto constant = value.getDefiningOp<graph::ConstantOp>();
    if (!constant || find(value))
      continue;
    auto tensor = readConstant(constant);
    if (failed(tensor))
      return failure();
    values[value] = std::move(*tensor);
  }
  return success();
}

FailureOr<std::vector<Tensor>> Interpreter::evaluateWhile(graph::WhileOp op) {
  auto carried = copies(op.getInitial());
  if (failed(carried) || failed(keepConstants(op)))
    return failure();
  while (true) {
    auto goesOn = Interpreter(readExternal, this)
                      .run(op.getCondition().front(), *carried);
    if (failed(goesOn))
      return failure();
    if (goesOn->front().integers.front() == 0)
      return carried;
    carried = Interpreter(readExternal, this)
                  .run(op.getBody().front(), std::move(*carried));
    if (failed(carried))
      return failure();
  }
}

/// Row `index` of `x`, and its opposite.
static Tensor rowOf(const Tensor &x, int64_t index) {
  Tensor row(graph::rowType(x.type));
  visitElements(x, [&](auto zero) {
    using T = decltype(zero);
    std::copy_n(x.elements<T>().begin() + index * row.size(), row.size(),
                row.elements<T>().begin());
  });
  return row;
}

static void setRow(Tensor &x, int64_t index, const Tensor &row) {
  visitElements(x, [&](auto zero) {
    using T = decltype(zero);
    llvm::copy(row.elements<T>(), x.elements<T>().begin() + index * row.size());
  });
}

/// How many iterations there are unless a condition ends them.
FailureOr<int64_t> Interpreter::tripCount(graph::ScanOp op) {
  int64_t length = op.getLength();
  if (!op.getTripCount())
    return length;
  auto count = copies(op.getTripCount());
  if (failed(count))
    return failure();
  return std::min<Integer>(length, count->front().integers.front());
}

FailureOr<std::vector<Tensor>> Interpreter::evaluateScan(graph::ScanOp op) {
  auto carried = copies(op.getInitial()), xs = copies(op.getXs());
  FailureOr<int64_t> count = tripCount(op);
  FailureOr<bool> goesOn =
      op.getCondition() ? condition(op.getCondition()) : true;
  if (failed(carried) || failed(xs) || failed(count) || failed(goesOn) ||
      failed(keepConstants(op)))
    return failure();
  std::vector<Tensor> stacked;
  for (Value result : op.getStacked())
    stacked.emplace_back(result.getType());
  for (int64_t i = 0; i < *count && *goesOn; ++i) {
    std::vector<Tensor> arguments(1, Tensor(op.getIndex().getType()));
    arguments.front().integers.front() = i;
    llvm::append_range(arguments, *carried);
    for (const Tensor &x : *xs)
      arguments.push_back(rowOf(x, i));
    auto yielded = Interpreter(readExternal, this)
                       .run(op.getBody().front(), std::move(arguments));
    if (failed(yielded))
      return failure();
    auto next = yielded->begin();
    if (op.getCondition())
      goesOn = next++->integers.front() != 0;
    for (Tensor &value : *carried)
      value = std::move(*next++);
    for (Tensor &rows : stacked)
      setRow(rows, i, *next++);
  }
  llvm::append_range(*carried, stacked);
  return carried;
}

FailureOr<std::vector<Tensor>>
Interpreter::evaluateCustom(graph::CustomGradientOp op) {
  auto inputs = copies(op.getInputs());
  if (failed(inputs))
    return failure();
  return Interpreter(readExternal, this)
      .run(op.getForward().front(), std::move(*inputs));
}

/// Frees the values that `op` was the last to read.
void Interpreter::dropDead(Operation &op) {
  for (Value read : graph::readValues(&op))
    if (--uses[read] == 0)
      values.erase(read);
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Gives all ranks what the collective gives each.
static LogicalResult evaluateOnAll(Operation &op,
                                   MutableArrayRef<Interpreter> ranks) {
  std::vector<Tensor> operands;
  for (Interpreter &rank : ranks) {
    auto tensor = rank.copies(op.getOperands());
    if (failed(tensor))
      return failure();
    operands.push_back(std::move(tensor->front()));
  }
  auto results = evaluateCollective(
      &op, llvm::map_to_vector(operands, [](Tensor &tensor) -> const Tensor * {
        return &tensor;
      }));
  if (!results)
    return op.emitOpError("is for another number of ranks than the ")
           << ranks.size() << " that there are";
  for (auto [rank, result] : llvm::zip_equal(ranks, *results)) {
    std::vector<Tensor> own;
    own.push_back(std::move(result));
    rank.setResults(op, std::move(own));
  }
  return success();
}

FailureOr<std::vector<std::vector<Tensor>>>
evaluateOnRanks(func::FuncOp function, std::vector<std::vector<Tensor>> inputs,
                ReadExternal readExternal, Observe observe) {
  if (function.isExternal())
    return function.emitError("has no body to interpret");
  Block &block = function.getBody().front();
  std::vector<Interpreter> ranks;
  for (std::vector<Tensor> &own : inputs) {
    assert(llvm::equal(function.getArgumentTypes(),
                       llvm::map_range(own, [](const Tensor &input) -> Type {
                         return input.type;
                       })));
    ranks.emplace_back(readExternal, /*outer=*/nullptr, observe)
        .begin(block, std::move(own));
  }
  for (Operation &op : block.without_terminator()) {
    if (graph::isCollective(&op)) {
      if (failed(evaluateOnAll(op, ranks)))
        return failure();
      continue;
    }
    for (Interpreter &rank : ranks)
      if (failed(rank.evaluate(op)))
        return failure();
  }
  std::vector<std::vector<Tensor>> results;
  for (Interpreter &rank : ranks) {
    auto own = rank.copies(block.getTerminator()->getOperands());
    if (failed(own))
      return failure();
    results.push_back(std::move(*own));
  }
  return results;
}

FailureOr<std::vector<Tensor>> evaluate(func::FuncOp function,
                                        std::vector<Tensor> inputs,
                                        ReadExternal readExternal,
                                        Observe observe) {
  std::vector<std::vector<Tensor>> ranks;
  ranks.push_back(std::move(inputs));
  auto results =
      evaluateOnRanks(function, std::move(ranks), readExternal, observe);
  if (failed(results))
    return failure();
  return std::move(results->front());
}

} // namespace tinh::reference
