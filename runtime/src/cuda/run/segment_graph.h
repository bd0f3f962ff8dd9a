//===- segment_graph.h - A segment of steps as a CUDA graph -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Made once for each arena, with the addresses in it, node by node, with edges
// from what each node follows. One launch does all of it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_SEGMENT_GRAPH_H
#define TINH_RUNTIME_CUDA_SEGMENT_GRAPH_H

#include "cuda/run/device_collectives.h"
#include "cuda/run/function_plan.h"
#include "cuda/run/library_calls.h"
#include "cuda/run/loaded_module.h"

#include <span>

namespace tinh::runtime::cuda {

/// "main: step 3: kernel 'conv_1'", for errors.
std::string name_of(const tinh_artifact_t &artifact,
                    const tinh_function_desc_t &function, uint32_t step);

class SegmentGraph {
public:
  /// Its number among all that `libraries` know.
  struct Number {
    uint32_t function, segment;
  };
  /// `plan` must outlive this. `buffers` gives the addresses of each node's.
  SegmentGraph(const LoadedModule &loaded, const FunctionPlan &plan,
               const std::vector<std::vector<void *>> &buffers,
               const LibraryCalls &libraries, DeviceCollectives &collectives,
               Number number);

  /// Changes the addresses of the copy that is node `node`. Not while the graph
  /// is executed.
  void set_copy(uint32_t node, const void *from, void *to, uint64_t size);

  void launch(CUstream stream);
  /// Prepares the first launch.
  void upload(CUstream stream);

private:
  void add_node(const Node &to_add, std::span<void *const> buffers);
  CUgraphNode add_call(const LibraryCall &call, std::span<void *const> buffers,
                       std::vector<CUgraphNode> before);
  CUresult add_collective(const tinh_step_t &step,
                          std::span<void *const> buffers,
                          const std::vector<CUgraphNode> &before,
                          CUgraphNode &node);
  CUresult add_kernel(const tinh_step_t &step, std::span<void *const> buffers,
                      const std::vector<CUgraphNode> &before,
                      CUgraphNode &node);
  void instantiate();

  const LoadedModule &loaded;
  const tinh_artifact_t &artifact;
  const tinh_function_desc_t &function;
  const FunctionPlan &plan;
  const std::span<const Node> planned;
  const LibraryCalls &libraries;
  DeviceCollectives &collectives;
  const Number number;
  std::vector<uint64_t> tickets; ///< Of its collectives.
  Graph graph;
  GraphExec exec;
  std::vector<CUgraphNode> nodes;
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_SEGMENT_GRAPH_H
