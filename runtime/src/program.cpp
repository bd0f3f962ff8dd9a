//===- program.cpp - A function's schedule, expanded for each worker ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker without a share of a step has nothing to do there: what the step
// waits for moves to the worker's next instruction, for later steps rely on it,
// and its signal moves to the instruction before.
//
//===----------------------------------------------------------------------===//
#include "program.h"

#include <algorithm>

namespace tinh::runtime {

/// Copies below this many bytes are not divided.
static constexpr uint64_t kMinCopyShare = 64u << 10;

/// Worker `worker`'s share of `count` equal pieces.
static std::pair<uint64_t, uint64_t> share(uint64_t count, uint32_t worker,
                                           uint32_t num_workers) {
  auto bound = [&](uint64_t w) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(count) * w /
                                 num_workers);
  };
  return {bound(worker), bound(uint64_t(worker) + 1)};
}

static std::pair<uint64_t, uint64_t>
share_of_step(const tinh_step_t &step, uint32_t worker, uint32_t num_workers) {
  if (step.opcode == TINH_OP_DISPATCH)
    return share(step.num_chunks, worker, num_workers);
  uint64_t pieces = (step.size + kMinCopyShare - 1) / kMinCopyShare;
  auto [begin, end] = share(pieces, worker, num_workers);
  return {std::min(begin * kMinCopyShare, step.size),
          std::min(end * kMinCopyShare, step.size)};
}

Program::Program(const Module &module, const tinh_function_desc_t &function,
                 uint32_t num_workers)
    : description(&function), workers(num_workers) {
  std::vector<bool> awaited(function.num_steps, false);
  uint32_t entry = 0;
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    if (step.wait_for >= 0)
      awaited[static_cast<size_t>(step.wait_for)] = true;
    for (uint32_t b = 0; b < step.num_buffers; ++b, ++entry) {
      const tinh_buffer_ref_t &buffer = step.buffers[b];
      if (buffer.space == TINH_SPACE_INPUT)
        slots.push_back({entry, buffer.index, buffer.offset});
      else if (buffer.space == TINH_SPACE_OUTPUT)
        slots.push_back(
            {entry, function.num_inputs + buffer.index, buffer.offset});
    }
  }
  for (uint32_t worker = 0; worker < num_workers; ++worker)
    expand(module, worker, num_workers, awaited);
}

void Program::expand(const Module &module, uint32_t worker,
                     uint32_t num_workers, const std::vector<bool> &awaited) {
  std::vector<Instruction> &list = workers[worker];
  uint32_t first_buffer = 0;
  uint32_t needed = 0; // Progress of the others that the steps so far need,
  uint32_t waited = 0; // and that is known to be made.
  for (uint32_t s = 0; s < description->num_steps; ++s) {
    const tinh_step_t &step = description->steps[s];
    auto [begin, end] = share_of_step(step, worker, num_workers);
    uint32_t signal = awaited[s] && num_workers > 1 ? s + 1 : 0;
    needed = std::max(needed, static_cast<uint32_t>(step.wait_for + 1));
    if (begin < end) {
      Instruction instruction = {};
      if (step.opcode == TINH_OP_DISPATCH)
        instruction.kernel = module.artifact().kernels[step.kernel].function;
      instruction.first_buffer = first_buffer;
      instruction.step = s;
      instruction.wait = needed > waited && num_workers > 1 ? needed : 0;
      instruction.signal = signal;
      instruction.begin = static_cast<int64_t>(begin);
      instruction.end = static_cast<int64_t>(end);
      waited = needed;
      list.push_back(instruction);
    } else if (signal && !list.empty()) {
      list.back().signal = signal;
    } else if (signal) {
      Instruction nothing = {};
      nothing.first_buffer = first_buffer;
      nothing.step = s;
      nothing.signal = signal;
      list.push_back(nothing);
    }
    first_buffer += step.num_buffers;
  }
}

std::vector<void *> Program::address_table(const Module &module, char *arena,
                                           char *state) const {
  std::vector<void *> table;
  for (uint32_t s = 0; s < description->num_steps; ++s) {
    const tinh_step_t &step = description->steps[s];
    for (uint32_t b = 0; b < step.num_buffers; ++b) {
      const tinh_buffer_ref_t &buffer = step.buffers[b];
      char *base = buffer.space == TINH_SPACE_ARENA     ? arena
                   : buffer.space == TINH_SPACE_WEIGHTS ? module.weights()
                   : buffer.space == TINH_SPACE_STATE   ? state
                                                        : nullptr;
      table.push_back(base ? base + buffer.offset : nullptr);
    }
  }
  return table;
}

} // namespace tinh::runtime
