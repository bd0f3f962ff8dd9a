//===- graph_api.cpp - Graphs of the fake driver ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <set>

using namespace tinh::fake;

TINH_DRIVER CUresult cuGraphCreate(CUgraph *graph, unsigned) {
  return call("cuGraphCreate", Needs::Context, [&](State &d, Words &words) {
    *graph = reinterpret_cast<CUgraph>(d.add(d.graphs));
    words << " " << *graph;
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuGraphDestroy(CUgraph graph) {
  return call("cuGraphDestroy", Needs::Context, [&](State &d, Words &) {
    if (!d.find(d.graphs, graph, "graph"))
      return kInvalidHandle;
    d.graphs.erase(graph);
    return kSuccess;
  });
}

CUgraphNode tinh::fake::append(Graph &graph, Operation operation) {
  graph.nodes.push_back(std::make_unique<GraphNode>(
      GraphNode{&graph, graph.nodes.size(), graph.operations.size()}));
  graph.operations.push_back(std::move(operation));
  return reinterpret_cast<CUgraphNode>(graph.nodes.back().get());
}

CUresult tinh::fake::addNode(State &driver, Words &words, CUgraphNode *result,
                             CUgraph handle, const CUgraphNode *after,
                             size_t count, Operation operation) {
  Graph *graph = driver.find(driver.graphs, handle, "graph");
  if (!graph)
    return kInvalidHandle;
  std::set<size_t> indices;
  words << " " << operation.describe() << " graph " << handle << " node "
        << graph->nodes.size() << " after";
  for (size_t i = 0; i < count; ++i) {
    const auto *node = reinterpret_cast<const GraphNode *>(after[i]);
    if (!node || node->graph != graph || !indices.insert(node->index).second) {
      driver.gpu.log.misuse("an edge from no other node of the graph, or two "
                            "from the same");
      return kInvalidValue;
    }
    words << " " << node->number;
  }
  operation.after.assign(indices.begin(), indices.end());
  if (std::string problem = driver.gpu.check(operation); !problem.empty()) {
    driver.gpu.log.misuse(problem);
    return kInvalidValue;
  }
  *result = append(*graph, std::move(operation));
  return kSuccess;
}

TINH_DRIVER CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                             const CUgraphNode *after,
                                             size_t count,
                                             const KernelNodeParams *launch) {
  return call(
      "cuGraphAddKernelNode_v2", Needs::Context, [&](State &d, Words &w) {
        Operation operation;
        if (!makeKernel(d, *launch, operation))
          return kInvalidValue;
        return addNode(d, w, node, graph, after, count, std::move(operation));
      });
}

static Place makePlace(const State &driver, unsigned type, const void *host,
                       CUdeviceptr device) {
  if (type == kMemoryHost)
    return {const_cast<char *>(static_cast<const char *>(host)),
            MemoryKind::Host};
  if (type == kMemoryUnified)
    return placeOf(driver, device);
  return {reinterpret_cast<char *>(device), MemoryKind::Device};
}

/// Only copies of bytes that lie side by side.
static bool makeCopy(State &driver, const Memcpy3D &copy, Operation &result) {
  result.kind = Operation::Kind::Copy;
  result.size = copy.WidthInBytes;
  result.from =
      makePlace(driver, copy.srcMemoryType, copy.srcHost, copy.srcDevice);
  result.to =
      makePlace(driver, copy.dstMemoryType, copy.dstHost, copy.dstDevice);
  bool plain = copy.Height == 1 && copy.Depth == 1 && copy.srcXInBytes == 0 &&
               copy.srcY == 0 && copy.srcZ == 0 && copy.dstXInBytes == 0 &&
               copy.dstY == 0 && copy.dstZ == 0 && copy.WidthInBytes > 0;
  if (!plain)
    driver.gpu.log.misuse("a copy that this driver does not know");
  return plain;
}

TINH_DRIVER CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *after,
                                          size_t count, const Memcpy3D *copy,
                                          CUcontext) {
  return call("cuGraphAddMemcpyNode", Needs::Context, [&](State &d, Words &w) {
    Operation operation;
    if (!makeCopy(d, *copy, operation))
      return kInvalidValue;
    return addNode(d, w, node, graph, after, count, std::move(operation));
  });
}

TINH_DRIVER CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *after,
                                          size_t count,
                                          const MemsetNodeParams *fill,
                                          CUcontext) {
  return call("cuGraphAddMemsetNode", Needs::Context, [&](State &d, Words &w) {
    Operation operation;
    operation.kind = Operation::Kind::Fill;
    operation.to = {reinterpret_cast<char *>(fill->dst), MemoryKind::Device};
    operation.value = fill->value;
    operation.elementSize = fill->elementSize;
    operation.size = fill->width * fill->elementSize;
    if (fill->height != 1 || operation.size == 0 ||
        (fill->elementSize != 1 && fill->elementSize != 2 &&
         fill->elementSize != 4))
      return kInvalidValue;
    return addNode(d, w, node, graph, after, count, std::move(operation));
  });
}

/// Gives the copy `old` other places, of the same kinds.
static CUresult changeCopy(State &driver, const Memcpy3D &copy,
                           Operation &old) {
  Operation changed;
  if (!makeCopy(driver, copy, changed))
    return kInvalidValue;
  if (old.kind != Operation::Kind::Copy || changed.to.kind != old.to.kind ||
      changed.from.kind != old.from.kind) {
    driver.gpu.log.misuse("a node becomes a copy of another kind");
    return kInvalidValue;
  }
  if (std::string problem = driver.gpu.check(changed); !problem.empty()) {
    driver.gpu.log.misuse(problem);
    return kInvalidValue;
  }
  changed.after = old.after;
  old = std::move(changed);
  return kSuccess;
}

TINH_DRIVER CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle,
                                                const Memcpy3D *copy) {
  return call(
      "cuGraphMemcpyNodeSetParams", Needs::Context, [&](State &d, Words &) {
        auto *node = reinterpret_cast<GraphNode *>(handle);
        return changeCopy(d, *copy, node->graph->operations[node->index]);
      });
}

/// Whether each operation that other streams meet for comes after the one
/// before it that is another meeting of the same ones: else they could wait for
/// each other in a circle.
static bool haveOneOrder(const std::vector<Operation> &operations) {
  std::vector<std::set<size_t>> met(operations.size()); // Up to each.
  size_t count = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    for (size_t other : operations[i].after)
      met[i].insert(met[other].begin(), met[other].end());
    if (!operations[i].meeting)
      continue;
    if (met[i].size() != count++)
      return false;
    met[i].insert(i);
  }
  return true;
}

TINH_DRIVER CUresult cuGraphInstantiateWithFlags(CUgraphExec *result,
                                                 CUgraph handle,
                                                 unsigned long long) {
  return call("cuGraphInstantiateWithFlags", Needs::Context,
              [&](State &d, Words &words) {
                Graph *graph = d.find(d.graphs, handle, "graph");
                if (!graph)
                  return kInvalidHandle;
                if (!haveOneOrder(graph->operations))
                  d.gpu.log.misuse("collectives of a graph that are in no "
                                   "order");
                GraphExec *exec = d.add(d.execs);
                for (const auto &node : graph->nodes)
                  exec->indices[node.get()] = node->index;
                std::vector<Operation> operations = graph->operations;
                if (operations.empty()) // It still has its place in a stream.
                  operations.resize(1);
                exec->operations =
                    std::make_shared<const std::vector<Operation>>(
                        std::move(operations));
                *result = reinterpret_cast<CUgraphExec>(exec);
                words << " graph " << handle << " exec " << *result;
                return kSuccess;
              });
}

TINH_DRIVER CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec handle,
                                                    CUgraphNode node,
                                                    const Memcpy3D *copy,
                                                    CUcontext) {
  return call("cuGraphExecMemcpyNodeSetParams", Needs::Context,
              [&](State &d, Words &words) {
                words << " exec " << handle;
                GraphExec *exec = d.find(d.execs, handle, "executable graph");
                if (!exec)
                  return kInvalidHandle;
                auto index =
                    exec->indices.find(reinterpret_cast<GraphNode *>(node));
                if (index == exec->indices.end())
                  return kInvalidValue;
                // Launches that are queued keep what they have.
                auto changed =
                    std::make_shared<std::vector<Operation>>(*exec->operations);
                CUresult result =
                    changeCopy(d, *copy, (*changed)[index->second]);
                if (result == kSuccess)
                  exec->operations = std::move(changed);
                return result;
              });
}

TINH_DRIVER CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  return call("cuGraphUpload", Needs::Context, [&](State &d, Words &) {
    bool known =
        d.find(d.execs, handle, "executable graph") && findStream(d, stream);
    return known ? kSuccess : kInvalidHandle;
  });
}

TINH_DRIVER CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return call("cuGraphLaunch", Needs::Context, [&](State &d, Words &words) {
    words << " exec " << handle << " stream " << stream;
    GraphExec *exec = d.find(d.execs, handle, "executable graph");
    StreamObject *object = findStream(d, stream);
    if (!exec || !object)
      return kInvalidHandle;
    std::vector<std::shared_ptr<Work>> after;
    if (exec->last && !exec->last->isDone())
      after.push_back(exec->last);
    exec->last = object->last =
        d.gpu.queue(object->queue, exec->operations, std::move(after));
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return call("cuGraphExecDestroy", Needs::Context, [&](State &d, Words &) {
    if (!d.find(d.execs, handle, "executable graph"))
      return kInvalidHandle;
    d.execs.erase(handle);
    return kSuccess;
  });
}
