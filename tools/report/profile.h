//===- profile.h - Where the time of a run goes -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime has measured of each step, and what follows from that: rates
// by what the compiler knows of the work, and how much of the machine they are.
// docs/profiles.md explains each number.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PROFILE_H
#define TINH_TOOLS_PROFILE_H

#include "tinh/runtime.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tinh::tools {

/// A step, or all steps of one kernel.
struct StepProfile {
  uint32_t step = 0;  ///< The first one.
  uint32_t count = 1; ///< Of steps.
  tinh_step_kind_t kind = TINH_STEP_KERNEL;
  bool on_cuda = false;
  std::string name; ///< The kernel's, or what it is.
  std::vector<std::string> nodes;
  std::string plan;
  uint32_t num_steps_timed = 0; ///< As in tinh_step_profile_t.
  double executions = 0;        ///< In a run, on average.

  /// In a run, of all executions: milliseconds.
  double time = 0, minimum = 0;
  double work = 0;  ///< Of all threads together.
  double share = 0; ///< Of all steps' time.
  /// In a run, of all executions; nothing where it is not known.
  std::optional<double> operations, bytes;
  std::optional<double> estimate; ///< Milliseconds, with these threads.

  // What follows.
  std::optional<double> gflops, gbytes; ///< A second.
  std::optional<double> peak, memory_peak;
  std::optional<double> estimate_ratio; ///< Estimate / time.
  std::optional<double> busy; ///< How much of the threads was at work.

  bool is_measured() const { return num_steps_timed > 0; }
};

struct FunctionProfile {
  std::string model, function, cpu;
  uint32_t threads = 0;
  bool uses_cuda = false;
  uint64_t runs = 0, lost = 0;
  double time = 0, minimum = 0;   ///< Of a run, in milliseconds.
  double steps_time = 0;          ///< Of those that work() has, together.
  double clock = 0;               ///< GHz; 0: not known.
  double core_operations = 0;     ///< A cycle; 0: not known.
  double core_bytes = 0;          ///< A cycle; 0: not known.
  std::vector<StepProfile> steps; ///< In their order, all of them.

  /// Of all threads, in GFLOP/s; 0: not known.
  double peak() const { return core_operations * clock * threads; }
  /// Those that do something and are no loops, which have them.
  std::vector<StepProfile> work() const;
  /// These, those of one kernel together.
  std::vector<StepProfile> kernels() const;
  /// Their sum; without names.
  StepProfile total() const;
};

/// What the runs of `context` so far, which measures steps, say of `function`.
FunctionProfile make_profile(const Module &module, const Context &context,
                             uint32_t function, double clock);

} // namespace tinh::tools

#endif // TINH_TOOLS_PROFILE_H
