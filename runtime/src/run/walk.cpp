//===- walk.cpp - Where a worker is in a run --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branches, loops and what moves with them.
//
//===----------------------------------------------------------------------===//
#include "run/walk.h"

#include <algorithm>
#include <cstring>

namespace tinh::runtime {

Walk::Walk(const std::vector<Program> &programs) {
  size_t depth = 0, num_addresses = 0;
  for (const Program &program : programs) {
    depth = std::max<size_t>(depth, program.depth());
    num_addresses =
        std::max<size_t>(num_addresses, program.num_moving_addresses());
  }
  levels.resize(depth);
  constexpr size_t kPerLine = sizeof(AddressLine) / sizeof(void *);
  address_lines.resize((num_addresses + kPerLine - 1) / kPerLine);
}

void Walk::begin(const Program &of, void *const *addresses, uint32_t position) {
  program = &of;
  table = addresses;
  base = position;
}

/// Computes the addresses of the loop's first `count` buffers.
void Walk::place(const Loop &loop, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const MovingBuffer &buffer = loop.buffers[i];
    void *&address = addresses()[buffer.address];
    if (buffer.counter >= 0) {
      address = &levels[static_cast<size_t>(buffer.counter)].iteration;
      continue;
    }
    int64_t way = 0;
    for (uint32_t s = 0; s < buffer.num_strides; ++s)
      way += levels[buffer.strides[s].loop].iteration * buffer.strides[s].bytes;
    address = static_cast<char *>(table[buffer.entry]) + way;
  }
}

std::vector<int64_t> Walk::iterations(uint32_t loop) const {
  std::vector<int64_t> numbers;
  if (loop != kNoLoop)
    for (uint32_t d = 0; d <= program->loops()[loop].depth; ++d)
      numbers.push_back(levels[d].iteration);
  return numbers;
}

bool Walk::decide(const Instruction &control) {
  if (control.opcode == TINH_OP_BRANCH)
    return *static_cast<const uint8_t *>(buffers(control)[0]) == 0;
  if (control.opcode == TINH_OP_JUMP)
    return true;
  const Loop &loop = program->loops()[control.loop];
  Level &level = levels[loop.depth];
  if (control.opcode == TINH_OP_NEXT) {
    if (++level.iteration >= level.length)
      return false;
    if (!control.alone)
      base += control.step + 1 - control.target_step;
    place(loop, loop.num_moving);
    return true;
  }
  level.iteration = 0;
  level.length = loop.length;
  if (program->function().steps[control.step].num_buffers) {
    int64_t count;
    std::memcpy(&count, buffers(control)[0], sizeof count);
    level.length = std::min(level.length, count);
  }
  if (level.length <= 0)
    return true;
  place(loop, loop.buffers.size());
  return false;
}

} // namespace tinh::runtime
