//===- Recompute.h - Which values are computed again ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that lives long between two uses can be forgotten in between, and be
// computed again before the second one: memory for work (Chen et al., "Training
// deep nets with sublinear memory cost", 2016). Knows no IR.
//
// The outcome is a list of steps in which some occur several times. What a step
// reads is always the latest that was computed of a value, so that the list
// says all: repeating a step ends the life of what it computed before.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_RECOMPUTE_H
#define TINH_COMPILER_PLANNING_RECOMPUTE_H

#include <cstdint>
#include <vector>

namespace tinh::planning {

/// A step; values are indices.
struct Computation {
  std::vector<uint32_t> reads, writes;
  /// Of what it reads, what its result may lie in the place of.
  std::vector<uint32_t> inplace;
  /// What it replaces for good, as the next value of a variable does: all that
  /// read it come before.
  std::vector<uint32_t> overwrites;
  /// What it costs to do it again, in any unit.
  uint64_t cost = 0;
  /// Bytes that live in this step alone.
  uint64_t inside = 0;
  bool repeatable = false;
};

struct Computations {
  /// The bytes of each value; 0 for what lies outside of the arena.
  std::vector<uint64_t> sizes;
  /// In an order in which they can run. The last one reads what is returned.
  std::vector<Computation> steps;
};

struct Recomputation {
  /// Steps by their indices.
  std::vector<uint32_t> order;
  /// The most bytes that are live during one of them.
  uint64_t peak = 0;
};

/// Repeats steps until at most `limit` bytes are live, or no further step
/// helps; tries to do it at little cost. Deterministic. What is not repeated
/// keeps its order, but for steps that overwrite something: these come as soon
/// as they can.
Recomputation planRecomputation(const Computations &problem, uint64_t limit);

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_RECOMPUTE_H
