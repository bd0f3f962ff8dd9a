//===- schedule.h - Which steps a GPU does, and how they go to it ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a function that a GPU does go to it in *segments*, each of which
// is one CUDA graph: what can be launched at the same place, since the same
// steps of the CPU have to be done before, and is waited for at the same place.
// A segment is launched as early as may be, whatever steps of the CPU come
// before it that it does not need, and awaited where the first step of the CPU
// needs it. Loops of the GPU alone whose length is known are unrolled. Steps in
// other loops and in branches are *loose*: they go to a stream one by one.
//
// Knows nothing of CUDA: segments are found for any artifact.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_SCHEDULE_H
#define TINH_RUNTIME_CUDA_SCHEDULE_H

#include "cuda/schedule/executions.h"
#include "device/device_api.h"

namespace tinh::runtime::cuda {

constexpr uint32_t kNoSegment = UINT32_MAX;
/// Of what is waited for at the run's end alone.
constexpr uint32_t kAtEnd = UINT32_MAX;

/// A step of a segment, in one iteration of the loops around it.
struct Node {
  uint32_t step;
  std::vector<int64_t> iterations; ///< The outermost first.
  /// The segment's nodes, by their places, that it comes after; what is implied
  /// by others is left out.
  std::vector<uint32_t> follows;
  /// It comes after all of the segment's first nodes, as many as these.
  uint32_t complete = 0;
};

struct Segment {
  std::vector<Node> nodes;
  /// It is launched before this step, when all workers have come to position
  /// `wait`.
  uint32_t launch = 0, wait = 0;
  /// The step of the CPU that waits for it, or kAtEnd.
  uint32_t due = kAtEnd;
  /// One of two streams: on one segments follow each other. A segment that does
  /// not need the one before it is on the other stream.
  uint32_t stream = 0;
  /// The last one on the other stream that must be finished before, or
  /// kNoSegment.
  uint32_t after = kNoSegment;
  /// Whether anybody waits for it before the run's end.
  bool is_awaited = false;

  uint32_t first() const { return nodes.front().step; }
  uint32_t last() const { return nodes.back().step; }
};

class Schedule {
public:
  /// `one_by_one`: all steps are loose.
  Schedule(const tinh_artifact_t &artifact,
           const tinh_function_desc_t &function, bool one_by_one);

  const tinh_function_desc_t &function() const { return *description; }
  bool is_loose(uint32_t step) const { return kind[step] == StepKind::loose; }
  /// By where they are launched.
  const std::vector<Segment> &segments() const { return all_segments; }
  const std::vector<StepKind> &kinds() const { return kind; }
  /// By step, and for the end: whether the CPU has to wait for the GPU before
  /// it, for the segments that are due up to there and for all loose steps.
  const std::vector<uint8_t> &gates() const { return all_gates; }

private:
  class Finder;

  /// Whether the GPU does a step in [begin, end).
  bool any(uint32_t begin, uint32_t end) const;

  const tinh_function_desc_t *description;
  std::vector<StepKind> kind;
  std::vector<uint8_t> all_gates;
  std::vector<Segment> all_segments;
  bool has_loose = false;
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_SCHEDULE_H
