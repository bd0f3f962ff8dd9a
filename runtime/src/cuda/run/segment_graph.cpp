//===- segment_graph.cpp - A segment of steps as a CUDA graph ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "cuda/run/segment_graph.h"

#include "artifact/step_buffers.h"

#include <algorithm>

namespace tinh::runtime::cuda {

std::string name_of(const tinh_artifact_t &artifact,
                    const tinh_function_desc_t &function, uint32_t number) {
  const tinh_step_t &step = function.steps[number];
  std::string text =
      std::string(function.name) + ": step " + std::to_string(number) + ": ";
  if (step.opcode == TINH_OP_DISPATCH)
    text += std::string("kernel '") + artifact.kernels[step.kernel].name + "'";
  else
    text += is_collective(step)           ? "a collective"
            : step.opcode == TINH_OP_COPY ? "a copy"
                                          : "a memset";
  return text + of_nodes(step);
}

SegmentGraph::SegmentGraph(const LoadedModule &loaded, const FunctionPlan &plan,
                           const std::vector<std::vector<void *>> &buffers,
                           const LibraryCalls &libraries,
                           DeviceCollectives &collectives, Number number)
    : loaded(loaded), artifact(loaded.artifact()), function(plan.function()),
      plan(plan), planned(plan.nodes(plan.segments()[number.segment])),
      libraries(libraries), collectives(collectives), number(number) {
  CUgraph handle = nullptr;
  check(driver().cuGraphCreate(&handle, 0), "cannot make a CUDA graph");
  graph = {loaded.device(), handle};
  for (size_t i = 0; i < planned.size(); ++i)
    add_node(planned[i], buffers[i]);
  instantiate();
}

static Memcpy3D copy_params(const void *from, void *to, uint64_t size) {
  Memcpy3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = kMemoryUnified;
  copy.srcDevice = address(from);
  copy.dstDevice = address(to);
  copy.WidthInBytes = size;
  copy.Height = copy.Depth = 1;
  return copy;
}

/// In words where that is possible.
static MemsetNodeParams zero_params(void *to, uint64_t size) {
  unsigned width = (address(to) | size) % 4 == 0 ? 4 : 1;
  return {address(to), 0, 0, width, size / width, 1};
}

/// What a library computes, as a graph of its own; null if that fails.
CUgraphNode SegmentGraph::add_call(const LibraryCall &call,
                                   std::span<void *const> buffers,
                                   std::vector<CUgraphNode> before) {
  Graph captured = libraries.capture(call, buffers);
  if (!captured)
    return nullptr;
  CUgraphNode node = nullptr;
  // The workspace's.
  if (call.after != kNoNode && std::find(before.begin(), before.end(),
                                         nodes[call.after]) == before.end())
    before.push_back(nodes[call.after]);
  check(driver().cuGraphAddChildGraphNode(&node, graph.get(), before.data(),
                                          before.size(), captured.get()),
        [&] {
          return std::string("kernel '") + artifact.kernels[call.kernel].name +
                 "', which a library computes, cannot be put into a CUDA graph";
        });
  return node;
}

CUresult SegmentGraph::add_collective(const tinh_step_t &step,
                                      std::span<void *const> buffers,
                                      const std::vector<CUgraphNode> &before,
                                      CUgraphNode &node) {
  DeviceCollectives::Captured captured =
      collectives.capture(step, buffers.data());
  tickets.push_back(captured.ticket);
  return driver().cuGraphAddChildGraphNode(&node, graph.get(), before.data(),
                                           before.size(), captured.graph.get());
}

CUresult SegmentGraph::add_kernel(const tinh_step_t &step,
                                  std::span<void *const> buffers,
                                  const std::vector<CUgraphNode> &before,
                                  CUgraphNode &node) {
  const tinh_kernel_desc_t &kernel = artifact.kernels[step.kernel];
  std::vector<void *> parameters;
  for (void *const &buffer : buffers)
    parameters.push_back(const_cast<void **>(&buffer)); // It is only read.
  KernelNodeParams params = {};
  params.func = loaded.kernel(step.kernel);
  params.gridDimX = static_cast<unsigned>(step.num_chunks);
  params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = kernel.threads;
  params.blockDimY = params.blockDimZ = 1;
  params.sharedMemBytes = static_cast<unsigned>(kernel.scratch_size);
  params.kernelParams = parameters.data();
  return driver().cuGraphAddKernelNode_v2(&node, graph.get(), before.data(),
                                          before.size(), &params);
}

void SegmentGraph::add_node(const Node &to_add,
                            std::span<void *const> buffers) {
  const Driver &api = driver();
  const tinh_step_t &step = plan.step(to_add);
  std::vector<CUgraphNode> before;
  for (uint32_t other : plan.follows(to_add))
    before.push_back(nodes[other]);
  CUgraphNode node = nullptr;
  CUresult result = kSuccess;
  CUcontext context = loaded.device()->context();
  const LibraryCall *call = libraries.find(number.function, number.segment,
                                           static_cast<uint32_t>(nodes.size()));
  if (call)
    node = add_call(*call, buffers, before);
  if (node) {
    // A library computes it.
  } else if (step.opcode == TINH_OP_DISPATCH) {
    result = add_kernel(step, buffers, before, node);
  } else if (step.opcode == TINH_OP_START) {
    result = add_collective(step, buffers, before, node);
  } else if (step.opcode == TINH_OP_AWAIT) {
    result = api.cuGraphAddEmptyNode(&node, graph.get(), before.data(),
                                     before.size());
  } else if (step.opcode == TINH_OP_COPY) {
    Memcpy3D copy = copy_params(buffers[0], buffers[1], step.size);
    result = api.cuGraphAddMemcpyNode(&node, graph.get(), before.data(),
                                      before.size(), &copy, context);
  } else {
    MemsetNodeParams zero = zero_params(buffers[0], step.size);
    result = api.cuGraphAddMemsetNode(&node, graph.get(), before.data(),
                                      before.size(), &zero, context);
  }
  check(result, [&] {
    return name_of(artifact, function, to_add.step) +
           " cannot be put into a CUDA graph";
  });
  nodes.push_back(node);
}

void SegmentGraph::instantiate() {
  CUgraphExec handle = nullptr;
  check(driver().cuGraphInstantiateWithFlags(&handle, graph.get(), 0), [&] {
    return std::string(function.name) + ": its CUDA graph cannot be made";
  });
  exec = {loaded.device(), handle};
}

void SegmentGraph::set_copy(uint32_t node, const void *from, void *to,
                            uint64_t size) {
  const Driver &api = driver();
  Memcpy3D copy = copy_params(from, to, size);
  auto what = [&] {
    return name_of(artifact, function, planned[node].step) +
           " cannot get other addresses";
  };
  check(api.cuGraphMemcpyNodeSetParams(nodes[node], &copy), what);
  CUresult result = api.cuGraphExecMemcpyNodeSetParams(
      exec.get(), nodes[node], &copy, loaded.device()->context());
  // Memory of another kind than before takes another graph.
  if (result == kInvalidValue)
    return instantiate();
  check(result, what);
}

void SegmentGraph::launch(CUstream stream) {
  collectives.launch(tickets, stream);
  check(driver().cuGraphLaunch(exec.get(), stream), [&] {
    std::string text =
        planned.size() == 1
            ? name_of(artifact, function, planned[0].step)
            : std::string(function.name) + ": the CUDA graph of " +
                  std::to_string(planned.size()) + " steps from " +
                  name_of(artifact, function, planned[0].step);
    return text + " cannot be launched";
  });
}

void SegmentGraph::upload(CUstream stream) {
  check(driver().cuGraphUpload(exec.get(), stream), [&] {
    return std::string(function.name) + ": its CUDA graph cannot be prepared";
  });
}

} // namespace tinh::runtime::cuda
