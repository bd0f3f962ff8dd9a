//===- CheckFunctions.cpp - Whether calls can be expanded -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/CheckFunctions.h"

#include "compiler/Import/Limits.h"
#include "compiler/Import/onnx/Nodes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace llvm;

namespace tinh::onnx {

namespace {

using NodeProtos = google::protobuf::RepeatedPtrField<NodeProto>;

/// Of nodes, once their calls are expanded.
struct Extent {
  uint64_t nodes = 0;  // How many there are.
  unsigned calls = 0;  // How deep functions call each other,
  unsigned graphs = 0; // and how deep graphs lie in nodes.

  void add(const Extent &other) {
    nodes = SaturatingAdd(nodes, other.nodes);
    calls = std::max(calls, other.calls);
    graphs = std::max(graphs, other.graphs);
  }
};

class FunctionMeter {
public:
  explicit FunctionMeter(const ModelProto &model) : functions(model) {}

  /// Adds what `node` becomes to `extent`. False, with an error, if there is no
  /// end to it.
  bool measure(const NodeProto &node, Extent &extent);

  std::string error;
  /// How many nodes of the model's graph, and of those within it, are no calls.
  uint64_t written = 0;

private:
  bool measure(const FunctionProto &function, Extent &extent);
  bool measure(const GraphProto &graph, uint64_t copies, Extent &extent);
  uint64_t countCopies(const NodeProtos &nodes, const std::string &attribute);
  uint64_t countCopies(const FunctionProto &function,
                       const std::string &attribute);
  bool fail(std::string what) {
    error = std::move(what);
    return false;
  }
  bool failDepth(const FunctionProto &function);
  bool failRecursion(const FunctionProto &function);

  FunctionTable functions;
  DenseMap<const FunctionProto *, Extent> known;
  std::map<std::pair<const FunctionProto *, std::string>, uint64_t> copies;
  /// Those that are being measured: each calls the next one.
  SmallVector<const FunctionProto *> open;
};

bool FunctionMeter::measure(const NodeProto &node, Extent &extent) {
  const FunctionProto *function = functions.find(node);
  if (function) {
    Extent inner;
    if (!measure(*function, inner))
      return false;
    extent.add(inner);
  } else {
    extent.add({1, 0, 0});
    written += open.empty();
  }
  return llvm::all_of(node.attribute(), [&](const AttributeProto &attribute) {
    return !attribute.has_g() ||
           measure(attribute.g(),
                   function ? countCopies(*function, attribute.name()) : 1,
                   extent);
  });
}

/// Adds what is in a graph that so many nodes have as an attribute.
bool FunctionMeter::measure(const GraphProto &graph, uint64_t copies,
                            Extent &extent) {
  Extent inner;
  for (const NodeProto &node : graph.node())
    if (!measure(node, inner))
      return false;
  ++inner.graphs;
  inner.nodes = SaturatingMultiply(inner.nodes, copies);
  extent.add(inner);
  return true;
}

/// How many nodes a graph is an attribute of that nodes refer to by this name.
uint64_t FunctionMeter::countCopies(const NodeProtos &nodes,
                                    const std::string &name) {
  uint64_t count = 0;
  for (const NodeProto &node : nodes)
    for (const AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        count = SaturatingAdd(count, countCopies(attribute.g().node(), name));
      if (name.empty() || attribute.ref_attr_name() != name)
        continue;
      const FunctionProto *function = functions.find(node);
      count = SaturatingAdd(
          count, function ? countCopies(*function, attribute.name()) : 1);
    }
  return count;
}

/// The same in a function, which has been measured: calls come to an end.
uint64_t FunctionMeter::countCopies(const FunctionProto &function,
                                    const std::string &name) {
  auto [known, isNew] = copies.try_emplace({&function, name}, 0);
  if (isNew) // References to what is in the map stay as it grows.
    known->second = countCopies(function.node(), name);
  return known->second;
}

bool FunctionMeter::measure(const FunctionProto &function, Extent &extent) {
  if (auto found = known.find(&function); found != known.end()) {
    extent = found->second;
    return true;
  }
  if (is_contained(open, &function))
    return failRecursion(function);
  if (open.size() == kMaxFunctionDepth)
    return failDepth(*open.front());
  open.push_back(&function);
  for (const NodeProto &node : function.node())
    if (!measure(node, extent))
      return false;
  for (const AttributeProto &attribute : function.attribute_proto())
    if (attribute.has_g() &&
        !measure(attribute.g(), countCopies(function, attribute.name()),
                 extent))
      return false;
  open.pop_back();
  if (++extent.calls > kMaxFunctionDepth)
    return failDepth(function);
  // One that hands its inputs on becomes an Identity.
  extent.nodes = std::max<uint64_t>(extent.nodes, 1);
  known[&function] = extent;
  return true;
}

bool FunctionMeter::failDepth(const FunctionProto &function) {
  return fail("function " + function.name() +
              " calls functions that call each other more than " +
              std::to_string(kMaxFunctionDepth) + " deep");
}

bool FunctionMeter::failRecursion(const FunctionProto &function) {
  std::string way;
  auto *next = llvm::find(open, &function);
  for (++next; next != open.end(); ++next)
    way += (way.empty() ? ", by way of " : ", ") + (*next)->name();
  return fail("function " + function.name() + " calls itself" + way +
              "; functions are expanded where they are called, which must come "
              "to an end");
}

} // namespace

FunctionError checkFunctions(const ModelProto &model) {
  if (model.functions().empty())
    return {};
  FunctionMeter meter(model);
  Extent extent;
  for (const NodeProto &node : model.graph().node())
    if (!meter.measure(node, extent))
      return {"node \"" + nodeName(node) + "\": " + meter.error,
              nodeName(node)};
  if (extent.graphs > kMaxGraphDepth)
    return {"graphs are nested " + std::to_string(extent.graphs) +
                " deep where functions are called; at most " +
                std::to_string(kMaxGraphDepth) + " are supported",
            ""};
  uint64_t expanded = extent.nodes - std::min(meter.written, extent.nodes);
  if (expanded <= kMaxExpandedNodes)
    return {};
  constexpr uint64_t kMostCounted = 1000000000;
  std::string count = expanded > kMostCounted
                          ? "more than " + std::to_string(kMostCounted)
                          : std::to_string(expanded);
  return {"the model's functions expand to " + count + " nodes; at most " +
              std::to_string(kMaxExpandedNodes) +
              " are supported, as each call is a copy of the function: what is "
              "repeated can be the body of a Loop",
          ""};
}

} // namespace tinh::onnx
