//===- ControlFlow.cpp - Nodes with subgraphs, and If -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Subgraphs become regions, which read the tensors of the graphs around them. A
// branch that is known takes the If's place.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/control_flow/ControlFlow.h"

#include "compiler/Import/Limits.h"

using namespace mlir;

namespace tinh::onnx {

const GraphProto *getSubgraph(NodeBuilder &b, StringRef name, int inputs) {
  const AttributeProto *attribute = b.attribute(name, AttributeProto::GRAPH);
  if (!attribute || !attribute->has_g()) {
    b.fail("attribute " + name + " is missing");
    return nullptr;
  }
  const GraphProto &graph = attribute->g();
  if (graph.input_size() == inputs)
    return &graph;
  b.fail("attribute " + name + ": expected a graph of " + Twine(inputs) +
         " inputs, found " + Twine(graph.input_size()));
  return nullptr;
}

bool GraphImporter::buildSubgraph(NodeBuilder &b, const GraphProto &graph,
                                  ArrayRef<Operand> inputs,
                                  SmallVectorImpl<Operand> &outputs,
                                  bool isCopy) {
  GraphImporter inner(model, graph, *b.node.opsets, file, builder, this);
  inner.isCopy = isCopy;
  for (auto [info, value] : llvm::zip_equal(graph.input(), inputs))
    inner.define(info.name(), value);
  bool built = inner.build();
  problems.append(std::move(inner.problems));
  for (const auto &output : graph.output()) {
    bool isUnknown = inner.isUnknown(output.name());
    std::optional<Operand> made =
        isUnknown ? std::nullopt : inner.find(output.name());
    if (!made && !isUnknown)
      fail(b.node, inner.error);
    built &= made.has_value();
    outputs.push_back(made.value_or(Operand()));
  }
  builder.setLocation(
      NameLoc::get(StringAttr::get(builder.context(), b.node.name)));
  failedInside |= !built;
  return built;
}

bool buildTensors(NodeBuilder &b, const GraphProto &graph, ValueRange inputs,
                  Results &outputs, SubgraphBuilder buildSubgraph) {
  SmallVector<Operand> given, made;
  for (Value input : inputs)
    given.push_back({input, {}});
  if (!buildSubgraph(graph, given, made))
    return false;
  for (auto [info, operand] : llvm::zip_equal(graph.output(), made)) {
    if (!operand.tensor || operand.isString) {
      b.fail("\"" + info.name() + "\" is " + operand.describe() +
             "; a tensor of numbers is needed here");
      return false;
    }
    outputs.push_back(operand.tensor);
  }
  return true;
}

/// Counts the nodes of a graph that is built once more. False, with an error
/// that begins with `what`, if `all` of these are too many.
static bool countExpanded(NodeBuilder &b, const GraphProto &graph,
                          StringRef what, uint64_t &all) {
  all += 1 + graph.node_size();
  if (all <= kMaxExpandedNodes)
    return true;
  b.fail(what + ", and these would be more than " + Twine(kMaxExpandedNodes) +
         " nodes");
  return false;
}

bool GraphImporter::buildIteration(NodeBuilder &b, const GraphProto &graph,
                                   ArrayRef<Operand> inputs,
                                   SmallVectorImpl<Operand> &outputs) {
  return countExpanded(b, graph, "loops over sequences become their iterations",
                       expandedNodes) &&
         buildSubgraph(b, graph, inputs, outputs);
}

bool GraphImporter::buildCopy(NodeBuilder &b, const GraphProto &graph,
                              ArrayRef<Operand> inputs,
                              SmallVectorImpl<Operand> &outputs) {
  return countExpanded(b, graph, "nodes on the way to y are built once more",
                       expandedNodes) &&
         buildSubgraph(b, graph, inputs, outputs, /*isCopy=*/true);
}

Value scalarInput(NodeBuilder &b, int i, unsigned width, StringRef what) {
  if (!b.has(i))
    return {};
  Value value = b.input(i);
  if (!value)
    return {};
  if (b.type(value).getNumElements() == 1 &&
      b.element(value).isSignlessInteger(width))
    return b.rank(value) == 0 ? value : b.reshape(value, {});
  return b.fail(what + " (input \"" + b.node.proto->input(i) +
                "\") must be one element of type i" + Twine(width) +
                ", found " + graph::shapeToString(value.getType()));
}

std::optional<int64_t> constantScalar(NodeBuilder &b, Value value) {
  auto constant = value ? b.graph.constantOf(value) : std::nullopt;
  if (!constant)
    return std::nullopt;
  return denseToInts(*constant)[0];
}

bool checkCarried(NodeBuilder &b, ValueRange initial, ValueRange next) {
  for (auto [i, from, to] : llvm::enumerate(initial, next))
    if (from.getType() != to.getType()) {
      b.fail("carried value " + Twine(i) + " is " +
             graph::shapeToString(from.getType()) + " at first and " +
             graph::shapeToString(to.getType()) +
             " after an iteration; shapes are fixed when the model is "
             "compiled");
      return false;
    }
  return true;
}

bool addStacked(NodeBuilder &b, ValueRange rows, int64_t length,
                SmallVectorImpl<Type> &types) {
  for (Value row : rows) {
    RankedTensorType type = graph::stackedType(row.getType(), length);
    if (!countElements(type.getShape())) {
      b.fail("rows of the shape " + formatShape(type.getShape()) +
             " are beyond any memory");
      return false;
    }
    types.push_back(type);
  }
  return true;
}

Results GraphImporter::buildControlFlow(NodeBuilder &b) {
  if (b.op() == "If")
    return buildIf(b);
  if (b.op() == "Loop")
    return buildLoop(b);
  auto build = [&](const GraphProto &graph, ArrayRef<Operand> inputs,
                   SmallVectorImpl<Operand> &outputs) {
    if (b.op() == "Gradient")
      return buildCopy(b, graph, inputs, outputs);
    return b.op() == "SequenceMap" ? buildIteration(b, graph, inputs, outputs)
                                   : buildSubgraph(b, graph, inputs, outputs);
  };
  if (b.op() == "Gradient")
    return buildGradient(b, proto, build);
  if (b.op() == "SequenceMap")
    return buildSequenceMap(b, build);
  return b.op() == "Scan" ? buildScan(b, build) : buildFlexAttention(b, build);
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

static bool checkOutputs(NodeBuilder &b, StringRef name, int outputs) {
  if (outputs == b.numOutputs())
    return true;
  b.fail("attribute " + name + ": expected a graph of " +
         Twine(b.numOutputs()) + " outputs, found " + Twine(outputs));
  return false;
}

Results GraphImporter::buildIf(NodeBuilder &b) {
  if (b.numInputs() != 1)
    return {b.fail("expected 1 input, found " + Twine(b.numInputs()))};
  Value condition = scalarInput(b, 0, 1, "the condition");
  if (!condition)
    return {Value()};
  std::optional<int64_t> known = constantScalar(b, condition);
  if (!known)
    return buildBranches(b, condition);
  StringRef name = *known ? "then_branch" : "else_branch";
  const GraphProto *branch = getSubgraph(b, name, 0);
  SmallVector<Operand> results;
  if (!branch || !checkOutputs(b, name, branch->output_size()) ||
      !buildSubgraph(b, *branch, {}, results))
    return {Value()};
  b.operandResults.emplace(results);
  return {};
}

/// All tensors of operands, one after the other.
static SmallVector<Value> tensorsOf(ArrayRef<Operand> operands) {
  SmallVector<Value> tensors;
  for (const Operand &operand : operands)
    if (operand.sequence)
      llvm::append_range(tensors, *operand.sequence);
    else if (operand.tensor)
      tensors.push_back(operand.tensor);
  return tensors;
}

/// Operands like others, with tensors in place of those.
static SmallVector<Operand, 1> withTensors(ArrayRef<Operand> like,
                                           ValueRange tensors) {
  SmallVector<Operand, 1> operands(like);
  for (Operand &operand : operands) {
    size_t count = operand.sequence ? operand.sequence->size()
                                    : static_cast<size_t>(!!operand.tensor);
    auto own = tensors.take_front(count);
    if (operand.sequence)
      operand.sequence->assign(own.begin(), own.end());
    else if (operand.tensor)
      operand.tensor = own.front();
    tensors = tensors.drop_front(count);
  }
  return operands;
}

/// Whether both branches make the same number of tensors of the same types.
static bool haveSameTypes(const Operand &a, const Operand &b) {
  return a.sequence.has_value() == b.sequence.has_value() &&
         a.isString == b.isString &&
         llvm::equal(ValueRange(tensorsOf(a)).getTypes(),
                     ValueRange(tensorsOf(b)).getTypes());
}

/// Whether the branches make the same; reports what they do not.
static bool checkBranches(NodeBuilder &b, ArrayRef<Operand> then,
                          ArrayRef<Operand> otherwise) {
  for (auto [i, x, y] : llvm::enumerate(then, otherwise)) {
    if (haveSameTypes(x, y))
      continue;
    std::string fixed =
        "ranks and element types are fixed when the model is compiled";
    if (!x.tensor || !y.tensor)
      fixed = "the condition (input \"" + b.node.proto->input(0) +
              "\") must be a constant: shapes are fixed when the model is "
              "compiled";
    b.fail("output " + Twine(i) + " (\"" +
           b.node.proto->output(static_cast<int>(i)) + "\") is " +
           x.describe() + " in one branch and " + y.describe() +
           " in the other; " + fixed);
    return false;
  }
  return true;
}

/// `x` with zeros behind it up to the extents of `to`, of which its own are
/// used; bytes behind strings are no part of them anyway.
static Value padTo(NodeBuilder &b, Value x, ArrayRef<int64_t> to,
                   bool isString) {
  Ints low(b.rank(x), 0), high(low);
  SmallVector<std::pair<int64_t, Value>> sizes;
  for (auto [d, extent] : llvm::enumerate(to)) {
    high[d] = extent - b.shape(x)[d];
    bool isWidth = isString && d + 1 == to.size();
    if (high[d] != 0 && !isWidth)
      sizes.push_back({d, b.dimensionSize(x, d)});
  }
  if (llvm::all_of(high, [](int64_t count) { return count == 0; }))
    return x;
  x = b.pad(x, b.scalarLike(x, 0), low, high);
  for (auto [d, size] : sizes)
    x = b.setDimensionSize(x, d, size);
  return x;
}

/// Where branches make tensors of different shapes, the run decides the shape,
/// up to the larger extents.
static void makeAlike(NodeBuilder &b, MutableArrayRef<Region> regions,
                      MutableArrayRef<Operand> then,
                      MutableArrayRef<Operand> otherwise) {
  OpBuilder &builder = b.graph.raw();
  OpBuilder::InsertionGuard guard(builder);
  for (auto [first, second] : llvm::zip_equal(then, otherwise)) {
    Value &x = first.tensor, &y = second.tensor;
    if (!x || !y || first.isString != second.isString ||
        b.element(x) != b.element(y) || b.rank(x) != b.rank(y))
      continue;
    Ints to(b.shape(x));
    for (auto [extent, other] : llvm::zip_equal(to, b.shape(y)))
      extent = std::max(extent, other);
    builder.setInsertionPointToEnd(&regions[0].front());
    x = padTo(b, x, to, first.isString);
    builder.setInsertionPointToEnd(&regions[1].front());
    y = padTo(b, y, to, first.isString);
    if (b.failed())
      return;
  }
}

Results GraphImporter::buildBranches(NodeBuilder &b, Value condition) {
  constexpr StringLiteral kNames[] = {"then_branch", "else_branch"};
  Region regions[2];
  SmallVector<Operand> results[2];
  bool built = true;
  for (int i : {0, 1}) {
    const GraphProto *branch = getSubgraph(b, kNames[i], 0);
    if (!branch || !checkOutputs(b, kNames[i], branch->output_size()))
      return {Value()};
    OpBuilder::InsertionGuard guard(builder.raw());
    builder.raw().createBlock(&regions[i]);
    built &= buildSubgraph(b, *branch, {}, results[i]);
  }
  if (!built)
    return {Value()};
  makeAlike(b, regions, results[0], results[1]);
  if (b.failed() || !checkBranches(b, results[0], results[1]))
    return {Value()};
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(builder.raw());
    builder.raw().setInsertionPointToEnd(&regions[i].front());
    graph::YieldOp::create(builder.raw(), builder.location(),
                           tensorsOf(results[i]));
  }
  auto op = graph::IfOp::create(builder.raw(), builder.location(),
                                ValueRange(tensorsOf(results[0])).getTypes(),
                                condition);
  op.getThenBranch().takeBody(regions[0]);
  op.getElseBranch().takeBody(regions[1]);
  for (auto [output, x, y] : llvm::zip_equal(
           op.getOutputs(), tensorsOf(results[0]), tensorsOf(results[1]))) {
    auto bounded = builder.boundedDimensions(x);
    builder.markBounded(output, bounded |= builder.boundedDimensions(y));
  }
  b.operandResults = withTensors(results[0], op.getOutputs());
  return {};
}

} // namespace tinh::onnx
