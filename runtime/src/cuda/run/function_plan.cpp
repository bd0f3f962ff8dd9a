//===- function_plan.cpp - How a function's steps go to the GPU -*- C++ -*-===//
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
#include "cuda/run/function_plan.h"

#include "artifact/steps.h"

#include <algorithm>

namespace tinh::runtime::cuda {

FunctionPlan::FunctionPlan(const tinh_artifact_t &artifact,
                           const tinh_function_desc_t &function,
                           bool one_by_one)
    : description(&function), loose(function.num_steps),
      enclosing(enclosing_loops(function)) {
  const tinh_device_plan_t *given = function.device_plan;
  if (given && !one_by_one)
    plan = *given;
  for (uint32_t s = 0; given && s < function.num_steps; ++s)
    loose[s] = one_by_one ? on_device(artifact, function, function.steps[s])
                          : plan.launches[s] == TINH_LAUNCH_LOOSE;
}

std::vector<int64_t> FunctionPlan::iterations(const Node &node) const {
  std::vector<int64_t> iterations;
  uint64_t rest = node.iteration;
  for (int32_t loop = enclosing[node.step]; loop >= 0;
       loop = enclosing[static_cast<size_t>(loop)]) {
    uint64_t length = description->steps[loop].num_chunks;
    iterations.push_back(static_cast<int64_t>(rest % length));
    rest /= length;
  }
  std::reverse(iterations.begin(), iterations.end());
  return iterations;
}

int64_t FunctionPlan::offset_of(const tinh_step_t &step, uint32_t buffer,
                                const std::vector<int64_t> &iterations) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < step.num_strides; ++i)
    if (const tinh_stride_t &stride = step.strides[i];
        stride.buffer == buffer && stride.loop < iterations.size())
      offset += stride.bytes * iterations[stride.loop];
  return offset;
}

} // namespace tinh::runtime::cuda
