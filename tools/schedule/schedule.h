//===- schedule.h - The steps of a function, to be drawn --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an artifact says of a function's steps, without its pointers.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_SCHEDULE_H
#define TINH_TOOLS_SCHEDULE_H

#include "tinh/artifact.h"

#include <optional>
#include <string>
#include <vector>

namespace tinh::tools {

/// Bytes that a step reads or writes.
struct Access {
  tinh_space_t space;
  uint32_t index;
  uint64_t offset, size;
  bool written;
};

struct ScheduleStep {
  tinh_opcode_t opcode = TINH_OP_DISPATCH;
  std::string kernel; ///< Of a dispatch.
  bool on_cuda = false;
  std::vector<std::string> nodes;
  uint64_t chunks = 1; ///< Of a loop: its iterations at most.
  int32_t wait_for = -1;
  uint32_t target = 0; ///< Of jumps and loops.
  std::vector<Access> accesses;
  std::vector<tinh_stride_t> strides;
};

/// Bytes of an arena as planned, without reuse, and what no plan goes below.
struct ArenaSizes {
  uint64_t size = 0, unplanned = 0, lower_bound = 0;
};

struct Signature {
  std::string name, type; ///< "x", "1x3x224x224xf32".
};

struct Schedule {
  std::string name; ///< The function's.
  std::vector<Signature> inputs, outputs;
  std::vector<ScheduleStep> steps;
  tinh_space_t arena = TINH_SPACE_ARENA; ///< The one that is drawn.
  ArenaSizes sizes;

  /// Draws the GPU's if there is one.
  void choose_arena(const ArenaSizes &host, const ArenaSizes &device) {
    arena = device.size > 0 ? TINH_SPACE_DEVICE : TINH_SPACE_ARENA;
    sizes = device.size > 0 ? device : host;
  }
};

/// That of a function in an artifact.
Schedule schedule_of(const tinh_artifact_t &artifact,
                     const tinh_function_desc_t &function);

/// "1x64xf32", of a tensor's type.
std::string type_text(tinh_dtype_t dtype, const std::vector<int64_t> &dims);

/// The bytes from the first to the last element of an operand.
uint64_t span_of(tinh_dtype_t dtype, const std::vector<int64_t> &dims,
                 const std::vector<int64_t> &strides);

} // namespace tinh::tools

#endif // TINH_TOOLS_SCHEDULE_H
