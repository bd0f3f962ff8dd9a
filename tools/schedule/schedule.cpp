//===- schedule.cpp - The steps of a function, to be drawn ------*- C++ -*-===//
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
#include "schedule.h"

#include "tinh/runtime.h"

#include <sstream>

namespace tinh::tools {

std::string type_text(tinh_dtype_t dtype, const std::vector<int64_t> &dims) {
  std::string text;
  for (int64_t extent : dims)
    text += std::to_string(extent) + "x";
  return text + tinh_dtype_name(dtype);
}

uint64_t span_of(tinh_dtype_t dtype, const std::vector<int64_t> &dims,
                 const std::vector<int64_t> &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0)
      return 0;
    last += (dims[i] - 1) * strides[i];
  }
  return static_cast<uint64_t>(last + 1) * tinh_dtype_size(dtype);
}

static std::vector<Signature> signature_of(const tinh_tensor_desc_t *tensors,
                                           uint32_t count) {
  std::vector<Signature> result;
  for (const tinh_tensor_desc_t *t = tensors; t < tensors + count; ++t)
    result.push_back({t->name, type_text(static_cast<tinh_dtype_t>(t->dtype),
                                         {t->dims, t->dims + t->rank})});
  return result;
}

static std::vector<std::string> lines_of(const char *text) {
  std::vector<std::string> lines;
  std::istringstream stream(text ? text : "");
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

/// Bytes of what a collective reads (0) or writes (1).
static uint64_t size_of(const tinh_collective_desc_t &collective, uint32_t i) {
  bool of_all =
      collective.kind == (i == 0 ? TINH_REDUCE_SCATTER : TINH_ALL_GATHER);
  return collective.count * (of_all ? collective.num_ranks : 1) *
         tinh_dtype_size(static_cast<tinh_dtype_t>(collective.dtype));
}

/// How many bytes buffer `i` of `step` has, and whether they are written.
static std::pair<uint64_t, bool> extent_of(const tinh_artifact_t &artifact,
                                           const tinh_step_t &step,
                                           uint32_t i) {
  switch (step.opcode) {
  case TINH_OP_DISPATCH: {
    const tinh_operand_desc_t &operand =
        artifact.kernels[step.kernel].operands[i];
    return {span_of(static_cast<tinh_dtype_t>(operand.dtype),
                    {operand.dims, operand.dims + operand.rank},
                    {operand.strides, operand.strides + operand.rank}),
            operand.written == 1};
  }
  case TINH_OP_COPY:
    return {step.size, i == 1};
  case TINH_OP_ZERO:
    return {step.size, true};
  case TINH_OP_START:
  case TINH_OP_AWAIT:
    return {size_of(*step.collective, i), i == 1};
  default: // A condition or a count.
    return {step.opcode == TINH_OP_LOOP ? sizeof(int64_t) : 1, false};
  }
}

static ScheduleStep step_of(const tinh_artifact_t &artifact,
                            const tinh_step_t &step) {
  ScheduleStep result;
  result.opcode = static_cast<tinh_opcode_t>(step.opcode);
  result.chunks = step.num_chunks;
  result.wait_for = step.wait_for;
  result.target = step.target;
  if (step.opcode == TINH_OP_DISPATCH) {
    result.kernel = artifact.kernels[step.kernel].name;
    result.on_cuda = artifact.kernels[step.kernel].device == TINH_DEVICE_CUDA;
  }
  if (step.opcode != TINH_OP_COPY && step.opcode != TINH_OP_ZERO)
    result.nodes = lines_of(step.label);
  for (uint32_t i = 0; i < step.num_buffers; ++i) {
    const tinh_buffer_ref_t &buffer = step.buffers[i];
    auto [size, written] = extent_of(artifact, step, i);
    result.accesses.push_back({static_cast<tinh_space_t>(buffer.space),
                               buffer.index, buffer.offset, size, written});
  }
  result.strides.assign(step.strides, step.strides + step.num_strides);
  return result;
}

Schedule schedule_of(const tinh_artifact_t &artifact,
                     const tinh_function_desc_t &function) {
  Schedule schedule;
  schedule.name = function.name;
  schedule.inputs = signature_of(function.inputs, function.num_inputs);
  schedule.outputs = signature_of(function.outputs, function.num_outputs);
  for (uint32_t i = 0; i < function.num_steps; ++i)
    schedule.steps.push_back(step_of(artifact, function.steps[i]));
  schedule.choose_arena(
      {function.arena_size, function.unplanned_size, function.lower_bound_size},
      {function.device_arena_size, function.device_unplanned_size,
       function.device_lower_bound_size});
  return schedule;
}

} // namespace tinh::tools
