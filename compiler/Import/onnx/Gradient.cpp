//===- Gradient.cpp - What nodes say the gradients of -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node ai.onnx.preview.training.Gradient names tensors of its graph: y, and
// xs and zs that it is computed from. It has the gradients of Σ y by xs, at the
// node's inputs. The nodes on the way are built once more, on arguments of a
// block in place of xs and zs, since these may be constants, or other tensors
// than the inputs. What is the same twice is merged later.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Gradients.h"
#include "compiler/Import/onnx/InputSizes.h"
#include "compiler/Import/onnx/control_flow/ControlFlow.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// What a node asks for: gradients of `y`, by the first `wanted` of `inputs`.
struct GradientNode {
  std::string y;
  std::vector<std::string> inputs;
  size_t wanted = 0;
};

std::optional<GradientNode> readGradientNode(NodeBuilder &b) {
  GradientNode node;
  auto *y = b.attribute("y", AttributeProto::STRING);
  auto *xs = b.attribute("xs", AttributeProto::STRINGS);
  auto *zs = b.attribute("zs", AttributeProto::STRINGS);
  if (b.failed())
    return std::nullopt;
  if (!y || !xs || xs->strings().empty()) {
    b.fail("expected the attributes y and xs, names of tensors");
    return std::nullopt;
  }
  node.y = y->s();
  node.inputs.assign(xs->strings().begin(), xs->strings().end());
  node.wanted = node.inputs.size();
  if (zs)
    node.inputs.insert(node.inputs.end(), zs->strings().begin(),
                       zs->strings().end());
  llvm::StringSet<> names;
  for (const std::string &name : node.inputs)
    if (!names.insert(name).second) {
      b.fail("xs and zs name \"" + name + "\" twice");
      return std::nullopt;
    }
  if (static_cast<size_t>(b.numInputs()) == node.inputs.size())
    return node;
  b.fail("expected " + Twine(node.inputs.size()) +
         " inputs, one for each of xs and zs, found " + Twine(b.numInputs()));
  return std::nullopt;
}

/// The nodes of a graph that y needs and that depend on the inputs, as a graph
/// of these. False if the graph does not make y.
bool cutOut(const GraphProto &graph, const GradientNode &node,
            GraphProto &part) {
  llvm::StringMap<const NodeProto *> makers;
  for (const NodeProto &made : graph.node())
    for (const std::string &output : made.output())
      makers[output] = &made;
  for (const std::string &name : node.inputs) {
    part.add_input()->set_name(name);
    makers.erase(name);
  }
  part.add_output()->set_name(node.y);
  if (llvm::is_contained(node.inputs, node.y))
    return true;
  if (!makers.contains(node.y))
    return false;
  llvm::DenseSet<const NodeProto *> isNeeded;
  std::vector<std::string> waiting = {node.y};
  while (!waiting.empty()) {
    const NodeProto *made = makers.lookup(waiting.back());
    waiting.pop_back();
    if (made && isNeeded.insert(made).second)
      llvm::append_range(waiting, readNames(*made));
  }
  // Others than those that depend on the inputs have been built.
  llvm::StringMap<SmallVector<const NodeProto *>> readers;
  for (const NodeProto *made : isNeeded)
    for (const std::string &name : readNames(*made))
      readers[name].push_back(made);
  llvm::DenseSet<const NodeProto *> isDependent;
  waiting = node.inputs;
  while (!waiting.empty()) {
    auto reading = readers.lookup(waiting.back());
    waiting.pop_back();
    for (const NodeProto *reader : reading)
      if (isDependent.insert(reader).second)
        waiting.insert(waiting.end(), reader->output().begin(),
                       reader->output().end());
  }
  for (const NodeProto &made : graph.node())
    if (isDependent.contains(&made))
      *part.add_node() = made;
  return true;
}

/// The gradients of Σ y by values of a block; zeros where y does not depend on
/// them.
SmallVector<Value> gradientsOf(NodeBuilder &b, Value y, ValueRange by) {
  if (!gradients::isDifferentiable(y.getType()))
    return b.fail("expected y to be floats, found " +
                  graph::shapeToString(y.getType())),
           SmallVector<Value>();
  for (Value x : by)
    if (!gradients::isDifferentiable(x.getType()))
      return b.fail("expected xs to be floats, found " +
                    graph::shapeToString(x.getType())),
             SmallVector<Value>();
  std::string reason;
  ScopedDiagnosticHandler handler(b.graph.context(), [&](Diagnostic &problem) {
    if (reason.empty())
      reason = problem.str();
    return success();
  });
  Value ones = b.broadcast(b.scalarLike(y, 1), b.shape(y));
  auto found = gradients::buildGradients(b.graph.raw(), y, ones, by);
  if (failed(found))
    return b.fail(reason), SmallVector<Value>();
  for (auto [gradient, x] : llvm::zip_equal(*found, by))
    if (!gradient)
      gradient = b.broadcast(b.scalarLike(x, 0), b.shape(x));
  return *found;
}

} // namespace

Results buildGradient(NodeBuilder &b, const GraphProto &graph,
                      SubgraphBuilder buildCopy) {
  auto node = readGradientNode(b);
  if (!node)
    return {Value()};
  SmallVector<Value> inputs = b.inputs();
  if (b.failed())
    return {Value()};
  if (std::string unknown = findUnknownSize(b); !unknown.empty())
    return {b.fail(unknown)};
  GraphProto part;
  if (!cutOut(graph, *node, part))
    return {b.fail("no node of its graph makes y, \"" + node->y + "\"")};
  OpBuilder &raw = b.graph.raw();
  Region region;
  SmallVector<Value> gradients;
  {
    OpBuilder::InsertionGuard guard(raw);
    Block *block = raw.createBlock(&region);
    SmallVector<Operand> arguments;
    for (Value input : inputs)
      arguments.push_back(
          {block->addArgument(input.getType(), b.graph.location()), {}});
    SmallVector<Operand> made;
    if (!buildCopy(part, arguments, made))
      return {Value()};
    if (!made[0].tensor || made[0].isString)
      return {b.fail("y, \"" + node->y + "\", is " + made[0].describe() +
                     "; a tensor of numbers is needed here")};
    gradients =
        gradientsOf(b, made[0].tensor,
                    ValueRange(block->getArguments()).take_front(node->wanted));
  }
  if (b.failed())
    return {Value()};
  // The block's ops go where the node is, and its inputs into them.
  Block &block = region.front();
  raw.getInsertionBlock()->getOperations().splice(raw.getInsertionPoint(),
                                                  block.getOperations());
  for (auto [argument, input] : llvm::zip_equal(block.getArguments(), inputs)) {
    for (Value &gradient : gradients)
      if (gradient == argument)
        gradient = input;
    argument.replaceAllUsesWith(input);
  }
  return Results(gradients.begin(), gradients.end());
}

} // namespace tinh::onnx
