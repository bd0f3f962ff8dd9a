//===- Nodes.cpp - The nodes of a JSON graph --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Nodes.h"

#include "compiler/Import/NodesByOp.h"
#include "compiler/Import/SortGraph.h"
#include "compiler/Import/json/Attributes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tinh::json {

ArrayRef<StringLiteral> graphKeys(StringRef op) {
  static constexpr StringLiteral kIf[] = {"then", "else"};
  static constexpr StringLiteral kWhile[] = {"condition", "body"};
  static constexpr StringLiteral kScan[] = {"body"};
  return llvm::StringSwitch<ArrayRef<StringLiteral>>(op)
      .Case("if", kIf)
      .Case("while", kWhile)
      .Case("scan", kScan)
      .Default({});
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool readNames(const Json &json, StringRef key, std::vector<std::string> &names,
               std::string &error) {
  const Json *list = find(json, key);
  if (!list || !list->is_array()) {
    error = ("\"" + key + "\" is missing or is not a list of names").str();
    return false;
  }
  for (const Json &entry : *list) {
    if (!entry.is_string() || entry.get_ref<const std::string &>().empty()) {
      error = ("\"" + key + "\" is not a list of names").str();
      return false;
    }
    names.push_back(entry.get<std::string>());
  }
  return true;
}

/// The graph of a branch or a body.
static bool readRegion(const Json &json, const Node &node, StringRef key,
                       Graph &graph, std::string &error) {
  const Json *region = find(json, key);
  if (!region || !region->is_object()) {
    error = ("\"" + key + "\" is missing or is not a graph").str();
    return false;
  }
  SmallVector<StringRef> known = {"nodes", "outputs", "comment"};
  bool hasInputs = node.op != "if";
  if (hasInputs)
    known.push_back("inputs");
  std::string unknown = unknownKey(*region, known);
  if (!unknown.empty())
    error = "unknown key \"" + unknown + "\"";
  else if ((!hasInputs || readNames(*region, "inputs", graph.inputs, error)) &&
           readGraph(*region, graph, error))
    return true;
  error = ("\"" + key + "\": " + error).str();
  return false;
}

static bool readNode(const Json &json, Node &node, std::string &error) {
  auto fail = [&](const Twine &what) {
    error = what.str();
    return false;
  };
  if (!json.is_object() || !getString(json, "op", node.op))
    return fail("\"op\" is missing");
  if (!readNames(json, "inputs", node.inputs, error) ||
      !readNames(json, "outputs", node.outputs, error))
    return false;
  ArrayRef<StringLiteral> graphs = graphKeys(node.op);
  if (graphs.empty() && node.outputs.size() != 1)
    return fail("expected one output, found " + Twine(node.outputs.size()));
  node.name = node.outputs.empty() ? node.op : node.outputs.front();
  getString(json, "name", node.name);
  node.attributes = find(json, "attributes");
  if (node.attributes && !node.attributes->is_object())
    return fail("\"attributes\" is not an object");
  SmallVector<StringRef> known = {"op",      "name",       "inputs",
                                  "outputs", "attributes", "comment"};
  llvm::append_range(known, graphs);
  if (node.op == "scan")
    known.append({"trip_count", "while"});
  std::string unknown = unknownKey(json, known);
  if (!unknown.empty())
    return fail("unknown key \"" + unknown + "\"");
  for (StringRef key : graphs)
    if (!readRegion(json, node, key, node.graphs.emplace_back(), error))
      return false;
  for (auto [key, tensor] :
       {std::pair(StringRef("trip_count"), &node.tripCount),
        std::pair(StringRef("while"), &node.condition)})
    if (find(json, key) && !llvm::is_contained(graphs, key) &&
        (!getString(json, key, *tensor) || tensor->empty()))
      return fail("\"" + key + "\" is not the name of a tensor");
  return true;
}

bool readGraph(const Json &json, Graph &graph, std::string &error) {
  const Json *list = find(json, "nodes");
  if (!list || !list->is_array()) {
    error = "\"nodes\" is missing or is not a list";
    return false;
  }
  for (const auto &[i, entry] : llvm::enumerate(*list)) {
    Node &node = graph.nodes.emplace_back();
    if (readNode(entry, node, error))
      continue;
    error = "node " + std::to_string(i) +
            (node.op.empty() ? "" : " (" + node.op + ")") + ": " + error;
    return false;
  }
  return readNames(json, "outputs", graph.outputs, error);
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

static void collectUnknownOps(const Graph &graph, MLIRContext &context,
                              NodesByOp &unknown) {
  for (const Node &node : graph.nodes) {
    if (!isGraphOp(node.op, context))
      unknown[node.op].push_back(node.name);
    for (const Graph &inner : node.graphs)
      collectUnknownOps(inner, context, unknown);
  }
}

std::string describeUnknownOps(const Graph &graph, MLIRContext &context) {
  NodesByOp unknown;
  collectUnknownOps(graph, context, unknown);
  return unknown.empty() ? ""
                         : "the model has unknown ops:" + listNodes(unknown);
}

/// Adds what `node` reads, also in its graphs, whose own tensors are left out.
static void collectReads(const Node &node, std::vector<std::string> &reads) {
  llvm::append_range(reads, node.inputs);
  for (const std::string *limit : {&node.tripCount, &node.condition})
    if (!limit->empty())
      reads.push_back(*limit);
  for (const Graph &graph : node.graphs) {
    std::vector<std::string> inner = graph.outputs;
    llvm::StringSet<> defined;
    defined.insert_range(graph.inputs);
    for (const Node &member : graph.nodes) {
      defined.insert_range(member.outputs);
      collectReads(member, inner);
    }
    llvm::copy_if(
        inner, std::back_inserter(reads),
        [&](const std::string &name) { return !defined.contains(name); });
  }
}

bool sortNodes(Graph &graph, const llvm::StringSet<> &known,
               std::string &error) {
  std::vector<SortNode> sortNodes;
  for (const Node &node : graph.nodes) {
    std::vector<std::string> reads;
    collectReads(node, reads);
    sortNodes.push_back({node.describe(), std::move(reads), node.outputs});
  }
  auto available = [&](StringRef name) { return known.contains(name); };
  std::vector<unsigned> order;
  if (!sortGraph(sortNodes, available, order, error))
    return false;
  std::vector<Node> sorted;
  for (unsigned i : order)
    sorted.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(sorted);

  llvm::StringSet<> visible = known;
  for (const Node &node : graph.nodes)
    visible.insert_range(node.outputs);
  for (Node &node : graph.nodes)
    for (Graph &inner : node.graphs) {
      llvm::StringSet<> inside = visible;
      for (const std::string &input : inner.inputs)
        if (!inside.insert(input).second) {
          error = node.describe() + ": another tensor is called \"" + input +
                  "\", too";
          return false;
        }
      if (!json::sortNodes(inner, inside, error))
        return false;
    }
  return true;
}

} // namespace tinh::json
