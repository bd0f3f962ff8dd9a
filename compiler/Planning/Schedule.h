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
// A loop that one worker does alone is like a single step: its steps follow
// each other without waits, and it waits, and is waited for, as a whole.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_SCHEDULE_H
#define TINH_COMPILER_PLANNING_SCHEDULE_H

#include <cstddef>
#include <cstdint>
#include <memory>
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
  /// Of a loop: one worker does all of its steps.
  bool alone = false;

  bool contains(uint32_t step) const { return first < step && step <= last; }
};

/// Which steps happen before which others, and the waits that make it so.
class Schedule {
public:
  /// What begins and ends together: a loop that one worker does alone, or a
  /// step that is in none.
  struct Unit {
    uint32_t first, last;
    bool operator==(const Unit &) const = default;
  };

  /// Steps of which none waits for any other, but for those of one unit.
  explicit Schedule(size_t numSteps, const std::vector<Control> &controls = {});

  size_t size() const { return finishedBefore.size(); }

  Unit unit(uint32_t step) const {
    return units ? (*units)[step] : Unit{step, step};
  }

  /// Whether all of step `a` is finished before any of step `b` starts.
  bool happensBefore(uint32_t a, uint32_t b) const {
    if (!units)
      return static_cast<int32_t>(a) <= finishedBefore[b];
    return unit(a) == unit(b)
               ? a < b
               : static_cast<int32_t>(unit(a).last) <= finishedBefore[b];
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
  /// By step; null if each is its own. All copies have the same.
  std::shared_ptr<const std::vector<Unit>> units;
};

/// The schedule with only the waits that the data needs: a read after the write
/// it sees, a write after the earlier reads and writes of its buffer, and an
/// iteration, unless its loop is a unit, after everything.
Schedule scheduleByAccesses(const std::vector<Accesses> &steps,
                            size_t numBuffers,
                            const std::vector<Control> &controls = {});

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_SCHEDULE_H
