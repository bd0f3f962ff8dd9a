//===- SortGraph.cpp - An order in which nodes can be built -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/SortGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <queue>

using namespace llvm;

namespace tinh {

namespace {

class Sorter {
public:
  Sorter(ArrayRef<SortNode> nodes, function_ref<bool(StringRef)> available,
         std::string &error)
      : nodes(nodes), available(available), error(error) {}

  bool sort(std::vector<unsigned> &order) {
    return findProducers() && findDependencies() && arrange(order);
  }

private:
  bool fail(const std::string &what) {
    error = what;
    return false;
  }
  bool findProducers();
  bool findDependencies();
  bool arrange(std::vector<unsigned> &order);
  bool reportCycle();

  ArrayRef<SortNode> nodes;
  function_ref<bool(StringRef)> available;
  std::string &error;
  StringMap<unsigned> producers;
  std::vector<std::vector<unsigned>> users;
  std::vector<unsigned> waitsFor;
};

bool Sorter::findProducers() {
  for (auto [i, node] : enumerate(nodes))
    for (const std::string &output : node.outputs) {
      if (output.empty())
        continue;
      if (available(output))
        return fail(node.description + ": its output \"" + output +
                    "\" is also an input or a constant of the graph");
      auto [it, isNew] = producers.try_emplace(output, i);
      if (!isNew)
        return fail("tensor \"" + output + "\" is made twice, by " +
                    nodes[it->second].description + " and " + node.description);
    }
  return true;
}

bool Sorter::findDependencies() {
  users.resize(nodes.size());
  waitsFor.resize(nodes.size());
  for (auto [i, node] : enumerate(nodes))
    for (const std::string &name : node.inputs) {
      if (name.empty())
        continue;
      auto producer = producers.find(name);
      if (producer != producers.end()) {
        users[producer->second].push_back(i);
        ++waitsFor[i];
      } else if (!available(name)) {
        return fail(node.description + ": its input \"" + name +
                    "\" is no input or constant of the graph and no node's "
                    "output");
      }
    }
  return true;
}

bool Sorter::arrange(std::vector<unsigned> &order) {
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (auto [i, count] : enumerate(waitsFor))
    if (count == 0)
      ready.push(i);
  while (!ready.empty()) {
    unsigned i = ready.top();
    ready.pop();
    order.push_back(i);
    for (unsigned user : users[i])
      if (--waitsFor[user] == 0)
        ready.push(user);
  }
  return order.size() == nodes.size() || reportCycle();
}

/// Names the nodes of one cycle. From a node that still waits one can always
/// step to a node that it waits for; a node seen twice closes the cycle.
bool Sorter::reportCycle() {
  unsigned at = static_cast<unsigned>(
      llvm::find_if(waitsFor, [](unsigned n) { return n > 0; }) -
      waitsFor.begin());
  std::vector<unsigned> path;
  std::vector<bool> seen(nodes.size());
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    for (const std::string &name : nodes[at].inputs) {
      auto producer = producers.find(name);
      if (producer != producers.end() && waitsFor[producer->second] > 0) {
        at = producer->second;
        break;
      }
    }
  }
  path.erase(path.begin(), llvm::find(path, at));
  std::string text = "the graph has a cycle: " + nodes[at].description;
  constexpr size_t kShown = 8;
  for (size_t i = 1; i < path.size() && i < kShown; ++i)
    text += " needs " + nodes[path[i]].description;
  if (path.size() > kShown)
    text += " … (" + std::to_string(path.size()) + " nodes)";
  return fail(text + " needs " + nodes[at].description);
}

} // namespace

bool sortGraph(ArrayRef<SortNode> nodes,
               function_ref<bool(StringRef)> available,
               std::vector<unsigned> &order, std::string &error) {
  return Sorter(nodes, available, error).sort(order);
}

} // namespace tinh
