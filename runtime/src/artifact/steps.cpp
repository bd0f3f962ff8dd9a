//===- steps.cpp - What the steps of a function are ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "artifact/steps.h"

#include "artifact/step_buffers.h"
#include "tinh/collectives.h"

#include <algorithm>

namespace tinh::runtime {

bool needs_device(const tinh_artifact_t &artifact) {
  auto function_needs = [](const tinh_function_desc_t &function) {
    return function.device_arena_size != 0 || function.device_plan;
  };
  return artifact.device_state_size != 0 ||
         std::any_of(artifact.functions,
                     artifact.functions + artifact.num_functions,
                     function_needs);
}

bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function,
               const tinh_buffer_ref_t &buffer) {
  if (buffer.space == TINH_SPACE_DEVICE ||
      buffer.space == TINH_SPACE_DEVICE_WEIGHTS)
    return true;
  const tinh_tensor_desc_t *tensor = tensor_of(function, buffer);
  return tensor && tensor->variable != TINH_NOT_VARIABLE &&
         artifact.variables[tensor->variable].device == TINH_DEVICE_CUDA;
}

bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function, const tinh_step_t &step) {
  if (step.opcode == TINH_OP_DISPATCH)
    return artifact.kernels[step.kernel].device == TINH_DEVICE_CUDA;
  return step.opcode < TINH_OP_BRANCH &&
         std::any_of(
             step.buffers, step.buffers + step.num_buffers,
             [&](const tinh_buffer_ref_t &buffer) {
               return on_device(artifact, function, buffer);
             });
}

bool is_one_piece(const tinh_step_t &step) {
  if (step.opcode == TINH_OP_DISPATCH)
    return step.num_chunks == 1;
  return step.opcode > TINH_OP_ZERO || step.size <= TINH_COPY_SHARE;
}

std::vector<int32_t> enclosing_loops(const tinh_function_desc_t &function) {
  std::vector<int32_t> enclosing(size_t(function.num_steps) + 1, -1);
  int32_t innermost = -1;
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    enclosing[s] = innermost;
    const tinh_step_t &step = function.steps[s];
    if (step.opcode == TINH_OP_LOOP) {
      innermost = static_cast<int32_t>(s);
    } else if (step.opcode == TINH_OP_NEXT) {
      if (innermost < 0 || function.steps[innermost].target != s + 1 ||
          step.target != static_cast<uint32_t>(innermost) + 1)
        return {};
      innermost = enclosing[size_t(innermost)];
    }
  }
  if (innermost >= 0)
    return {};
  return enclosing;
}

bool valid_collective(const tinh_collective_desc_t &collective) {
  bool is_reduction = collective.kind == TINH_ALL_REDUCE ||
                      collective.kind == TINH_REDUCE_SCATTER;
  bool is_for_a_number = collective.kind == TINH_ALL_GATHER ||
                         collective.kind == TINH_REDUCE_SCATTER;
  bool is_rounded = is_reduction && collective.dtype == TINH_DTYPE_F32 &&
                    collective.communication_dtype == TINH_DTYPE_BF16;
  return collective.kind <= TINH_BROADCAST &&
         collective.reduction <= TINH_REDUCE_MAX &&
         element_size(collective.dtype) != 0 &&
         (collective.communication_dtype == collective.dtype || is_rounded) &&
         (collective.num_ranks != 0 || !is_for_a_number) &&
         collective_size(collective, 0) && collective_size(collective, 1);
}

CollectiveNeeds collective_needs(const tinh_artifact_t &artifact,
                                 const tinh_function_desc_t &function) {
  CollectiveNeeds needs;
  for (uint32_t s = 0; s < function.num_steps; ++s)
    if (const tinh_step_t &step = function.steps[s];
        step.opcode == TINH_OP_START)
      needs = {true, std::max(needs.num_ranks, step.collective->num_ranks),
               on_device(artifact, function, step)};
  return needs;
}

} // namespace tinh::runtime
