//===- Nodes.cpp - The nodes of a JSON graph --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Nodes.h"

#include "compiler/Import/SortGraph.h"
#include "compiler/Import/json/Attributes.h"

#include "llvm/ADT/MapVector.h"
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

/// The list of names under `key`; false if that is not all of them.
static bool readNames(const Json &json, StringRef key,
                      std::vector<std::string> &names, const Scope &scope) {
  const Json *list = find(json, key);
  if (!list || !list->is_array())
    return scope.fail(list ? *list : json,
                      "\"" + key + "\" is missing or is not a list of names");
  bool all = true;
  for (const Json &entry : *list) {
    if (entry.is_string() && !entry.get_ref<const std::string &>().empty())
      names.push_back(entry.get<std::string>());
    else
      all = scope.fail(entry, "\"" + key + "\" is not a list of names: found " +
                                  quote(entry));
  }
  return all;
}

/// The graph of a branch or a body.
static bool readRegion(const Node &node, StringRef key, Graph &graph,
                       const Scope &scope) {
  const Json *region = find(*node.json, key);
  if (!region || !region->is_object())
    return scope.fail(region ? *region : *node.json,
                      "\"" + key + "\" is missing or is not a graph");
  SmallVector<StringRef> known = {"nodes", "outputs", "comment"};
  bool hasInputs = node.op != "if";
  if (hasInputs)
    known.push_back("inputs");
  Scope inner = scope.within("\"" + key + "\"");
  bool right = inner.checkKeys(*region, known);
  if (hasInputs)
    right &= readNames(*region, "inputs", graph.inputs, inner);
  return readGraph(*region, graph, inner) && right;
}

/// What a node has beyond inputs and outputs: attributes, and what branches and
/// loops have.
static bool readDetails(Node &node, const Scope &scope) {
  const Json &json = *node.json;
  ArrayRef<StringLiteral> graphs = graphKeys(node.op);
  SmallVector<StringRef> known = {"op",      "name",       "inputs",
                                  "outputs", "attributes", "comment"};
  llvm::append_range(known, graphs);
  if (node.op == "scan")
    known.append({"trip_count", "while"});
  bool right = scope.checkKeys(json, known);
  node.attributes = find(json, "attributes");
  if (node.attributes && !node.attributes->is_object())
    right = scope.fail(*node.attributes, "\"attributes\" is not an object");
  for (StringRef key : graphs)
    right &= readRegion(node, key, node.graphs.emplace_back(), scope);
  if (node.op != "scan")
    return right;
  for (auto [key, tensor] :
       {std::pair(StringRef("trip_count"), &node.tripCount),
        std::pair(StringRef("while"), &node.condition)}) {
    const Json *given = find(json, key);
    if (given && (!getString(json, key, *tensor) || tensor->empty()))
      right = scope.fail(*given, "\"" + key + "\" is not the name of a tensor");
  }
  return right;
}

/// Node `index` of a graph.
static bool readNode(const Json &json, size_t index, Node &node,
                     const Scope &graph) {
  node.json = &json;
  std::string number = "node " + std::to_string(index);
  if (!json.is_object() || !getString(json, "op", node.op) || node.op.empty())
    return graph.within(number).fail(json, "\"op\" is missing");
  bool isNamed = getString(json, "name", node.name) && !node.name.empty();
  Scope scope = graph.within(number + " (" + node.op + ")");
  bool right = readNames(json, "inputs", node.inputs, scope);
  right &= readNames(json, "outputs", node.outputs, scope);
  if (right && graphKeys(node.op).empty() && node.outputs.size() != 1)
    right = scope.fail(json, "expected one output, found " +
                                 Twine(node.outputs.size()));
  if (!isNamed)
    node.name = node.outputs.empty() ? node.op : node.outputs.front();
  return readDetails(node, scope) && right;
}

bool readGraph(const Json &json, Graph &graph, const Scope &scope) {
  const Json *list = find(json, "nodes");
  bool right = list && list->is_array();
  if (!right)
    scope.fail(list ? *list : json, "\"nodes\" is missing or is not a list");
  else
    for (const auto &[i, entry] : llvm::enumerate(*list))
      right &= readNode(entry, i, graph.nodes.emplace_back(), scope);
  return readNames(json, "outputs", graph.outputs, scope) && right;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

namespace {

/// The nodes of ops that the format does not know, by op.
using NodesByOp = llvm::MapVector<StringRef, SmallVector<const Node *>>;

} // namespace

static void collectUnknownOps(const Graph &graph, MLIRContext &context,
                              NodesByOp &unknown) {
  for (const Node &node : graph.nodes) {
    if (!node.op.empty() && !isGraphOp(node.op, context))
      unknown[node.op].push_back(&node);
    for (const Graph &inner : node.graphs)
      collectUnknownOps(inner, context, unknown);
  }
}

void checkOps(const Graph &graph, MLIRContext &context, const Scope &scope) {
  constexpr size_t kShown = 10;
  NodesByOp unknown;
  collectUnknownOps(graph, context, unknown);
  if (unknown.empty())
    return;
  SmallVector<StringRef> ops = graphOps(context);
  for (const auto &[op, nodes] : unknown) {
    std::string names;
    for (const Node *node : ArrayRef(nodes).take_front(kShown))
      names += (names.empty() ? "\"" : ", \"") + node->name + "\"";
    if (nodes.size() > kShown)
      names += " and " + std::to_string(nodes.size() - kShown) + " more";
    std::string hint = scope.isFull() ? "" : suggest(op, ops);
    scope.fail(
        (*nodes.front()->json)["op"],
        "unknown op \"" + op + "\" of " +
            (nodes.size() == 1 ? "node " : "nodes ") + names +
            (hint.empty() ? "; docs/ops.md lists those that there are" : hint));
  }
}

namespace {

/// The tensors that a graph sees: its own and those around it.
struct Names {
  bool contains(StringRef name) const {
    return own.contains(name) || (around && around->contains(name));
  }
  void collect(SmallVectorImpl<StringRef> &all) const {
    llvm::append_range(all, own.keys());
    if (around)
      around->collect(all);
  }

  const Names *around = nullptr;
  llvm::StringSet<> own = {};
};

/// Checks the names in one graph; those within have checks of their own.
class NameCheck {
public:
  /// Problems at nodes are those of `scope`; others are `inside` of a node,
  /// too.
  NameCheck(const Json &json, const Graph &graph, const Names &known,
            const Scope &scope, const Scope &inside)
      : json(json), graph(graph), visible{&known}, scope(scope),
        inside(inside) {}

  bool run();

private:
  void define(const Node &node);
  bool read(const Json &at, StringRef name, const Scope &of, const Twine &what);
  bool checkReads(const Node &node);
  bool checkRegions(const Node &node);

  const Json &json;
  const Graph &graph;
  Names visible;
  llvm::StringMap<const Node *> producers;
  const Scope &scope, &inside;
  bool right = true;
};

void NameCheck::define(const Node &node) {
  for (auto [i, output] : llvm::enumerate(node.outputs)) {
    const Json &at = (*node.json)["outputs"][i];
    auto [it, isNew] = producers.try_emplace(output, &node);
    if (visible.around->contains(output))
      right = scope.fail(at, node.describe() + ": its output \"" + output +
                                 "\" is also an input or a constant of the "
                                 "graph");
    else if (!isNew)
      right = scope.fail(at, "tensor \"" + output + "\" is made twice, by " +
                                 it->second->describe() + " and " +
                                 node.describe());
    visible.own.insert(output);
  }
}

bool NameCheck::read(const Json &at, StringRef name, const Scope &of,
                     const Twine &what) {
  if (visible.contains(name))
    return true;
  SmallVector<StringRef> names;
  if (!of.isFull())
    visible.collect(names);
  llvm::sort(names);
  return of.fail(at, what + " \"" + name +
                         "\" is no input or constant of the graph and no "
                         "node's output" +
                         suggest(name, names));
}

bool NameCheck::checkReads(const Node &node) {
  Scope of = scope.within(node.describe(), node.name);
  bool known = true;
  for (auto [i, input] : llvm::enumerate(node.inputs))
    known &= read((*node.json)["inputs"][i], input, of, "its input");
  for (auto [key, tensor] : {std::pair("trip_count", &node.tripCount),
                             std::pair("while", &node.condition)})
    if (!tensor->empty())
      known &= read((*node.json)[key], *tensor, of, Twine("its ") + key);
  return known;
}

bool NameCheck::checkRegions(const Node &node) {
  bool known = true;
  Scope of = scope.within(node.describe(), node.name);
  for (auto [key, inner] : llvm::zip_equal(graphKeys(node.op), node.graphs)) {
    const Json &region = (*node.json)[key.str()];
    Names names{&visible};
    for (auto [i, input] : llvm::enumerate(inner.inputs))
      if (visible.contains(input) || !names.own.insert(input).second)
        known = of.fail(region["inputs"][i],
                        "another tensor is called \"" + input + "\", too");
    Scope within = of.within("\"" + key + "\"");
    known &= NameCheck(region, inner, names, scope, within).run();
  }
  return known;
}

bool NameCheck::run() {
  for (const Node &node : graph.nodes)
    define(node);
  for (const Node &node : graph.nodes) {
    right &= checkReads(node);
    right &= checkRegions(node);
  }
  for (auto [i, output] : llvm::enumerate(graph.outputs))
    right &= read(json["outputs"][i], output, inside, "output");
  return right;
}

} // namespace

bool checkNames(const Json &json, const Graph &graph,
                const llvm::StringSet<> &known, const Scope &scope) {
  Names outside{nullptr, known};
  return NameCheck(json, graph, outside, scope, scope).run();
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

/// The same for the nodes of this graph alone.
static std::vector<SortProblem> sortOuterNodes(Graph &graph,
                                               const llvm::StringSet<> &known) {
  std::vector<SortNode> sortNodes;
  for (const Node &node : graph.nodes) {
    std::vector<std::string> reads;
    collectReads(node, reads);
    sortNodes.push_back({node.describe(), std::move(reads), node.outputs});
  }
  auto available = [&](StringRef name) { return known.contains(name); };
  std::vector<unsigned> order;
  std::vector<SortProblem> problems = sortGraph(sortNodes, available, order);
  if (!problems.empty())
    return problems;
  std::vector<Node> sorted;
  for (unsigned i : order)
    sorted.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(sorted);
  return {};
}

std::vector<std::string> sortNodes(Graph &graph,
                                   const llvm::StringSet<> &known) {
  std::vector<std::string> cycles;
  for (SortProblem &problem : sortOuterNodes(graph, known))
    cycles.push_back(std::move(problem.message));
  llvm::StringSet<> visible = known;
  for (const Node &node : graph.nodes)
    visible.insert_range(node.outputs);
  for (Node &node : graph.nodes)
    for (Graph &inner : node.graphs) {
      llvm::StringSet<> inside = visible;
      inside.insert_range(inner.inputs);
      llvm::append_range(cycles, json::sortNodes(inner, inside));
    }
  return cycles;
}

} // namespace tinh::json
