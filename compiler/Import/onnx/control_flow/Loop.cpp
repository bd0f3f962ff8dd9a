//===- Loop.cpp - Loop nodes become scans or whiles -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Loop(count, condition, initial…)  with a constant count
//     -> graph.scan length count
//   …                                 that stacks rows, otherwise
//     -> graph.scan of as many rows as the model declares, up to which it runs
//   …                                 otherwise
//     -> graph.while that carries the number of iterations
//
// Shapes are static, so that what a loop carries keeps its own.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/control_flow/ControlFlow.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tinh::onnx {

/// A Loop node on its way to a scan or a while.
struct Loop {
  /// How often it runs at most, and whether it begins; null: without limit.
  Value count, condition;
  std::optional<int64_t> knownCount;
  /// Whether a condition may end it.
  bool isConditional = false;
  Value index;
  SmallVector<Value> initial;
  /// Its body, whose arguments are the index and the carried values, and what
  /// that makes.
  Region body;
  Value goesOn;
  SmallVector<Value> next, rows;
};

/// Reads what a Loop starts from.
static bool readLoop(NodeBuilder &b, Loop &loop) {
  if (b.numInputs() < 2) {
    b.fail("expected 2 or more inputs, found " + Twine(b.numInputs()));
    return false;
  }
  loop.count = scalarInput(b, 0, 64, "the trip count");
  loop.condition = scalarInput(b, 1, 1, "the condition");
  for (int i = 2; i < b.numInputs() && !b.failed(); ++i)
    loop.initial.push_back(b.input(i));
  if (b.failed())
    return false;
  loop.knownCount = constantScalar(b, loop.count);
  std::optional<int64_t> begins = constantScalar(b, loop.condition);
  if (begins == 0)
    loop.knownCount = 0;
  if (begins)
    loop.condition = {};
  if (loop.knownCount == std::numeric_limits<int64_t>::max()) { // No limit.
    loop.knownCount = std::nullopt;
    loop.count = {};
  }
  if (loop.knownCount)
    loop.knownCount = std::max<int64_t>(*loop.knownCount, 0);
  return true;
}

/// Inputs of a body that are declared with rank 1 have one element.
Value asDeclared(NodeBuilder &b, Value value,
                 const ::onnx::ValueInfoProto &info) {
  const auto &type = info.type().tensor_type();
  return type.has_shape() && type.shape().dim_size() == 1
             ? b.reshape(value, {1})
             : value;
}

/// The condition that a body makes, as a tensor of rank 0.
static Value scalarOutput(NodeBuilder &b, Value value) {
  if (b.type(value).getNumElements() == 1 && b.element(value).isInteger(1))
    return b.rank(value) == 0 ? value : b.reshape(value, {});
  return b.fail(
      "the condition that its body makes must be one boolean, found " +
      graph::shapeToString(value.getType()));
}

/// Carries how many iterations have run, before all else.
static void countIterations(NodeBuilder &b, Loop &loop) {
  OpBuilder &builder = b.graph.raw();
  OpBuilder::InsertionGuard guard(builder);
  Type i64 = builder.getI64Type();
  loop.initial.insert(loop.initial.begin(), b.scalar(i64, 0));
  builder.setInsertionPointToEnd(&loop.body.front());
  loop.next.insert(loop.next.begin(), b.add(loop.index, b.scalar(i64, 1)));
  loop.body.insertArgument(1u, loop.index.getType(), b.graph.location());
}

/// A scan with an optional trip count and condition.
static Results createScan(NodeBuilder &b, Loop &loop, int64_t length,
                          Value count) {
  GraphBuilder &graph = b.graph;
  Location loc = graph.location();
  Value condition = loop.condition;
  if (loop.isConditional && !condition)
    condition = b.scalar(graph.raw().getI1Type(), 1);
  if (!loop.isConditional)
    condition = {};
  SmallVector<Value> yielded;
  if (condition)
    yielded.push_back(loop.goesOn);
  llvm::append_range(yielded, loop.next);
  llvm::append_range(yielded, loop.rows);
  {
    OpBuilder::InsertionGuard guard(graph.raw());
    graph.raw().setInsertionPointToEnd(&loop.body.front());
    graph::YieldOp::create(graph.raw(), loc, yielded);
  }
  SmallVector<Type> types(ValueRange(loop.initial).getTypes());
  if (!addStacked(b, loop.rows, length, types))
    return {Value()};
  auto scan = graph::ScanOp::create(graph.raw(), loc, types, length, count,
                                    condition, loop.initial, ValueRange());
  scan.getBody().takeBody(loop.body);
  return Results(scan.getOutputs());
}

/// Whether rows of so many iterations, of which few may run, are not beyond
/// what is kept for them; reports if they are.
static bool hasRoom(NodeBuilder &b, const Loop &loop, int64_t length) {
  constexpr double kMostBytes = 1 << 30;
  double bytes = 0;
  for (Value row : loop.rows)
    bytes += static_cast<double>(graph::tensorSize(row.getType()));
  bytes *= static_cast<double>(length);
  if (bytes <= kMostBytes)
    return true;
  b.fail("it stacks rows, and the run decides how many: room for all of " +
         Twine(length) + " iterations would be " +
         llvm::formatv("{0:f0}", bytes).str() +
         " bytes. Give it a smaller trip count, or declare the output's shape "
         "in the model");
  return false;
}

/// A scan whose stacked results have as many rows as iterations have run.
static Results createCountedScan(NodeBuilder &b, Loop &loop, int64_t length) {
  if (!hasRoom(b, loop, length))
    return {Value()};
  countIterations(b, loop);
  Results results = createScan(b, loop, length, loop.count);
  if (b.failed() || llvm::is_contained(results, Value()))
    return {Value()};
  Value count = results.front();
  b.graph.setBound(count, length);
  results.erase(results.begin());
  for (Value &result : llvm::drop_begin(results, loop.initial.size() - 1))
    result = b.setDimensionSize(result, 0, count);
  return results;
}

/// How many iterations there are at most, if that is known.
static std::optional<int64_t> mostIterations(NodeBuilder &b, const Loop &loop) {
  if (loop.knownCount || !loop.count)
    return loop.knownCount;
  auto bound = b.graph.boundOf(loop.count);
  return bound ? std::optional(denseToInts(*bound).front()) : std::nullopt;
}

/// The region that says whether a while goes on.
static void createTest(NodeBuilder &b, Loop &loop, TypeRange types,
                       Region &test) {
  OpBuilder &builder = b.graph.raw();
  OpBuilder::InsertionGuard guard(builder);
  Location loc = b.graph.location();
  Block *block = builder.createBlock(&test, {}, types,
                                     SmallVector<Location>(types.size(), loc));
  Value goesOn = loop.isConditional ? block->getArgument(1) : Value();
  if (loop.count) {
    Value inside =
        b.compare(Predicate::Less, block->getArgument(0), loop.count);
    goesOn = goesOn ? b.create<graph::AndOp>({inside, goesOn}) : inside;
  }
  graph::ConditionOp::create(builder, loc, goesOn);
}

/// A while that carries the number of iterations and, if there is one, the
/// condition.
static Results createWhile(NodeBuilder &b, Loop &loop) {
  OpBuilder &builder = b.graph.raw();
  Location loc = b.graph.location();
  SmallVector<Value> initial = {b.scalar(builder.getI64Type(), 0)};
  if (loop.isConditional)
    initial.push_back(loop.condition ? loop.condition
                                     : b.scalar(builder.getI1Type(), 1));
  size_t hidden = initial.size();
  llvm::append_range(initial, loop.initial);
  SmallVector<Type> types(ValueRange(initial).getTypes());
  Region test;
  createTest(b, loop, types, test);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&loop.body.front());
    Value one = b.scalar(builder.getI64Type(), 1);
    SmallVector<Value> next = {b.add(loop.index, one)};
    if (loop.isConditional) {
      loop.body.insertArgument(1u, types[1], loc);
      next.push_back(loop.goesOn);
    }
    llvm::append_range(next, loop.next);
    graph::YieldOp::create(builder, loc, next);
  }
  auto op = graph::WhileOp::create(builder, loc, types, initial);
  op.getCondition().takeBody(test);
  op.getBody().takeBody(loop.body);
  return Results(op.getOutputs().drop_front(hidden));
}

/// The first dimension with which the model declares a tensor, or what it is
/// converted to.
static std::optional<int64_t> declaredRows(const GraphProto &proto,
                                           StringRef name) {
  for (const auto *infos : {&proto.output(), &proto.value_info()})
    for (const auto &info : *infos) {
      const auto &shape = info.type().tensor_type().shape();
      if (info.name() == name && shape.dim_size() > 0 &&
          shape.dim(0).has_dim_value())
        return shape.dim(0).dim_value();
    }
  for (const auto &node : proto.node())
    if ((node.op_type() == "Cast" || node.op_type() == "Identity") &&
        node.input_size() == 1 && node.output_size() == 1 &&
        node.input(0) == name && node.output(0) != name)
      return declaredRows(proto, node.output(0));
  return std::nullopt;
}

bool GraphImporter::buildBody(NodeBuilder &b, const GraphProto &graph,
                              Loop &loop) {
  OpBuilder &raw = builder.raw();
  OpBuilder::InsertionGuard guard(raw);
  Block *block = raw.createBlock(&loop.body);
  Location loc = builder.location();
  loop.index = block->addArgument(graph::countType(raw.getContext()), loc);
  // An iteration runs only if the condition holds.
  SmallVector<Value> inputs = {
      asDeclared(b, loop.index, graph.input(0)),
      asDeclared(b, b.scalar(raw.getI1Type(), 1), graph.input(1))};
  for (Value initial : loop.initial)
    inputs.push_back(block->addArgument(initial.getType(), loc));
  Results outputs;
  auto build = [&](const GraphProto &inner, ArrayRef<Operand> given,
                   SmallVectorImpl<Operand> &made) {
    return buildSubgraph(b, inner, given, made);
  };
  if (!buildTensors(b, graph, inputs, outputs, build))
    return false;
  loop.goesOn = scalarOutput(b, outputs[0]);
  auto values = ArrayRef<Value>(outputs).drop_front();
  loop.next.assign(values.take_front(loop.initial.size()));
  loop.rows.assign(values.drop_front(loop.initial.size()));
  std::optional<int64_t> goesOn = constantScalar(b, loop.goesOn);
  loop.isConditional = loop.condition || goesOn != 1;
  // Exporters write a large number where the condition alone ends a loop.
  constexpr int64_t kNoLimit = std::numeric_limits<int32_t>::max();
  if (loop.isConditional && loop.knownCount && *loop.knownCount >= kNoLimit) {
    loop.knownCount = std::nullopt;
    loop.count = {};
  }
  return !b.failed() && checkCarried(b, loop.initial, loop.next);
}

Results GraphImporter::buildLoop(NodeBuilder &b) {
  SmallVector<Operand> initial;
  for (int i = 2; i < b.numInputs(); ++i) {
    std::optional<Operand> operand = b.operand(i);
    if (!operand)
      return {Value()};
    initial.push_back(*operand);
  }
  // The widths of strings may change, as may sequences.
  if (llvm::any_of(initial,
                   [](const Operand &x) { return !x.tensor || x.isString; }))
    return unrollLoop(b, initial,
                      [&](const GraphProto &graph, ArrayRef<Operand> inputs,
                          SmallVectorImpl<Operand> &outputs) {
                        return buildIteration(b, graph, inputs, outputs);
                      });
  Loop loop;
  if (!readLoop(b, loop))
    return {Value()};
  int carried = static_cast<int>(loop.initial.size());
  const GraphProto *graph = getSubgraph(b, "body", carried + 2);
  if (!graph)
    return {Value()};
  int rows = graph->output_size() - 1 - carried;
  if (rows < 0 || b.numOutputs() > carried + rows)
    return {b.fail("attribute body: expected a graph of " +
                   Twine(1 + std::max(carried, b.numOutputs())) +
                   " outputs or more, found " + Twine(graph->output_size()))};
  if (!buildBody(b, *graph, loop))
    return {Value()};
  if (loop.knownCount && !(rows && loop.isConditional))
    return createScan(b, loop, *loop.knownCount, {});
  if (rows == 0 && !loop.count && !loop.isConditional)
    return {b.fail("it never ends: it has neither a trip count nor a condition "
                   "that can become false")};
  if (rows == 0)
    return createWhile(b, loop);
  for (int i = carried; i < b.numOutputs(); ++i)
    if (auto length = declaredRows(proto, b.node.proto->output(i))) {
      if (loop.knownCount && *loop.knownCount > *length)
        emitWarning(FileLineColLoc::get(builder.context(), file.path, 0, 0))
            << "node \"" << b.node.name << "\" (Loop) ends after " << *length
            << " iterations, the rows with which its output \""
            << b.node.proto->output(i) << "\" is declared; its trip count is "
            << *loop.knownCount;
      return createScan(b, loop, *length, loop.count);
    }
  if (auto most = mostIterations(b, loop))
    return createCountedScan(b, loop, *most);
  return {b.fail("how many rows its output \"" +
                 b.node.proto->output(std::min(carried, b.numOutputs() - 1)) +
                 "\" has depends on the run; declare the output's shape in the "
                 "model, with "
                 "the largest number, for which rows beyond those that it "
                 "makes are zeros")};
}

} // namespace tinh::onnx
