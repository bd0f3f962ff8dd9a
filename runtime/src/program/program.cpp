//===- program.cpp - A function's schedule, expanded for each worker ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all workers' instructions share: arguments, loops and buffers that move
// with them. expand.cpp makes the instructions.
//
//===----------------------------------------------------------------------===//
#include "program/program.h"

#include "artifact/steps.h"
#include "collectives/collective_steps.h"

#include <algorithm>

namespace tinh::runtime {

void Program::find_arguments() {
  uint32_t entry = 0;
  for (uint32_t s = 0; s < description->num_steps; ++s) {
    const tinh_step_t &step = description->steps[s];
    for (uint32_t b = 0; b < step.num_buffers; ++b, ++entry) {
      const tinh_buffer_ref_t &buffer = step.buffers[b];
      bool is_output = buffer.space == TINH_SPACE_OUTPUT;
      if (!is_output && buffer.space != TINH_SPACE_INPUT)
        continue;
      uint32_t argument =
          buffer.index + (is_output ? description->num_inputs : 0);
      slots.push_back({entry, argument, buffer.offset});
      if (!for_device.on_device(s))
        of_host.emplace(argument, s);
    }
  }
}

void Program::find_loops(bool all_walk) {
  std::vector<int32_t> enclosing = enclosing_loops(*description);
  std::vector<uint32_t> loop_at(description->num_steps, kNoLoop);
  uint32_t first_entry = 0;
  for (uint32_t s = 0; s < description->num_steps; ++s) {
    const tinh_step_t &step = description->steps[s];
    uint32_t around =
        enclosing[s] < 0 ? kNoLoop : loop_at[static_cast<size_t>(enclosing[s])];
    loop_of[s] = around;
    if (around != kNoLoop)
      add_moving_buffers(s, first_entry);
    if (step.opcode == TINH_OP_LOOP && !for_device.on_device(s)) {
      Loop loop = {};
      loop.step = s;
      loop.depth = around == kNoLoop ? 0 : all_loops[around].depth + 1;
      loop.parent = around;
      loop.length = static_cast<int64_t>(step.num_chunks);
      loop.for_device = for_device.any(s, step.target);
      loop.alone = !all_walk && (workers.size() > 1 || left_to_leader) &&
                   (loop.for_device || step.alone);
      max_depth = std::max(max_depth, loop.depth + 1);
      loop_at[s] = static_cast<uint32_t>(all_loops.size());
      all_loops.push_back(std::move(loop));
    }
    first_entry += step.num_buffers;
  }
}

/// Gives the buffers of a step in a loop addresses of the walk's own if one of
/// them moves: a kernel wants them beside each other.
void Program::add_moving_buffers(uint32_t s, uint32_t first_entry) {
  const tinh_step_t &step = description->steps[s];
  auto is_counter = [](const tinh_buffer_ref_t &buffer) {
    return buffer.space == TINH_SPACE_LOOP;
  };
  if (step.num_strides == 0 &&
      std::none_of(step.buffers, step.buffers + step.num_buffers, is_counter))
    return;
  first_moving[s] = num_addresses;
  const tinh_stride_t *stride = step.strides,
                      *strides_end = step.strides + step.num_strides;
  for (uint32_t b = 0; b < step.num_buffers; ++b) {
    MovingBuffer buffer = {num_addresses++, first_entry + b, 0, stride, -1};
    if (is_counter(step.buffers[b]))
      buffer.counter = static_cast<int32_t>(step.buffers[b].index);
    for (; stride != strides_end && stride->buffer == b; ++stride)
      ++buffer.num_strides;
    for (uint32_t l = loop_of[s]; l != kNoLoop; l = all_loops[l].parent) {
      Loop &loop = all_loops[l];
      bool moves =
          std::any_of(buffer.strides, stride, [&](const tinh_stride_t &with) {
            return with.loop == loop.depth;
          });
      if (moves)
        loop.buffers.insert(loop.buffers.begin() +
                                static_cast<ptrdiff_t>(loop.num_moving++),
                            buffer);
      else if (loop.parent == kNoLoop && buffer.num_strides == 0)
        loop.buffers.push_back(buffer);
    }
  }
}

void Program::require_ranks(const tinh_collectives_t *collectives) const {
  if (has_collectives)
    runtime::require_ranks(*description, has_gpu_collectives, collectives);
}

uint32_t Program::index_at(const std::vector<Instruction> &list,
                           uint32_t step) {
  auto found = std::lower_bound(
      list.begin(), list.end(), step,
      [](const Instruction &a, uint32_t b) { return a.step < b; });
  return static_cast<uint32_t>(found - list.begin());
}

static char *base_of(uint32_t space, const Program::Memory &memory) {
  switch (space) {
  case TINH_SPACE_ARENA:
    return memory.arena;
  case TINH_SPACE_WEIGHTS:
    return memory.weights;
  case TINH_SPACE_DEVICE:
    return memory.device_arena;
  case TINH_SPACE_DEVICE_WEIGHTS:
    return memory.device_weights;
  default:
    return nullptr;
  }
}

std::vector<void *> Program::address_table(const Memory &memory) const {
  std::vector<void *> table;
  for (uint32_t s = 0; s < description->num_steps; ++s) {
    const tinh_step_t &step = description->steps[s];
    for (uint32_t b = 0; b < step.num_buffers; ++b) {
      const tinh_buffer_ref_t &buffer = step.buffers[b];
      char *base = base_of(buffer.space, memory);
      table.push_back(base ? base + buffer.offset : nullptr);
    }
  }
  return table;
}

void Program::place(const std::vector<void *> &arguments,
                    std::vector<void *> &table) const {
  for (const ArgumentSlot &slot : slots)
    table[slot.entry] =
        static_cast<char *>(arguments[slot.argument]) + slot.offset;
}

} // namespace tinh::runtime
