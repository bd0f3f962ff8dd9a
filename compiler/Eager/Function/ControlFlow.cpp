//===- ControlFlow.cpp - Branches and loops over tensors --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a branch or the body of a loop changes in place is among the results of
// the op: the memory holds them from there on. A loop must know before its body
// is recorded what that will change, and so records it twice.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/FunctionImpl.h"
#include "compiler/Eager/Function/TraceBackend.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tinh {

using eager::implOf;
using eager::TensorAccess;
using eager::TensorImpl;
using eager::Trace;
using eager::TraceBackend;
using Tensors = std::vector<Tensor>;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

[[noreturn]] static void fail(const char *name, std::source_location at,
                              const std::string &what) {
  eager::failWith({name, at}, what);
}

static std::string describe(const Tensor &tensor) {
  return std::string(tensor.dtype().name()) + to_string(tensor.shape());
}

/// Throws unless `found` are as many tensors, of the same dtypes and shapes, as
/// `expected`.
static void checkSame(const char *name, std::source_location at,
                      const char *foundWhat, std::span<const Tensor> found,
                      const char *expectedWhat,
                      std::span<const Tensor> expected) {
  if (found.size() != expected.size())
    fail(name, at,
         std::string(foundWhat) + " gives " + std::to_string(found.size()) +
             " tensors, " + expectedWhat + " " +
             std::to_string(expected.size()));
  for (size_t i = 0; i < found.size(); ++i)
    if (describe(found[i]) != describe(expected[i]))
      fail(name, at,
           std::string(foundWhat) + " gives " + describe(found[i]) +
               " as tensor " + std::to_string(i) + ", " + expectedWhat + " " +
               describe(expected[i]));
}

static void checkCondition(const char *name, std::source_location at,
                           const Tensor &condition) {
  if (condition.dtype() != boolean || condition.numel() != 1)
    fail(name, at,
         "the condition is " + describe(condition) + ", not one boolean");
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

namespace {

using Change = Trace::Change;

/// Records regions of one op.
class Recorder {
public:
  Recorder(TraceBackend &backend, const char *name, std::source_location at)
      : trace(backend.trace), call{name, at}, backend(backend) {}

  Value read(const Tensor &tensor) { return trace.read(implOf(tensor)); }
  /// The condition, of rank 0.
  Value readCondition(const Tensor &condition) {
    checkCondition(call.name, call.at, condition);
    return trace.add(
        call, [&](GraphOps &ops) { return ops.reshape(read(condition), {}); });
  }
  SmallVector<Value> read(std::span<const Tensor> tensors) {
    SmallVector<Value> values;
    for (const Tensor &tensor : tensors)
      values.push_back(read(tensor));
    return values;
  }
  /// What a loop carries at first, `changed` behind the rest.
  SmallVector<Value> readCarried(std::span<const Tensor> initial,
                                 ArrayRef<Change> changed) {
    SmallVector<Value> values = read(initial);
    for (const Change &change : changed)
      values.push_back(trace.readMemory(*change.memory));
    return values;
  }
  /// What an op gave, as far as gradients go.
  Value result(Value value) { return backend.result(value, call); }
  Tensor hold(const Tensor &like, Value value) {
    return TensorAccess::share(*trace.hold(implOf(like), value));
  }
  /// Tensors like `like` that hold `values`.
  template <typename Range>
  Tensors hold(std::span<const Tensor> like, Range values) {
    Tensors tensors;
    for (auto [tensor, value] : llvm::zip(like, values))
      tensors.push_back(hold(tensor, result(value)));
    return tensors;
  }

  /// New arguments of `block`, as tensors like `like`.
  Tensors addArguments(Block &block, std::span<const Tensor> like) {
    Tensors tensors;
    for (const Tensor &tensor : like)
      tensors.push_back(
          hold(tensor, block.addArgument(typeOf(tensor), location())));
    return tensors;
  }
  RankedTensorType typeOf(const Tensor &tensor) {
    return eager::tensorType(trace.context(), implOf(tensor));
  }
  /// Gives each memory a new argument of `block` for its value.
  void addArguments(Block &block, ArrayRef<Change> memories) {
    for (const Change &change : memories)
      change.memory->value = block.addArgument(change.memory->type, location());
  }

  Location location() { return UnknownLoc::get(trace.context()); }
  OpBuilder &builder() { return trace.raw(); }

  Trace &trace;
  const eager::Call call;

private:
  TraceBackend &backend;
};

/// Throws if a body, recorded again, changes more than it did at first.
void checkRepeats(const Recorder &recorder, ArrayRef<Change> changes,
                  ArrayRef<Change> changed) {
  for (const Change &change : changes)
    if (llvm::none_of(changed, [&](const Change &known) {
          return known.memory.get() == change.memory.get();
        }))
      fail(recorder.call.name, recorder.call.at,
           "the body changes other tensors when it is recorded again; it must "
           "do the same each time");
}

/// What `changes` say of `memory`, or what it holds if they do not say.
Value valueIn(ArrayRef<Change> changes, const Change &memory) {
  for (const Change &change : changes)
    if (change.memory.get() == memory.memory.get())
      return change.value;
  return memory.memory->value;
}

void addMissing(std::vector<Change> &all, ArrayRef<Change> more) {
  for (const Change &change : more)
    if (llvm::none_of(all, [&](const Change &known) {
          return known.memory.get() == change.memory.get();
        }))
      all.push_back(change);
}

/// After the op, the changed memories hold these results.
void holdResults(Recorder &recorder, ArrayRef<Change> changed,
                 ResultRange results) {
  for (auto [change, value] : llvm::zip_equal(changed, results))
    change.memory->value = recorder.result(value);
}

} // namespace

//===----------------------------------------------------------------------===//
// cond
//===----------------------------------------------------------------------===//

static Tensors traceCond(Recorder recorder, const Tensor &condition,
                         const Branch &then, const Branch &otherwise) {
  Value chosen = recorder.readCondition(condition);
  struct Side {
    std::unique_ptr<Block> block = std::make_unique<Block>();
    Tensors results;
    SmallVector<Value> values;
    std::vector<Change> changes;
  } sides[2];
  for (auto [side, branch] :
       {std::pair(&sides[0], &then), std::pair(&sides[1], &otherwise)})
    side->changes = recorder.trace.record(*side->block, [&] {
      side->results = (*branch)();
      side->values = recorder.read(side->results);
    });
  checkSame("cond", recorder.call.at, "the second branch", sides[1].results,
            "the first one", sides[0].results);
  std::vector<Change> changed = sides[0].changes;
  addMissing(changed, sides[1].changes);
  SmallVector<Type> types(ValueRange(sides[0].values).getTypes());
  for (const Change &change : changed)
    types.push_back(change.memory->type);
  OpBuilder &b = recorder.builder();
  auto op = graph::IfOp::create(b, recorder.location(), types, chosen);
  for (auto [side, region] : llvm::zip_equal(sides, op->getRegions())) {
    for (const Change &change : changed)
      side.values.push_back(valueIn(side.changes, change));
    OpBuilder end(b.getContext());
    end.setInsertionPointToEnd(side.block.get());
    graph::YieldOp::create(end, recorder.location(), side.values);
    region.getBlocks().clear();
    region.push_back(side.block.release());
  }
  holdResults(recorder, changed, op.getResults().take_back(changed.size()));
  return recorder.hold(sides[0].results, op.getResults());
}

Tensors cond(const Tensor &condition, const Branch &then,
             const Branch &otherwise, std::source_location at) {
  checkCondition("cond", at, condition);
  if (TraceBackend *backend = TraceBackend::current())
    return traceCond({*backend, "cond", at}, condition, then, otherwise);
  return condition.item<bool>(at) ? then() : otherwise();
}

//===----------------------------------------------------------------------===//
// while_loop
//===----------------------------------------------------------------------===//

/// What a body that runs eagerly starts from. As in a graph, it may change its
/// state in place, and nothing else holds it.
static Tensors copiesOf(std::span<const Tensor> initial,
                        std::source_location at) {
  Tensors copies;
  for (const Tensor &tensor : initial)
    copies.push_back(tensor.clone(at));
  return copies;
}

using Condition = std::function<Tensor(std::span<const Tensor>)>;
using Body = std::function<Tensors(std::span<const Tensor>)>;

static Tensors traceWhile(Recorder recorder, const Condition &condition,
                          const Body &body, const Tensors &initial) {
  Trace &trace = recorder.trace;
  Trace::LoopScope inLoop(trace);
  Block trial;
  std::vector<Change> changed = trace.record(trial, [&] {
    Tensors state = recorder.addArguments(trial, initial);
    recorder.readCondition(condition(state));
    checkSame("while_loop", recorder.call.at, "the body", body(state),
              "it starts from", initial);
  });
  trial.dropAllDefinedValueUses();
  SmallVector<Value> operands = recorder.readCarried(initial, changed);
  OpBuilder &b = recorder.builder();
  auto conditionBlock = std::make_unique<Block>();
  auto bodyBlock = std::make_unique<Block>();
  trace.record(*conditionBlock, [&] {
    Tensors state = recorder.addArguments(*conditionBlock, initial);
    recorder.addArguments(*conditionBlock, changed);
    Value goesOn = recorder.readCondition(condition(state));
    for (auto [change, argument] : llvm::zip_equal(
             changed, conditionBlock->getArguments().take_back(changed.size())))
      if (change.memory->value != argument)
        fail("while_loop", recorder.call.at,
             "the condition changes a tensor in place; do that in the body");
    graph::ConditionOp::create(b, recorder.location(), goesOn);
  });
  auto changes = trace.record(*bodyBlock, [&] {
    Tensors state = recorder.addArguments(*bodyBlock, initial);
    recorder.addArguments(*bodyBlock, changed);
    Tensors next = body(state);
    checkSame("while_loop", recorder.call.at, "the body, recorded again,", next,
              "it starts from", initial);
    SmallVector<Value> values = recorder.read(next);
    for (const Change &change : changed)
      values.push_back(change.memory->value);
    graph::YieldOp::create(b, recorder.location(), values);
  });
  checkRepeats(recorder, changes, changed);
  auto op = graph::WhileOp::create(b, recorder.location(),
                                   ValueRange(operands).getTypes(), operands);
  op.getCondition().push_back(conditionBlock.release());
  op.getBody().push_back(bodyBlock.release());
  holdResults(recorder, changed, op.getResults().take_back(changed.size()));
  return recorder.hold(initial, op.getResults());
}

Tensors while_loop(const Condition &condition, const Body &body,
                   Tensors initial, std::source_location at) {
  if (TraceBackend *backend = TraceBackend::current())
    return traceWhile({*backend, "while_loop", at}, condition, body, initial);
  Tensors state = copiesOf(initial, at);
  while (true) {
    Tensor goesOn = condition(state);
    checkCondition("while_loop", at, goesOn);
    if (!goesOn.item<bool>(at))
      return state;
    Tensors next = body(state);
    checkSame("while_loop", at, "the body", next, "it starts from", state);
    state = std::move(next);
  }
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

using ScanBody =
    std::function<ScanStep(std::span<const Tensor>, std::span<const Tensor>)>;

static int64_t checkLength(std::span<const Tensor> inputs, int64_t length,
                           std::source_location at) {
  for (const Tensor &input : inputs) {
    if (input.dim() == 0)
      fail("scan", at, "an input of rank 0 has no rows");
    if (length >= 0 && input.size(0) != length)
      fail("scan", at,
           "an input has " + std::to_string(input.size(0)) + " rows, not " +
               std::to_string(length));
    length = input.size(0);
  }
  if (length < 0)
    fail("scan", at, "there are no inputs: say the length");
  return length;
}

/// The shape of `length` items, stacked.
static Shape stackedShape(std::span<const int64_t> item, int64_t length) {
  Shape shape{length};
  for (int64_t extent : item)
    shape.push_back(extent);
  return shape;
}

/// Tensors like the rows of `inputs`.
static Tensors likeRows(const Tensors &inputs, std::source_location at) {
  Tensors rows;
  for (const Tensor &input : inputs) {
    Shape shape = input.shape(), row;
    for (size_t i = 1; i < shape.size(); ++i)
      row.push_back(shape[i]);
    rows.push_back(empty(row, input.dtype(), at));
  }
  return rows;
}

static ScanResult traceScan(Recorder recorder, const ScanBody &body,
                            const Tensors &initial, const Tensors &inputs,
                            int64_t length) {
  Trace &trace = recorder.trace;
  Trace::LoopScope inLoop(trace);
  Tensors rowsLike = likeRows(inputs, recorder.call.at);
  Tensors itemsLike;
  Block trial;
  std::vector<Change> changed = trace.record(trial, [&] {
    Tensors state = recorder.addArguments(trial, initial);
    Tensors rows = recorder.addArguments(trial, rowsLike);
    ScanStep step = body(state, rows);
    checkSame("scan", recorder.call.at, "the body", step.state,
              "it starts from", initial);
    for (auto [row, argument] :
         llvm::zip_equal(rows, trial.getArguments().take_back(rows.size())))
      if (recorder.read(row) != argument)
        fail("scan", recorder.call.at,
             "the body changes a row of its inputs in place; change a clone() "
             "of it");
    itemsLike = step.items;
  });
  trial.dropAllDefinedValueUses();
  SmallVector<Value> carried = recorder.readCarried(initial, changed);
  OpBuilder &b = recorder.builder();
  auto block = std::make_unique<Block>();
  auto changes = trace.record(*block, [&] {
    block->addArgument(graph::countType(trace.context()), recorder.location());
    Tensors state = recorder.addArguments(*block, initial);
    recorder.addArguments(*block, changed);
    Tensors rows = recorder.addArguments(*block, rowsLike);
    ScanStep step = body(state, rows);
    checkSame("scan", recorder.call.at, "the body, recorded again,", step.state,
              "it starts from", initial);
    checkSame("scan", recorder.call.at, "the body, recorded again,", step.items,
              "it gave before", itemsLike);
    SmallVector<Value> next = recorder.read(step.state);
    for (const Change &change : changed)
      next.push_back(change.memory->value);
    llvm::append_range(next, recorder.read(step.items));
    graph::YieldOp::create(b, recorder.location(), next);
  });
  checkRepeats(recorder, changes, changed);
  SmallVector<Type> types(ValueRange(carried).getTypes());
  for (const Tensor &item : itemsLike)
    types.push_back(graph::stackedType(recorder.typeOf(item), length));
  auto op = graph::ScanOp::create(b, recorder.location(), types, length,
                                  /*trip_count=*/Value(), /*condition=*/Value(),
                                  carried, recorder.read(inputs));
  op.getBody().push_back(block.release());
  holdResults(recorder, changed, op.getFinals().take_back(changed.size()));
  ScanResult result;
  result.state = recorder.hold(initial, op.getFinals());
  for (auto [item, value] : llvm::zip_equal(itemsLike, op.getStacked()))
    result.stacked.push_back(
        recorder.hold(empty(stackedShape(item.shape(), length), item.dtype()),
                      recorder.result(value)));
  return result;
}

/// What a scan of no rows stacks. Tracing the body tells dtypes and shapes.
static Tensors stackNothing(const ScanBody &body, const Tensors &initial,
                            const Tensors &inputs, std::source_location at) {
  Tensors arguments = initial;
  llvm::append_range(arguments, likeRows(inputs, at));
  auto graph = eager::traceFunction(
      [&](std::span<const Tensor> traced) {
        return body(traced.first(initial.size()),
                    traced.subspan(initial.size()))
            .items;
      },
      arguments, {"scan", at});
  Tensors stacked;
  for (const auto &[dtype, sizes] : graph->results)
    stacked.push_back(empty(stackedShape(sizes, 0), DType(dtype), at));
  return stacked;
}

static ScanResult runScan(const ScanBody &body, const Tensors &initial,
                          const Tensors &inputs, int64_t length,
                          std::source_location at) {
  Tensors state = copiesOf(initial, at);
  if (length == 0)
    return {state, stackNothing(body, initial, inputs, at)};
  std::vector<Tensors> items; // By output.
  for (int64_t i = 0; i < length; ++i) {
    Tensors rows;
    for (const Tensor &input : inputs)
      rows.push_back(input.select(0, i, at));
    ScanStep step = body(state, rows);
    checkSame("scan", at, "the body", step.state, "it starts from", state);
    state = std::move(step.state);
    items.resize(step.items.size());
    for (auto [column, item] : llvm::zip_equal(items, step.items))
      column.push_back(item);
  }
  ScanResult result;
  result.state = std::move(state);
  for (const Tensors &column : items)
    result.stacked.push_back(stack(column, 0, at));
  return result;
}

ScanResult scan(const ScanBody &body, Tensors initial, Tensors inputs,
                int64_t length, std::source_location at) {
  length = checkLength(inputs, length, at);
  if (TraceBackend *backend = TraceBackend::current())
    return traceScan({*backend, "scan", at}, body, initial, inputs, length);
  return runScan(body, initial, inputs, length, at);
}

} // namespace tinh
