//===- accesses.cpp - Who reads and writes which bytes ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory is cut into pieces where accesses begin and end. Each piece knows its
// last writers and who has read it since. Whoever writes all of a piece stands
// for those that it follows there. Who leaves gaps does not: others that fit
// into these follow the same ones, but not it.
//
//===----------------------------------------------------------------------===//
#include "cuda/schedule/accesses.h"

#include "artifact/step_buffers.h"
#include "tinh/runtime.h"

#include <algorithm>

namespace tinh::runtime::cuda {

/// The memory that a buffer is a part of; false if nobody writes there. What a
/// function reads of a variable and what it leaves in it is one memory.
static bool find_memory(const tinh_function_desc_t &function,
                        const tinh_buffer_ref_t &buffer, uint64_t &memory) {
  constexpr uint64_t kVariable = uint64_t(UINT32_MAX) << 32;
  if (buffer.space == TINH_SPACE_ARENA || buffer.space == TINH_SPACE_DEVICE) {
    memory = uint64_t(buffer.space) << 32;
    return true;
  }
  const tinh_tensor_desc_t *tensor = tensor_of(function, buffer);
  if (!tensor)
    return false;
  memory = tensor->variable != TINH_NOT_VARIABLE
               ? kVariable | static_cast<uint32_t>(tensor->variable)
               : uint64_t(buffer.space) << 32 | buffer.index;
  return true;
}

/// Whether a kernel's operand is not all elements between its first and last.
static bool has_gaps(const tinh_artifact_t &artifact, const tinh_step_t &step,
                     uint32_t buffer, uint64_t size) {
  if (step.opcode != TINH_OP_DISPATCH)
    return false;
  const tinh_operand_desc_t &operand =
      artifact.kernels[step.kernel].operands[buffer];
  uint64_t elements = 1;
  for (uint32_t d = 0; d < operand.rank; ++d)
    elements *= static_cast<uint64_t>(operand.dims[d]);
  return elements * element_size(operand.dtype) != size;
}

static bool writes(const tinh_artifact_t &artifact, const tinh_step_t &step,
                   uint32_t buffer) {
  if (step.opcode == TINH_OP_DISPATCH)
    return artifact.kernels[step.kernel].operands[buffer].written;
  return step.opcode == TINH_OP_ZERO || buffer == 1;
}

int64_t iteration_offset(const tinh_step_t &step, uint32_t buffer,
                         const std::vector<int64_t> &iterations) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < step.num_strides; ++i)
    if (const tinh_stride_t &stride = step.strides[i];
        stride.buffer == buffer && stride.loop < iterations.size())
      offset += stride.bytes * iterations[stride.loop];
  return offset;
}

/// Adds where the buffer lies in other iterations of loops whose are not known.
static void widen(Access &access, const tinh_step_t &step, uint32_t buffer,
                  size_t num_known, const std::vector<uint64_t> &lengths) {
  for (uint32_t i = 0; i < step.num_strides; ++i) {
    const tinh_stride_t &stride = step.strides[i];
    if (stride.buffer != buffer || stride.loop < num_known ||
        lengths[stride.loop] == 0)
      continue;
    uint64_t bytes = // Wraps if it is negative.
        static_cast<uint64_t>(stride.bytes) * (lengths[stride.loop] - 1);
    (stride.bytes < 0 ? access.begin : access.end) += bytes;
  }
}

std::vector<Access> accesses_of(const tinh_artifact_t &artifact,
                                const tinh_function_desc_t &function,
                                const tinh_step_t &step,
                                const std::vector<int64_t> &iterations,
                                const std::vector<uint64_t> &lengths) {
  std::vector<Access> accesses;
  for (uint32_t b = 0; b < step.num_buffers; ++b) {
    uint64_t size = buffer_size(artifact, step, b);
    Access access = {0, step.buffers[b].offset, 0, writes(artifact, step, b),
                     has_gaps(artifact, step, b, size)};
    if (size == 0 || !find_memory(function, step.buffers[b], access.memory))
      continue;
    access.begin +=
        static_cast<uint64_t>(iteration_offset(step, b, iterations));
    access.end = access.begin + size;
    widen(access, step, b, iterations.size(), lengths);
    accesses.push_back(access);
  }
  return accesses;
}

/// Has a piece begin at `at`, if there is one around it; the first piece from
/// there on.
AccessOrder::Pieces::iterator AccessOrder::cut(Pieces &pieces, uint64_t at) {
  auto next = pieces.lower_bound(at);
  if (next == pieces.begin() || (next != pieces.end() && next->first == at))
    return next;
  Piece &piece = std::prev(next)->second;
  if (piece.end <= at)
    return next;
  auto made = pieces.emplace_hint(next, at, piece);
  piece.end = at;
  return made;
}

/// Has pieces for all bytes.
void AccessOrder::fill(Pieces &pieces, uint64_t begin, uint64_t end) {
  auto next = cut(pieces, begin);
  cut(pieces, end);
  for (uint64_t at = begin; at < end; at = next++->second.end)
    if (next == pieces.end() || next->first > at) {
      uint64_t until = next == pieces.end() ? end : std::min(end, next->first);
      next = pieces.emplace_hint(next, at, Piece{until, {}, {}});
    }
}

std::vector<uint32_t> AccessOrder::add(uint32_t number, uint32_t ordered,
                                       const std::vector<Access> &accesses) {
  std::vector<uint32_t> follows;
  auto follow = [&](uint32_t other) {
    if (other < ordered)
      follows.push_back(other);
    return other < ordered || other == number;
  };
  auto go = [&](const Access &access, auto &&visit) {
    Pieces &pieces = memories[access.memory];
    fill(pieces, access.begin, access.end);
    for (auto at = pieces.find(access.begin);
         at != pieces.end() && at->first < access.end; ++at)
      visit(at->second);
  };
  for (const Access &access : accesses)
    if (!access.writes)
      go(access, [&](Piece &piece) {
        std::for_each(piece.writers.begin(), piece.writers.end(), follow);
        piece.readers.push_back(number);
      });
  for (const Access &access : accesses)
    if (access.writes)
      go(access, [&](Piece &piece) {
        if (access.has_gaps) {
          std::for_each(piece.readers.begin(), piece.readers.end(), follow);
          std::for_each(piece.writers.begin(), piece.writers.end(), follow);
        } else {
          std::erase_if(piece.readers, follow);
          std::erase_if(piece.writers, follow);
        }
        piece.writers.push_back(number);
      });
  std::sort(follows.begin(), follows.end());
  follows.erase(std::unique(follows.begin(), follows.end()), follows.end());
  return follows;
}

} // namespace tinh::runtime::cuda
