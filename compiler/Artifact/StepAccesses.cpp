//===- StepAccesses.cpp - Which bytes steps access --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Planning needs to know of an artifact's steps: which bytes each of them
// accesses.
//
//===----------------------------------------------------------------------===//
#include "compiler/Artifact/Artifact.h"
#include "tinh/collectives.h"
#include "tinh/runtime.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace tinh::artifact {
namespace {

class StepReader {
public:
  StepReader(const Contents &contents, const Function &function)
      : contents(contents), function(function) {}

  planning::DeviceStep read(const Step &step) const {
    planning::DeviceStep result;
    result.opcode = step.opcode;
    result.waitFor = step.waitFor;
    result.target = step.target;
    result.iterations = step.chunks;
    result.onDevice = isOnDevice(step);
    result.isEmpty =
        (step.opcode == TINH_OP_COPY || step.opcode == TINH_OP_ZERO) &&
        step.size == 0;
    result.readsDecision =
        step.opcode >= TINH_OP_BRANCH && !step.buffers.empty();
    for (uint32_t b = 0; b < step.buffers.size(); ++b)
      if (std::optional<planning::MovingAccess> access = accessOf(step, b))
        result.accesses.push_back(std::move(*access));
    return result;
  }

private:
  /// The input or output that a buffer lies in; null if it is elsewhere.
  const Tensor *tensorOf(const tinh_buffer_ref_t &buffer) const {
    if (buffer.space == TINH_SPACE_INPUT)
      return &function.inputs[buffer.index];
    if (buffer.space == TINH_SPACE_OUTPUT)
      return &function.outputs[buffer.index];
    return nullptr;
  }

  bool isOnDevice(const tinh_buffer_ref_t &buffer) const {
    const Tensor *tensor = tensorOf(buffer);
    return buffer.space == TINH_SPACE_DEVICE ||
           buffer.space == TINH_SPACE_DEVICE_WEIGHTS ||
           (tensor && tensor->variable != TINH_NOT_VARIABLE &&
            contents.variables[tensor->variable].device == TINH_DEVICE_CUDA);
  }

  bool isOnDevice(const Step &step) const {
    if (step.opcode == TINH_OP_DISPATCH)
      return contents.kernels[step.kernel].device == TINH_DEVICE_CUDA;
    return step.opcode < TINH_OP_BRANCH &&
           any_of(
               step.buffers,
               [&](const tinh_buffer_ref_t &buffer) {
                 return isOnDevice(buffer);
               });
  }

  /// A number of the memory that a buffer is a part of; none if nobody writes
  /// there. What a function reads of a variable and what it leaves in it is one
  /// memory.
  std::optional<uint64_t> memoryOf(const tinh_buffer_ref_t &buffer) const {
    constexpr uint64_t kVariable = uint64_t(UINT32_MAX) << 32;
    uint64_t space = uint64_t(buffer.space) << 32;
    if (buffer.space == TINH_SPACE_ARENA || buffer.space == TINH_SPACE_DEVICE)
      return space;
    const Tensor *tensor = tensorOf(buffer);
    if (!tensor)
      return std::nullopt;
    return tensor->variable != TINH_NOT_VARIABLE
               ? kVariable | static_cast<uint32_t>(tensor->variable)
               : space | buffer.index;
  }

  std::optional<planning::MovingAccess> accessOf(const Step &step,
                                                 uint32_t b) const {
    std::optional<uint64_t> memory = memoryOf(step.buffers[b]);
    planning::MovingAccess access;
    uint64_t size = bytesOf(step, b, access);
    if (!memory || size == 0)
      return std::nullopt;
    access.memory = *memory;
    access.begin = step.buffers[b].offset;
    access.end = access.begin + size;
    copy_if(step.strides, std::back_inserter(access.strides),
            [&](const tinh_stride_t &stride) { return stride.buffer == b; });
    return access;
  }

  /// The bytes that a step uses from the beginning of buffer `b` on; `access`
  /// gets to know in what way.
  uint64_t bytesOf(const Step &step, uint32_t b,
                   planning::ByteAccess &access) const {
    switch (step.opcode) {
    case TINH_OP_DISPATCH:
      return bytesOf(contents.kernels[step.kernel].operands[b], access);
    case TINH_OP_COPY:
    case TINH_OP_ZERO:
      access.writes = step.opcode == TINH_OP_ZERO || b == 1;
      return step.size;
    case TINH_OP_START:
    case TINH_OP_AWAIT:
      access.writes = b == 1;
      return bytesOf(*step.collective, b);
    case TINH_OP_BRANCH:
      return 1;
    default:
      return sizeof(int64_t);
    }
  }

  static uint64_t bytesOf(const Operand &operand,
                          planning::ByteAccess &access) {
    uint64_t width = tinh_dtype_size(operand.dtype), last = 0, elements = 1;
    for (auto [extent, stride] : zip_equal(operand.dims, operand.strides)) {
      elements *= static_cast<uint64_t>(extent);
      last += static_cast<uint64_t>((extent - 1) * stride);
    }
    access.writes = operand.written;
    access.hasGaps = elements != last + 1;
    return elements == 0 ? 0 : (last + 1) * width;
  }

  static uint64_t bytesOf(const tinh_collective_desc_t &collective,
                          uint32_t b) {
    auto ofAll = b == 0 ? TINH_REDUCE_SCATTER : TINH_ALL_GATHER;
    return collective.count *
           tinh_dtype_size(static_cast<tinh_dtype_t>(collective.dtype)) *
           (collective.kind == ofAll ? collective.num_ranks : 1);
  }

  const Contents &contents;
  const Function &function;
};

} // namespace

void planDevice(Contents &contents) {
  for (Function &function : contents.functions) {
    StepReader reader(contents, function);
    std::vector<planning::DeviceStep> steps;
    for (const Step &step : function.steps)
      steps.push_back(reader.read(step));
    if (any_of(steps,
               [](const planning::DeviceStep &step) { return step.onDevice; }))
      function.devicePlan = planning::planDevice(steps);
  }
}

} // namespace tinh::artifact
