//===- DeviceSteps.h - What a function executes, in order -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a function of which a GPU does some, and all executions of them:
// one of each step, but for loops that are unrolled.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_DEVICESTEPS_H
#define TINH_COMPILER_PLANNING_DEVICESTEPS_H

#include "compiler/Planning/ByteAccesses.h"
#include "tinh/artifact.h"

namespace tinh::planning {

/// Bytes that a step accesses in the first iteration of all loops around it.
struct MovingAccess : ByteAccess {
  /// Those of `strides` that move it on; they need no buffer.
  std::vector<tinh_stride_t> strides;
};

/// A step as an artifact has it (tinh/artifact.h).
struct DeviceStep {
  tinh_opcode_t opcode = TINH_OP_DISPATCH;
  int32_t waitFor = -1;
  uint32_t target = 0;     ///< Of an AWAIT: its START.
  uint64_t iterations = 0; ///< Of a LOOP, at most.
  bool onDevice = false;   ///< The GPU does it.
  bool isEmpty = false;    ///< A COPY or ZERO of no bytes.
  /// Of a BRANCH or LOOP: what is in memory decides on it.
  bool readsDecision = false;
  /// Of memory that something writes.
  std::vector<MovingAccess> accesses;
};

/// One execution of a step.
struct Execution {
  uint32_t step = 0;
  /// Of the unrolled loops around it, the outermost first.
  std::vector<int64_t> iterations;
  /// By the plan of the memory, all executions before this one are to be
  /// finished.
  uint32_t wait = 0;
  /// Those of them that it really has to follow, since it accesses the same
  /// bytes, if each run executes both; a START the one before, and an AWAIT its
  /// START. What comes before these is implied.
  std::vector<uint32_t> follows;
};

/// More steps than these in unrolled loops a function does not have.
inline constexpr uint64_t kMaxUnrolled = 1u << 14;

/// What there is to know of a function's steps, each by its number.
struct DeviceSteps {
  explicit DeviceSteps(const std::vector<DeviceStep> &steps);

  const std::vector<DeviceStep> &all;
  /// Whether a loop begins or ends here that is unrolled: how often it iterates
  /// is known, the GPU does all in it, and that is not too much.
  std::vector<bool> unrolled;
  /// Whether not every run executes it, or not once: it lies in a branch or in
  /// a loop that is not unrolled.
  std::vector<bool> conditional;
  /// Whether it lies in a loop that is not unrolled and of which the GPU does
  /// something.
  std::vector<bool> inDeviceLoop;

  uint32_t size() const { return static_cast<uint32_t>(all.size()); }
  /// What a step accesses in these iterations; of loops around it beyond those,
  /// in any iteration.
  std::vector<ByteAccess>
  accesses(uint32_t step, const std::vector<int64_t> &iterations = {}) const;
  /// Which of all iterations of the loops around a step these are.
  uint32_t flatIteration(uint32_t step,
                         const std::vector<int64_t> &iterations) const;
  std::vector<Execution> executions() const;

private:
  void findUnrolled(uint32_t loop, uint64_t &budget);
  uint64_t countExecutions(uint32_t loop, uint64_t limit) const;
  std::vector<uint64_t> lengthsAround(uint32_t step) const;
  std::vector<int32_t> enclosing; ///< The LOOP around each.
};

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_DEVICESTEPS_H
