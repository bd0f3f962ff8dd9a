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
#include "llvm/ADT/StringSet.h"

#include <queue>

using namespace llvm;

namespace tinh {

namespace {

class Sorter {
public:
  Sorter(ArrayRef<SortNode> nodes, function_ref<bool(StringRef)> available)
      : nodes(nodes), available(available) {}

  void sort(std::vector<unsigned> &order) {
    findProducers();
    findDependencies();
    arrange(order);
  }

  std::vector<SortProblem> problems;

private:
  void findProducers();
  void findDependencies();
  void arrange(std::vector<unsigned> &order);
  void reportCycle();

  ArrayRef<SortNode> nodes;
  function_ref<bool(StringRef)> available;
  StringMap<unsigned> producers;
  StringSet<> missing;
  std::vector<std::vector<unsigned>> users;
  std::vector<unsigned> waitsFor;
};

void Sorter::findProducers() {
  for (unsigned i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].outputs) {
      if (output.empty())
        continue;
      if (available(output)) {
        problems.push_back({i, nodes[i].description + ": its output \"" +
                                   output +
                                   "\" is also an input or a constant of the "
                                   "graph"});
        continue;
      }
      auto [it, isNew] = producers.try_emplace(output, i);
      if (!isNew)
        problems.push_back({i, "tensor \"" + output + "\" is made twice, by " +
                                   nodes[it->second].description + " and " +
                                   nodes[i].description});
    }
}

void Sorter::findDependencies() {
  users.resize(nodes.size());
  waitsFor.resize(nodes.size());
  for (unsigned i = 0; i < nodes.size(); ++i)
    for (const std::string &name : nodes[i].inputs) {
      if (name.empty())
        continue;
      auto producer = producers.find(name);
      if (producer != producers.end()) {
        users[producer->second].push_back(i);
        ++waitsFor[i];
      } else if (!available(name) && missing.insert(name).second) {
        problems.push_back({i,
                            nodes[i].description + ": its input \"" + name +
                                "\" is no input or constant of the graph and "
                                "no node's output",
                            name});
      }
    }
}

void Sorter::arrange(std::vector<unsigned> &order) {
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
  if (order.size() < nodes.size())
    reportCycle();
}

/// Names the nodes of one cycle. From a node that still waits one can always
/// step to a node that it waits for; a node seen twice closes the cycle.
void Sorter::reportCycle() {
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
  problems.push_back({at, text + " needs " + nodes[at].description});
}

} // namespace

std::vector<SortProblem> sortGraph(ArrayRef<SortNode> nodes,
                                   function_ref<bool(StringRef)> available,
                                   std::vector<unsigned> &order) {
  Sorter sorter(nodes, available);
  sorter.sort(order);
  return std::move(sorter.problems);
}

} // namespace tinh
