//===- function_plan.h - How a function's steps go to the GPU ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the artifact's plan says of a function (tinh/artifact.h), which has been
// checked; or that all of its steps are loose.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_FUNCTION_PLAN_H
#define TINH_RUNTIME_CUDA_FUNCTION_PLAN_H

#include "tinh/artifact.h"

#include <span>
#include <vector>

namespace tinh::runtime::cuda {

using Segment = tinh_device_segment_t;
using Node = tinh_device_node_t;

class FunctionPlan {
public:
  FunctionPlan(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function, bool one_by_one);

  const tinh_function_desc_t &function() const { return *description; }
  const tinh_step_t &step(const Node &node) const {
    return description->steps[node.step];
  }
  bool is_loose(uint32_t step) const { return loose[step]; }
  std::span<const Segment> segments() const {
    return {plan.segments, plan.num_segments};
  }
  std::span<const Node> nodes(const Segment &segment) const {
    return {plan.nodes + segment.first_node, segment.num_nodes};
  }
  /// The nodes of its segment, by their places, that a node comes after.
  std::span<const uint32_t> follows(const Node &node) const {
    return {plan.edges + node.first_edge, node.num_edges};
  }
  /// That a node is in of the loops around its step, the outermost first.
  std::vector<int64_t> iterations(const Node &node) const;
  /// How far behind its place in the first iterations a buffer lies in these.
  static int64_t offset_of(const tinh_step_t &step, uint32_t buffer,
                           const std::vector<int64_t> &iterations);

private:
  const tinh_function_desc_t *description;
  tinh_device_plan_t plan = {};
  std::vector<bool> loose;        ///< By step.
  std::vector<int32_t> enclosing; ///< The LOOP around each step, or -1.
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_FUNCTION_PLAN_H
