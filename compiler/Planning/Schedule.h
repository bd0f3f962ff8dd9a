//===- Schedule.h - Order among steps ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps run in order, each cut into pieces that workers share. A worker starts
// step i when steps 0 … waits[i] are finished on all workers
// (docs/architecture.md). So step i happens before step j exactly if i <= max
// over k <= j of waits[k].
//
// That holds with branches and loops, which are steps, too: of steps 0 …
// waits[k] those count that a run executes, and waits[k] counts even if it does
// not execute step k. An iteration of a loop starts when all before it is
// finished.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_SCHEDULE_H
#define TINH_COMPILER_PLANNING_SCHEDULE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tinh::planning {

/// The buffers that a step reads and writes, as indices.
struct Accesses {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
};

/// Steps that belong together. What nests in another one comes before it in a
/// list of them.
struct Control {
  enum class Kind { Branch, Loop };
  Kind kind = Kind::Branch;
  /// The first step reads the condition or the number of iterations; the last
  /// one is the end, and belongs to them.
  uint32_t first = 0, last = 0;
  /// Of a branch: the step that ends those for which the condition holds.
  uint32_t otherwise = 0;

  bool contains(uint32_t step) const { return first < step && step <= last; }
};

/// Which steps happen before which others, and the waits that make it so.
class Schedule {
public:
  /// Steps of which none waits for any other.
  explicit Schedule(size_t numSteps) : finishedBefore(numSteps, -1) {}

  size_t size() const { return finishedBefore.size(); }

  /// Whether all of step `a` is finished before any of step `b` starts.
  bool happensBefore(uint32_t a, uint32_t b) const {
    return static_cast<int32_t>(a) <= finishedBefore[b];
  }

  /// Makes step `a` happen before the later step `b`.
  void order(uint32_t a, uint32_t b);

  /// For each step the one to wait for, or -1: only steps that earlier waits do
  /// not cover have one.
  std::vector<int32_t> waits() const;

private:
  /// For each step the last one that is finished before it starts; never
  /// decreases.
  std::vector<int32_t> finishedBefore;
};

/// The schedule with only the waits that the data needs: a read after the write
/// it sees, a write after the earlier reads and writes of its buffer.
Schedule scheduleByAccesses(const std::vector<Accesses> &steps,
                            size_t numBuffers,
                            const std::vector<Control> &controls = {});

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_SCHEDULE_H
