//===- cuda_plans.h - Plans of functions for a GPU, for tests ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the compiler makes them, of functions that tests have made.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RUNTIME_CUDA_PLANS_H
#define TINH_TESTS_RUNTIME_CUDA_PLANS_H

#include "artifact/step_buffers.h"
#include "artifact/steps.h"
#include "compiler/Planning/DevicePlan.h"

namespace tinh::runtime {

/// What a step accesses in buffer `b`; of variables there is one memory each.
inline planning::MovingAccess access_of(const tinh_artifact_t &artifact,
                                        const tinh_function_desc_t &function,
                                        const tinh_step_t &step, uint32_t b) {
  const tinh_buffer_ref_t &buffer = step.buffers[b];
  planning::MovingAccess access;
  access.memory = uint64_t(buffer.space) << 32 | buffer.index;
  if (const tinh_tensor_desc_t *tensor = tensor_of(function, buffer);
      tensor && tensor->variable != TINH_NOT_VARIABLE)
    access.memory = uint64_t(1) << 63 | uint64_t(tensor->variable);
  access.begin = buffer.offset;
  access.end = access.begin + buffer_size(artifact, step, b);
  access.writes = step.opcode == TINH_OP_DISPATCH
                      ? artifact.kernels[step.kernel].operands[b].written
                      : step.opcode == TINH_OP_ZERO || b == 1;
  for (uint32_t i = 0; i < step.num_strides; ++i)
    if (step.strides[i].buffer == b)
      access.strides.push_back(step.strides[i]);
  return access;
}

/// Of kernels whose operands have no gaps.
inline planning::DevicePlan plan_of(const tinh_artifact_t &artifact,
                                    const tinh_function_desc_t &function) {
  std::vector<planning::DeviceStep> steps;
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    planning::DeviceStep &to_plan = steps.emplace_back();
    to_plan.opcode = static_cast<tinh_opcode_t>(step.opcode);
    to_plan.waitFor = step.wait_for;
    to_plan.target = step.target;
    to_plan.iterations = step.num_chunks;
    to_plan.onDevice = on_device(artifact, function, step);
    to_plan.readsDecision =
        step.opcode >= TINH_OP_BRANCH && step.num_buffers != 0;
    for (uint32_t b = 0; b < step.num_buffers; ++b)
      if (uint32_t space = step.buffers[b].space;
          space != TINH_SPACE_LOOP && space != TINH_SPACE_WEIGHTS &&
          space != TINH_SPACE_DEVICE_WEIGHTS)
        to_plan.accesses.push_back(access_of(artifact, function, step, b));
  }
  return planning::planDevice(steps);
}

} // namespace tinh::runtime

#endif // TINH_TESTS_RUNTIME_CUDA_PLANS_H
