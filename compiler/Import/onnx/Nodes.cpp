//===- Nodes.cpp - The flat, sorted nodes of an ONNX graph ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/Nodes.h"

#include "compiler/Import/Limits.h"
#include "compiler/Import/SortGraph.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace tinh::onnx {

std::string normaliseDomain(StringRef domain) {
  return domain == "ai.onnx" ? "" : domain.str();
}

std::string Node::domain() const { return normaliseDomain(proto->domain()); }

int64_t Node::opset() const {
  auto it = opsets->find(domain());
  return it == opsets->end() ? 0 : it->second;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::string nodeName(const NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return node.op_type();
}

static std::string functionKey(StringRef domain, StringRef name,
                               StringRef overload) {
  return normaliseDomain(domain) + '\0' + name.str() + '\0' + overload.str();
}

FunctionTable::FunctionTable(const ModelProto &model) {
  for (const FunctionProto &function : model.functions())
    functions[functionKey(function.domain(), function.name(),
                          function.overload())] = &function;
}

const FunctionProto *FunctionTable::find(const NodeProto &node) const {
  if (functions.empty())
    return nullptr;
  return functions.lookup(
      functionKey(node.domain(), node.op_type(), node.overload()));
}

/// What is wrong with a call of a function; empty if nothing is.
static std::string describeCall(const NodeProto &node,
                                const FunctionProto &function) {
  if (node.input_size() <= function.input_size() &&
      node.output_size() <= function.output_size())
    return "";
  return "node \"" + nodeName(node) + "\" (" + node.op_type() +
         "): the function has " + std::to_string(function.input_size()) +
         " inputs and " + std::to_string(function.output_size()) +
         " outputs, the node " + std::to_string(node.input_size()) + " and " +
         std::to_string(node.output_size());
}

namespace {

class Expander {
public:
  Expander(const ModelProto &model, NodeList &list)
      : list(list), functions(model) {}

  void expand(const NodeProto &node, const Opsets *opsets);

private:
  void call(const NodeProto &node, const FunctionProto &function);
  void instantiate(NodeProto &node, const NodeProto &caller,
                   const FunctionProto &function, const std::string &prefix,
                   const StringMap<std::string> &names);
  std::string rename(const std::string &name, const std::string &prefix,
                     const StringMap<std::string> &names);
  void renameGraph(GraphProto &graph, const NodeProto &caller,
                   const FunctionProto &function, const std::string &prefix,
                   const StringMap<std::string> &names);

  NodeList &list;
  FunctionTable functions;
  unsigned calls = 0;
};

void Expander::expand(const NodeProto &node, const Opsets *opsets) {
  const FunctionProto *function = functions.find(node);
  std::string problem = function ? describeCall(node, *function) : "";
  if (function && problem.empty())
    return call(node, *function);
  list.nodes.push_back({&node, opsets, nodeName(node)});
  if (!problem.empty())
    list.nodes.back().problems.push_back(problem);
}

void Expander::call(const NodeProto &node, const FunctionProto &function) {
  std::string name = nodeName(node);
  StringMap<std::string> names;
  for (int i = 0; i < function.input_size(); ++i)
    names[function.input(i)] = i < node.input_size() ? node.input(i) : "";
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      names[function.output(i)] = node.output(i);
  std::string prefix = name + "#" + std::to_string(calls++) + "/";
  list.opsets.push_back(readOpsets(function.opset_import()));
  const Opsets *opsets = &list.opsets.back();
  for (const NodeProto &inner : function.node()) {
    list.owned.push_back(inner);
    NodeProto &copy = list.owned.back();
    instantiate(copy, node, function, prefix, names);
    copy.set_name(name + "/" + nodeName(inner));
    expand(copy, opsets);
  }
  // A function may hand an input on as an output.
  for (int i = 0; i < node.output_size(); ++i) {
    bool isInput = llvm::is_contained(function.input(), function.output(i));
    if (!isInput || node.output(i).empty())
      continue;
    int from =
        static_cast<int>(llvm::find(function.input(), function.output(i)) -
                         function.input().begin());
    list.owned.emplace_back();
    NodeProto &copy = list.owned.back();
    copy.set_op_type("Identity");
    copy.set_name(name);
    copy.add_input(from < node.input_size() ? node.input(from) : "");
    copy.add_output(node.output(i));
    list.nodes.push_back({&copy, opsets, name});
  }
}

std::string Expander::rename(const std::string &name, const std::string &prefix,
                             const StringMap<std::string> &names) {
  if (name.empty())
    return name;
  auto it = names.find(name);
  return it == names.end() ? prefix + name : it->second;
}

/// Makes a function's node one of the caller's graph: its tensors get new
/// names, its references to the call's attributes their values.
void Expander::instantiate(NodeProto &node, const NodeProto &caller,
                           const FunctionProto &function,
                           const std::string &prefix,
                           const StringMap<std::string> &names) {
  for (std::string &input : *node.mutable_input())
    input = rename(input, prefix, names);
  for (std::string &output : *node.mutable_output())
    output = rename(output, prefix, names);
  auto *attributes = node.mutable_attribute();
  for (int i = attributes->size() - 1; i >= 0; --i) {
    AttributeProto &attribute = *attributes->Mutable(i);
    if (attribute.has_g())
      renameGraph(*attribute.mutable_g(), caller, function, prefix, names);
    if (attribute.ref_attr_name().empty())
      continue;
    const AttributeProto *value = nullptr;
    for (const AttributeProto &given : function.attribute_proto())
      if (given.name() == attribute.ref_attr_name())
        value = &given;
    for (const AttributeProto &given : caller.attribute())
      if (given.name() == attribute.ref_attr_name())
        value = &given;
    if (!value) {
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    std::string name = attribute.name();
    attribute = *value;
    attribute.set_name(name);
  }
}

void Expander::renameGraph(GraphProto &graph, const NodeProto &caller,
                           const FunctionProto &function,
                           const std::string &prefix,
                           const StringMap<std::string> &names) {
  for (NodeProto &node : *graph.mutable_node())
    instantiate(node, caller, function, prefix, names);
  for (auto &tensor : *graph.mutable_initializer())
    tensor.set_name(rename(tensor.name(), prefix, names));
  for (auto *infos : {graph.mutable_input(), graph.mutable_output(),
                      graph.mutable_value_info()})
    for (auto &info : *infos)
      info.set_name(rename(info.name(), prefix, names));
}

} // namespace

void expandFunctions(const google::protobuf::RepeatedPtrField<NodeProto> &nodes,
                     const Opsets &opsets, const ModelProto &model,
                     NodeList &list) {
  Expander expander(model, list);
  list.opsets.push_back(opsets);
  const Opsets *kept = &list.opsets.back();
  for (const NodeProto &node : nodes)
    expander.expand(node, kept);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// Adds the names that a subgraph takes from the graphs around it.
void collectCaptures(const GraphProto &graph, std::vector<std::string> &names) {
  StringSet<> defined;
  for (const auto &input : graph.input())
    defined.insert(input.name());
  for (const auto &tensor : graph.initializer())
    defined.insert(tensor.name());
  for (const NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      defined.insert(output);
  std::vector<std::string> used;
  for (const NodeProto &node : graph.node()) {
    used.insert(used.end(), node.input().begin(), node.input().end());
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        collectCaptures(attribute.g(), used);
  }
  for (const auto &output : graph.output())
    used.push_back(output.name());
  for (std::string &name : used)
    if (!defined.contains(name))
      names.push_back(std::move(name));
}

} // namespace

std::vector<std::string> readNames(const NodeProto &node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  bool isGradient = node.op_type() == "Gradient" &&
                    node.domain() == "ai.onnx.preview.training";
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      collectCaptures(attribute.g(), names);
    if (isGradient && attribute.name() == "y")
      names.push_back(attribute.s());
  }
  llvm::erase(names, "");
  return names;
}

void sortNodes(NodeList &list, function_ref<bool(StringRef)> available) {
  std::vector<SortNode> nodes;
  for (Node &node : list.nodes) {
    node.position = static_cast<unsigned>(nodes.size());
    nodes.push_back(
        {"node \"" + node.name + "\" (" + node.proto->op_type() + ")",
         readNames(*node.proto),
         {node.proto->output().begin(), node.proto->output().end()}});
  }
  std::vector<unsigned> order;
  for (const SortProblem &problem : sortGraph(nodes, available, order)) {
    list.nodes[problem.node].problems.push_back(problem.message);
    if (!problem.missing.empty())
      list.unknown.insert(problem.missing);
  }
  std::vector<Node> sorted;
  std::vector<bool> isSorted(nodes.size());
  for (unsigned i : order) {
    sorted.push_back(list.nodes[i]);
    isSorted[i] = true;
  }
  for (const Node &node : list.nodes)
    if (!isSorted[node.position]) {
      list.unknown.insert_range(node.proto->output());
      sorted.push_back(node);
    }
  list.nodes = std::move(sorted);
}

} // namespace tinh::onnx
