//===- Arena.h - Offsets of buffers in an arena -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two buffers may share memory only if the last use of one happens before the
// first use of the other, or if no run uses both. Where the waits that the data
// needs leave too little order for a small arena, the planner adds waits: a
// wait between steps costs about a microsecond, memory that falls out of the
// cache costs more.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_ARENA_H
#define TINH_COMPILER_PLANNING_ARENA_H

#include "compiler/Planning/Schedule.h"

#include <cstdint>
#include <vector>

namespace tinh::planning {

/// A buffer and the first and last step that uses it. In between there may be a
/// gap, from one step to another one, in which it need not be there: both sides
/// of a branch write its result, but the second one not at once.
struct Lifetime {
  uint64_t size = 0;
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t gapFirst = 1;
  uint32_t gapLast = 0;

  bool hasGap() const { return gapFirst <= gapLast; }
};

struct ArenaPlan {
  std::vector<uint64_t> offsets;
  uint64_t size = 0;
  /// The given schedule with the waits that the offsets need in addition.
  Schedule schedule;
  /// How many pairs of buffers those waits were added for.
  uint32_t addedWaits = 0;
};

struct ArenaOptions {
  uint64_t alignment = 64;
  /// Bounds the search: buffer pairs looked at in all.
  uint64_t effort = 40'000'000;
};

/// The most bytes that are live during one step, sizes rounded up to the
/// alignment: no plan for steps in this order can go below it.
uint64_t liveLowerBound(const std::vector<Lifetime> &buffers, size_t numSteps,
                        uint64_t alignment);

/// Places the buffers: several greedy orders, then exchanges in the best of
/// them, until the lower bound is met or the effort spent. Deterministic. Of
/// `controls` only branches matter: what lives on one side of one needs no
/// order to share memory with what lives on the other.
ArenaPlan planArena(const std::vector<Lifetime> &buffers,
                    const Schedule &schedule, const ArenaOptions &options = {},
                    const std::vector<Control> &controls = {});

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_ARENA_H
