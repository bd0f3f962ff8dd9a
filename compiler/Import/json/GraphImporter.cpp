//===- GraphImporter.cpp - The nodes of a JSON graph as ops -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/GraphImporter.h"

#include "compiler/Import/json/Attributes.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace tinh::json {

bool GraphImporter::fail(const Node &node, const Twine &what) {
  return scopeOf(node).fail(*node.json, what);
}

Value GraphImporter::lookup(StringRef name) {
  if (auto it = values.find(name); it != values.end())
    return it->second;
  if (parent)
    return parent->lookup(name);
  auto weight = weights.find(name);
  if (weight == weights.end() || !weight->second)
    return {};
  // Not in the branch or body that asks for it: others will, too.
  OpBuilder::InsertionGuard guard(builder.raw());
  builder.raw().setInsertionPointToEnd(block);
  Location before = builder.location();
  builder.setLocation(NameLoc::get(StringAttr::get(builder.context(), name)));
  Value value = builder.constant(weight->second);
  builder.setLocation(before);
  return values[name] = value;
}

bool GraphImporter::build(const Graph &graph, SmallVectorImpl<Value> &outputs) {
  bool right = true;
  for (const Node &node : graph.nodes) {
    Interruption::Work at(builder.interruption(), "node '" + node.name + "'");
    if (isRequested(builder.interruption()))
      return false;
    right &= buildNode(node);
  }
  for (const std::string &output : graph.outputs)
    outputs.push_back(lookup(output));
  return right && !llvm::is_contained(outputs, Value());
}

bool GraphImporter::buildNode(const Node &node) {
  if (!isGraphOp(node.op, *builder.context()))
    return false; // As was noted, with the other nodes of the op.
  builder.setLocation(
      NameLoc::get(StringAttr::get(builder.context(), node.name)));
  SmallVector<Value> operands;
  for (const std::string &input : node.inputs)
    operands.push_back(lookup(input));
  bool known = !llvm::is_contained(operands, Value());
  for (const std::string *limit : {&node.tripCount, &node.condition})
    known &= limit->empty() || lookup(*limit);
  if (!node.graphs.empty())
    return known && buildControlFlow(node, operands);
  OpAttributes attributes;
  Scope scope = scopeOf(node);
  if (!readAttributes(node, *builder.context(), attributes, scope) || !known ||
      !completeAttributes(node, operands, *builder.context(), attributes,
                          scope))
    return false;
  Value result = builder.create("graph." + node.op, operands, attributes.list,
                                attributes.result);
  if (!result)
    return fail(node, builder.takeError());
  values[node.outputs.front()] = result;
  return true;
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

/// A graph of `node` as a region, without the terminator.
bool GraphImporter::buildRegion(const Node &node, unsigned index,
                                TypeRange inputs, Region &region,
                                Values &outputs) {
  const Graph &graph = node.graphs[index];
  std::string key = graphKeys(node.op)[index].str();
  if (graph.inputs.size() != inputs.size())
    return fail(node, "\"" + key + "\": expected " + Twine(inputs.size()) +
                          " inputs, found " + Twine(graph.inputs.size()));
  Location loc = builder.location();
  Block *body = builder.raw().createBlock(
      &region, {}, inputs, SmallVector<Location>(inputs.size(), loc));
  GraphImporter inner(builder, weights, scope, this);
  for (auto [name, argument] :
       llvm::zip_equal(graph.inputs, body->getArguments()))
    inner.define(name, argument);
  bool built = inner.build(graph, outputs);
  builder.setLocation(loc);
  return built;
}

/// The operands and attributes of a scan, and the types of its body's inputs.
bool GraphImporter::readScan(const Node &node, ArrayRef<Value> inputs,
                             OperationState &state,
                             SmallVectorImpl<Type> &bodyTypes) {
  static const Json none = Json::object();
  const Json &attributes = node.attributes ? *node.attributes : none;
  if (!scopeOf(node)
           .within("attributes")
           .checkKeys(attributes, {"length", "carry"}))
    return false;
  int64_t carried = -1, length = -1;
  for (auto [key, value] : {std::pair(StringRef("carry"), &carried),
                            std::pair(StringRef("length"), &length)}) {
    const Json *given = find(attributes, key);
    if (!given || !toInt(*given, *value) || *value < 0)
      return scopeOf(node).fail(given ? *given : *node.json,
                                "attribute " + key +
                                    " is missing or is no count");
  }
  if (carried > static_cast<int64_t>(inputs.size()))
    return fail(node, "attribute carry: there are only " +
                          Twine(inputs.size()) + " inputs");
  SmallVector<int32_t> segments;
  for (const std::string *limit : {&node.tripCount, &node.condition}) {
    segments.push_back(limit->empty() ? 0 : 1);
    if (!limit->empty())
      state.addOperands(lookup(*limit));
  }
  segments.push_back(static_cast<int32_t>(carried));
  segments.push_back(static_cast<int32_t>(inputs.size() - carried));
  state.addOperands(inputs);
  OpBuilder &b = builder.raw();
  state.addAttribute("length", b.getI64IntegerAttr(length));
  state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr(segments));
  bodyTypes.push_back(graph::countType(builder.context()));
  for (auto [i, input] : llvm::enumerate(inputs)) {
    bool isCarried = static_cast<int64_t>(i) < carried;
    bodyTypes.push_back(isCarried ? input.getType()
                                  : graph::rowType(input.getType()));
    if (!bodyTypes.back())
      return fail(node, "input \"" + node.inputs[i] +
                            "\" has no dimension to take rows along");
  }
  return true;
}

/// Adds the types of the results, which follow from what the regions make:
/// `outputs` of the first, or the one, of them.
bool GraphImporter::addResults(const Node &node, ArrayRef<Value> inputs,
                               ArrayRef<Value> outputs, OperationState &state) {
  if (node.op == "if")
    state.addTypes(ValueRange(outputs).getTypes());
  if (node.op == "while")
    state.addTypes(ValueRange(inputs).getTypes());
  if (node.op == "scan") {
    auto segments =
        cast<DenseI32ArrayAttr>(state.attributes.get("operandSegmentSizes"));
    auto length = cast<IntegerAttr>(state.attributes.get("length"));
    size_t carried = segments[2], before = segments[1] + carried;
    if (outputs.size() < before)
      return fail(node, "\"body\": expected " + Twine(before) +
                            " outputs or more, found " + Twine(outputs.size()));
    state.addTypes(ValueRange(inputs).take_front(carried).getTypes());
    for (Value row : outputs.drop_front(before))
      state.addTypes(graph::stackedType(row.getType(), length.getInt()));
  }
  if (state.types.size() == node.outputs.size())
    return true;
  return fail(node, "it has " + Twine(state.types.size()) + " outputs, found " +
                        Twine(node.outputs.size()) + " names");
}

bool GraphImporter::buildControlFlow(const Node &node, ArrayRef<Value> inputs) {
  OperationState state(builder.location(), "graph." + node.op);
  SmallVector<Type> inner;
  if (node.op == "scan") {
    if (!readScan(node, inputs, state, inner))
      return false;
  } else {
    if (node.attributes && !node.attributes->empty())
      return fail(node, "it has no attributes");
    state.addOperands(inputs);
    if (node.op == "while")
      llvm::append_range(inner, ValueRange(inputs).getTypes());
  }
  Values first;
  bool right = true;
  for (unsigned i = 0; i < node.graphs.size(); ++i) {
    OpBuilder::InsertionGuard guard(builder.raw());
    Values outputs;
    if (!buildRegion(node, i, inner, *state.addRegion(), outputs)) {
      right = false;
      continue;
    }
    bool isTest = node.op == "while" && i == 0;
    OperationState end(builder.location(),
                       isTest ? "graph.condition" : "graph.yield");
    end.addOperands(outputs);
    builder.raw().create(end);
    if (i == 0)
      first = outputs;
  }
  if (!right || !addResults(node, inputs, first, state))
    return false;
  Operation *op = builder.create(state);
  if (!op)
    return fail(node, builder.takeError());
  for (auto [name, result] : llvm::zip_equal(node.outputs, op->getResults()))
    values[name] = result;
  return true;
}

} // namespace tinh::json
