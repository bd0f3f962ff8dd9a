//===- data_flow.h - Who reads what whom ------------------------*- C++ -*-===//
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows from the memory that steps read and write: which step reads what
// which other one has written, and which bytes of the arena hold something from
// when to when.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_DATA_FLOW_H
#define TINH_TOOLS_DATA_FLOW_H

#include "schedule.h"

namespace tinh::tools {

/// Something in the arena: step `first` writes it, `last` is the last to use
/// it.
struct ArenaBuffer {
  uint64_t offset, size;
  uint32_t first, last;
};

struct DataFlow {
  /// By step: the steps whose results it reads.
  std::vector<std::vector<uint32_t>> reads;
  std::vector<ArenaBuffer> buffers;
  std::vector<uint64_t> live;  ///< Bytes in use, by step.
  std::vector<uint32_t> depth; ///< Loops around, by step.
};

DataFlow data_flow_of(const Schedule &schedule);

} // namespace tinh::tools

#endif // TINH_TOOLS_DATA_FLOW_H
