//===- capture_api.cpp - Streams that are captured --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a stream is given while it is captured becomes a graph, one node behind
// the other. Meanwhile the thread neither waits, allocates nor frees, in no
// mode of capturing, and ends itself what it has begun.
//
//===----------------------------------------------------------------------===//
#include "compute.h"
#include "driver.h"

#include <algorithm>
#include <cstring>

using namespace tinh::fake;

namespace {
constexpr CUresult kIllegalState = 401, kCaptureWrongThread = 908;
} // namespace

bool tinh::fake::isCapturing(const State &driver) {
  auto mine = [](const auto &stream) {
    return stream.second->capture &&
           stream.second->capture->thread == std::this_thread::get_id();
  };
  return std::any_of(driver.streams.begin(), driver.streams.end(), mine);
}

bool tinh::fake::forbiddenInCapture(const char *function) {
  for (const char *part :
       {"Alloc", "MemFree", "Synchronize", "MemcpyHtoD", "MemcpyDtoH",
        "MemsetD8_v2", "Query", "ModuleUnload", "GraphLaunch", "GraphUpload",
        "WaitEvent", "EventRecord", "StreamDestroy"})
    if (std::strstr(function, part))
      return true;
  return false;
}

TINH_DRIVER CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  return call("cuStreamBeginCapture_v2", Needs::Context,
              [&](State &d, Words &words) {
                words << " " << stream << " mode " << mode;
                StreamObject *object = findStream(d, stream);
                if (!object)
                  return kInvalidHandle;
                if (!stream || object->capture || mode < 0 || mode > 2) {
                  d.gpu.log.misuse("a capture that cannot begin");
                  return kIllegalState;
                }
                object->capture = Capture{std::this_thread::get_id(), {}};
                return kSuccess;
              });
}

TINH_DRIVER CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  return call(
      "cuStreamEndCapture", Needs::Context, [&](State &d, Words &words) {
        words << " " << stream;
        StreamObject *object = findStream(d, stream);
        *graph = nullptr;
        if (!object || !object->capture)
          return kIllegalState;
        if (object->capture->thread != std::this_thread::get_id()) {
          d.gpu.log.misuse("another thread ends a capture");
          return kCaptureWrongThread;
        }
        Graph *captured = d.add(d.graphs);
        for (Operation &operation : object->capture->operations)
          append(*captured, std::move(operation));
        object->capture.reset();
        *graph = reinterpret_cast<CUgraph>(captured);
        words << " graph " << *graph << " nodes " << captured->nodes.size();
        return kSuccess;
      });
}

TINH_DRIVER CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
                                              const CUgraphNode *after,
                                              size_t count, CUgraph child) {
  return call("cuGraphAddChildGraphNode", Needs::Context,
              [&](State &d, Words &words) {
                const Graph *inner = d.find(d.graphs, child, "graph");
                Graph *outer = d.find(d.graphs, graph, "graph");
                if (!inner || !outer || inner == outer)
                  return kInvalidHandle;
                words << " graph of " << inner->operations.size();
                // Its operations, between what it comes after and its node.
                std::vector<size_t> before;
                for (size_t i = 0; i < count; ++i)
                  before.push_back(
                      reinterpret_cast<const GraphNode *>(after[i])->index);
                size_t first = outer->operations.size();
                for (Operation operation : inner->operations) {
                  for (size_t &other : operation.after)
                    other += first;
                  if (operation.after.empty())
                    operation.after = before;
                  outer->operations.push_back(std::move(operation));
                }
                CUresult result =
                    addNode(d, words, node, graph, after, count, Operation());
                for (size_t i = first; i + 1 < outer->operations.size(); ++i)
                  outer->operations.back().after.push_back(i);
                return result;
              });
}

TINH_DRIVER CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph,
                                         const CUgraphNode *after,
                                         size_t count) {
  return call("cuGraphAddEmptyNode", Needs::Context, [&](State &d, Words &w) {
    return addNode(d, w, node, graph, after, count, Operation());
  });
}

static CUresult compute(CUstream stream, const std::string &name,
                        const std::vector<Range> &memory,
                        const std::function<void()> &work,
                        const std::optional<Meeting> &meeting) {
  return call("compute", Needs::Context, [&](State &d, Words &words) {
    words << " " << name << " stream " << stream;
    Operation operation;
    operation.kind = Operation::Kind::Compute;
    operation.kernel = name;
    operation.work = work;
    operation.meeting = meeting;
    for (const Range &range : memory)
      operation.touched.push_back(
          {{static_cast<char *>(range.address), MemoryKind::Device},
           range.size});
    return enqueue(d, stream, std::move(operation));
  });
}

CUresult tinh::fake::compute(CUstream stream, const std::string &name,
                             const std::vector<Range> &memory,
                             const std::function<void()> &work) {
  return ::compute(stream, name, memory, work, std::nullopt);
}

CUresult tinh::fake::meet(CUstream stream, const std::string &name,
                          const std::vector<Range> &memory,
                          const Meeting &meeting) {
  return ::compute(stream, name, memory, meeting.together->work, meeting);
}

bool tinh::fake::isCaptured(CUstream stream) {
  State &driver = State::get();
  std::lock_guard lock(driver.mutex);
  const StreamObject *object = findStream(driver, stream);
  return object && object->capture;
}
