//===- MemoryPlan.h - Storage, waits and offsets ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory plan of one function: which buffers are one and the same memory
// (in-place updates), which steps wait for which, and where in its arena each
// buffer lies. There may be several arenas, in the memory of one device each. A
// buffer may be a part of another one, as the pieces of a concatenation are:
// steps write the parts, in any order, and others read the whole. Knows no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_MEMORYPLAN_H
#define TINH_COMPILER_PLANNING_MEMORYPLAN_H

#include "compiler/Planning/Arena.h"
#include "compiler/Planning/Schedule.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tinh::planning {

struct Buffer {
  uint64_t size = 0;
  /// Memory of the caller's (an output): it orders steps but needs no place.
  bool external = false;
  /// The buffer that this one is a part of, or -1. The parts of a buffer have
  /// no byte in common and are all that is written of it.
  int64_t partOf = -1;
  /// The arena that it lies in, with all that it is a part of.
  uint32_t arena = 0;
};

/// A step; views of a buffer count as that buffer. A buffer that is read
/// through two operands is listed twice.
struct Step : Accesses {
  /// Pairs (read, written) of buffers that the step can do with as one.
  std::vector<std::pair<uint32_t, uint32_t>> inplace;
};

struct Problem {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  /// Branches and loops among the steps.
  std::vector<Control> controls;
  uint32_t numArenas = 1;
};

/// The memory for the buffers of an arena.
struct ArenaSizes {
  uint64_t arenaSize = 0;
  /// The sum of all buffers that are no parts, had each its own memory.
  uint64_t unplannedSize = 0;
  /// The most that is live during one step. What a loop uses and other steps
  /// before or after it do, too, is live in all of the loop, and what one of
  /// several loops side by side uses maybe in all of them (SideBySide.h).
  uint64_t lowerBoundSize = 0;
};

struct Plan {
  /// For each step the one to wait for, or -1.
  std::vector<int32_t> waits;
  /// For each buffer its offset in its arena; 0 for external and unused ones.
  /// A part has the offset of the whole.
  std::vector<uint64_t> offsets;
  std::vector<ArenaSizes> arenas; ///< As many as Problem says.
};

Plan planMemory(const Problem &problem, const ArenaOptions &options = {});

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_MEMORYPLAN_H
