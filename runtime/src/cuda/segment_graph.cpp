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
#include "cuda/segment_graph.h"

namespace tinh::runtime::cuda {

std::string name_of(const tinh_artifact_t &artifact,
                    const tinh_function_desc_t &function, uint32_t number) {
  const tinh_step_t &step = function.steps[number];
  std::string text =
      std::string(function.name) + ": step " + std::to_string(number) + ": ";
  if (step.opcode == TINH_OP_DISPATCH)
    text += std::string("kernel '") + artifact.kernels[step.kernel].name + "'";
  else
    text += step.opcode == TINH_OP_COPY ? "a copy" : "a memset";
  if (step.label && *step.label)
    text += std::string(", of the nodes '") + step.label + "',";
  return text;
}

SegmentGraph::SegmentGraph(const LoadedModule &loaded,
                           const tinh_artifact_t &artifact,
                           const tinh_function_desc_t &function,
                           const Segment &segment,
                           const std::vector<std::vector<void *>> &buffers)
    : loaded(loaded), artifact(artifact), function(function), segment(segment) {
  CUgraph handle = nullptr;
  check(driver().cuGraphCreate(&handle, 0), "cannot make a CUDA graph");
  graph = {loaded.device(), handle};
  for (size_t node = 0; node < segment.nodes.size(); ++node)
    add_node(function.steps[segment.nodes[node].step], buffers[node],
             segment.nodes[node].follows);
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

void SegmentGraph::add_node(const tinh_step_t &step,
                            std::span<void *const> buffers,
                            const std::vector<uint32_t> &follows) {
  const Driver &api = driver();
  std::vector<CUgraphNode> before;
  for (uint32_t node : follows)
    before.push_back(nodes[node]);
  CUgraphNode node = nullptr;
  CUresult result = kSuccess;
  CUcontext context = loaded.device()->context();
  if (step.opcode == TINH_OP_DISPATCH) {
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
    result = api.cuGraphAddKernelNode_v2(&node, graph.get(), before.data(),
                                         before.size(), &params);
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
    return name_of(artifact, function,
                   static_cast<uint32_t>(&step - function.steps)) +
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
    return name_of(artifact, function, segment.nodes[node].step) +
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
  check(driver().cuGraphLaunch(exec.get(), stream), [&] {
    std::string text =
        segment.nodes.size() == 1
            ? name_of(artifact, function, segment.first())
            : std::string(function.name) + ": the CUDA graph of " +
                  std::to_string(segment.nodes.size()) + " steps from " +
                  name_of(artifact, function, segment.first());
    return text + " cannot be launched";
  });
}

void SegmentGraph::upload(CUstream stream) {
  check(driver().cuGraphUpload(exec.get(), stream), [&] {
    return std::string(function.name) + ": its CUDA graph cannot be prepared";
  });
}

} // namespace tinh::runtime::cuda
