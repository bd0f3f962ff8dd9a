//===- schedule.h - Which steps a GPU does, and how they go to it ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a function that a GPU does go to it in *segments*: what has to
// wait for the same steps of the CPU is one CUDA graph, launched as soon as
// these are done, however many steps of the CPU that it does not wait for lie
// between. Steps in loops and branches are *loose*: they go to a stream one by
// one.
//
// Knows nothing of CUDA: segments are found for any artifact.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_SCHEDULE_H
#define TINH_RUNTIME_CUDA_SCHEDULE_H

#include "tinh/artifact.h"

#include <vector>

namespace tinh::runtime::cuda {

/// Whether anything of the artifact needs a GPU.
bool needs_device(const tinh_artifact_t &artifact);

/// Whether a buffer lies in GPU memory. Its index has been checked.
bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function,
               const tinh_buffer_ref_t &buffer);

/// Whether the GPU does a step: one of its kernels, or a copy from, to or
/// within its memory. The step's buffers and kernel have been checked.
bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function, const tinh_step_t &step);

constexpr uint32_t kNoSegment = UINT32_MAX;

struct Segment {
  std::vector<uint32_t> steps;
  /// It is launched before this step of the CPU or, if there is none, where
  /// steps run straight through to it: when all workers have come to position
  /// `wait`.
  uint32_t launch;
  uint32_t wait;
  /// One of two streams: on one segments follow each other. A segment that does
  /// not wait for the one before it is on the other stream.
  uint32_t stream;
  /// The last one on the other stream that must be finished before, or
  /// kNoSegment.
  uint32_t after = kNoSegment;

  uint32_t first() const { return steps.front(); }
};

class Schedule {
public:
  /// `one_by_one`: all steps are loose.
  Schedule(const tinh_artifact_t &artifact,
           const tinh_function_desc_t &function, bool one_by_one);

  /// Whether there is anything for a GPU.
  bool empty() const { return num_steps == 0; }
  bool on_device(uint32_t step) const { return kind[step] != Kind::cpu; }
  bool is_loose(uint32_t step) const { return kind[step] == Kind::loose; }
  const std::vector<Segment> &segments() const { return all_segments; }
  /// Whether anybody waits for a segment before the run's end.
  bool is_awaited(uint32_t segment) const {
    return num_steps < kind.size() || segment + 1 < all_segments.size();
  }

  /// Whether the GPU does a step in [begin, end).
  bool any(uint32_t begin, uint32_t end) const {
    return begin < end && before[end] != before[begin];
  }
  /// The first step from `begin` on that the GPU does, or num_steps.
  uint32_t next(uint32_t begin) const;

  /// Whether the CPU computes, or copies what no GPU has to do with.
  bool has_cpu_steps() const { return num_cpu != 0; }
  /// Whether no work of the CPU's is worth sharing: the thread that launches
  /// does it beside.
  bool cpu_is_small() const { return small_cpu; }

private:
  enum class Kind : uint8_t { cpu, segment, loose };
  void find_kinds(const tinh_artifact_t &artifact,
                  const tinh_function_desc_t &function, bool one_by_one);
  void find_segments(const tinh_function_desc_t &function);
  void add(uint32_t step, uint32_t launch, uint32_t wait, uint32_t covered);
  uint32_t last_elsewhere(uint32_t count, uint32_t stream) const;
  uint32_t covered_by(uint32_t position) const;

  std::vector<Kind> kind;
  std::vector<uint32_t> before; ///< Steps of the GPU before each step.
  std::vector<Segment> all_segments;
  uint32_t num_steps = 0, num_loose = 0, num_cpu = 0;
  bool small_cpu = true;
};

/// For each node of a segment, by its place in `steps`, those that it follows:
/// what its step waits for, without what is implied by others.
std::vector<std::vector<uint32_t>>
dependencies(const tinh_function_desc_t &function, const Segment &segment);

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_SCHEDULE_H
