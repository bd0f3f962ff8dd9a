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
  void findCycles();
  unsigned awaitedBy(unsigned node, unsigned &tried) const;
  void release(ArrayRef<unsigned> cycle);
  void reportCycle(ArrayRef<unsigned> cycle);

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
    findCycles();
}

/// From a node that waits one can always step to a node that it waits for; one
/// that has been passed already closes a cycle. What waits for its nodes goes
/// on as if these were there, so that other cycles are found.
void Sorter::findCycles() {
  std::vector<unsigned> path, tried(nodes.size());
  std::vector<bool> isOnPath(nodes.size());
  for (unsigned start = 0; start < nodes.size(); ++start) {
    path.push_back(start);
    while (!path.empty()) {
      unsigned at = path.back();
      if (waitsFor[at] == 0) {
        path.pop_back();
        continue;
      }
      isOnPath[at] = true;
      unsigned next = awaitedBy(at, tried[at]);
      if (!isOnPath[next]) {
        path.push_back(next);
        continue;
      }
      auto first = std::find(path.rbegin(), path.rend(), next);
      ArrayRef<unsigned> cycle = ArrayRef(path).take_back(
          static_cast<size_t>(first - path.rbegin()) + 1);
      reportCycle(cycle);
      release(cycle);
    }
  }
}

/// The first node of those that `node` waits for. Of its inputs, `tried` are
/// known to come from no such node.
unsigned Sorter::awaitedBy(unsigned node, unsigned &tried) const {
  for (;; ++tried) {
    auto producer = producers.find(nodes[node].inputs[tried]);
    if (producer != producers.end() && waitsFor[producer->second] > 0)
      return producer->second;
  }
}

/// Lets these nodes, and then those behind them, wait no longer.
void Sorter::release(ArrayRef<unsigned> cycle) {
  std::vector<unsigned> released(cycle.begin(), cycle.end());
  for (unsigned node : cycle)
    waitsFor[node] = 0;
  while (!released.empty()) {
    unsigned node = released.back();
    released.pop_back();
    for (unsigned user : users[node])
      if (waitsFor[user] > 0 && --waitsFor[user] == 0)
        released.push_back(user);
  }
}

void Sorter::reportCycle(ArrayRef<unsigned> cycle) {
  const std::string &start = nodes[cycle.front()].description;
  std::string text = "the graph has a cycle: " + start;
  constexpr size_t kShown = 8;
  for (unsigned node : cycle.take_front(kShown).drop_front())
    text += " needs " + nodes[node].description;
  if (cycle.size() > kShown)
    text += " … (" + std::to_string(cycle.size()) + " nodes)";
  problems.push_back({cycle.front(), text + " needs " + start});
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
