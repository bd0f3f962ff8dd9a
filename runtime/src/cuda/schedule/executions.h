//===- executions.h - What a function executes, in order --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops that can be unrolled are walked through; all others, and branches, are
// walked through once, in the order of their steps.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_EXECUTIONS_H
#define TINH_RUNTIME_CUDA_EXECUTIONS_H

#include "cuda/schedule/accesses.h"

namespace tinh::runtime::cuda {

/// One of a step.
struct Execution {
  uint32_t step;
  /// Of the unrolled loops around it, the outermost first.
  std::vector<int64_t> iterations;
  /// By the plan, all executions before this one are to be finished.
  uint32_t wait = 0;
  /// Those of them that it really has to follow, since it accesses the same
  /// memory, if each run executes both. What comes before these is implied.
  std::vector<uint32_t> follows;
};

/// What there is to know of a function's steps, each by its number.
struct Steps {
  Steps(const tinh_artifact_t &artifact, const tinh_function_desc_t &function);

  const tinh_artifact_t &artifact;
  const tinh_function_desc_t &function;
  std::vector<bool> on_device; ///< Whether the GPU does it.
  /// Whether a loop begins or ends here that is unrolled: how often it iterates
  /// is known, the GPU does all in it, and that is not too much.
  std::vector<bool> unrolled;
  /// Whether not every run executes it, or not once: it lies in a branch or in
  /// a loop that is not unrolled.
  std::vector<bool> conditional;
  /// Whether it lies in a loop that is not unrolled and of which the GPU does
  /// something.
  std::vector<bool> in_device_loop;

  /// The lengths of all loops around a step, the outermost first.
  std::vector<uint64_t> lengths_around(uint32_t step) const;

private:
  void find_unrolled(uint32_t loop, uint64_t &budget);
  uint64_t count_executions(uint32_t loop, uint64_t limit) const;
  std::vector<int32_t> enclosing; ///< The LOOP around each.
};

/// More steps than these in unrolled loops a function does not have.
constexpr uint64_t kMaxUnrolled = 1u << 14;

std::vector<Execution> find_executions(const Steps &steps);

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_EXECUTIONS_H
