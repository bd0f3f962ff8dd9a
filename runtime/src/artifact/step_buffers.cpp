//===- step_buffers.cpp - What the buffers of a step are --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "artifact/step_buffers.h"

#include "tinh/collectives.h"
#include "tinh/runtime.h"

#include <algorithm>

namespace tinh::runtime {

uint64_t element_size(uint32_t dtype) {
  return dtype <= TINH_DTYPE_F4E2M1FN
             ? tinh_dtype_size(static_cast<tinh_dtype_t>(dtype))
             : 0;
}

std::optional<uint64_t> operand_size(const tinh_operand_desc_t &operand) {
  uint64_t width = element_size(operand.dtype);
  if (width == 0 || operand.written > 1 ||
      (operand.rank > 0 && (!operand.dims || !operand.strides)))
    return std::nullopt;
  uint64_t last = 0;
  bool is_empty = false;
  for (uint32_t d = 0; d < operand.rank; ++d) {
    int64_t extent = operand.dims[d], stride = operand.strides[d];
    uint64_t way;
    if (extent < 0 || stride < 0)
      return std::nullopt;
    is_empty |= extent == 0;
    if (extent > 0 && (__builtin_mul_overflow(extent - 1, stride, &way) ||
                       __builtin_add_overflow(last, way, &last)))
      return std::nullopt;
  }
  uint64_t size;
  if (is_empty)
    return 0;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, width, &size))
    return std::nullopt;
  return size;
}

std::optional<uint64_t>
collective_size(const tinh_collective_desc_t &collective, uint32_t b) {
  uint64_t size = element_size(collective.dtype);
  bool of_all =
      collective.kind == (b == 0 ? TINH_REDUCE_SCATTER : TINH_ALL_GATHER);
  if (__builtin_mul_overflow(size, collective.count, &size) ||
      __builtin_mul_overflow(size, of_all ? collective.num_ranks : 1, &size))
    return std::nullopt;
  return size;
}

bool is_collective(const tinh_step_t &step) {
  return step.opcode == TINH_OP_START || step.opcode == TINH_OP_AWAIT;
}

uint64_t buffer_size(const tinh_artifact_t &artifact, const tinh_step_t &step,
                     uint32_t b) {
  switch (step.opcode) {
  case TINH_OP_DISPATCH:
    return *operand_size(artifact.kernels[step.kernel].operands[b]);
  case TINH_OP_COPY:
  case TINH_OP_ZERO:
    return step.size;
  case TINH_OP_START:
  case TINH_OP_AWAIT:
    return *collective_size(*step.collective, b);
  case TINH_OP_BRANCH:
    return 1;
  default:
    return sizeof(int64_t);
  }
}

const tinh_tensor_desc_t *tensor_of(const tinh_function_desc_t &function,
                                    const tinh_buffer_ref_t &buffer) {
  switch (buffer.space) {
  case TINH_SPACE_INPUT:
    return &function.inputs[buffer.index];
  case TINH_SPACE_OUTPUT:
    return &function.outputs[buffer.index];
  default:
    return nullptr;
  }
}

std::string of_nodes(const tinh_step_t &step) {
  if (!step.label || !*step.label)
    return "";
  std::string names = step.label;
  std::ranges::replace(names, '\n', ' ');
  return ", of the nodes '" + names + "',";
}

} // namespace tinh::runtime
