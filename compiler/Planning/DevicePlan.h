//===- DevicePlan.h - How the steps of a function go to a GPU ---*- C++ -*-===//
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
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_DEVICEPLAN_H
#define TINH_COMPILER_PLANNING_DEVICEPLAN_H

#include "compiler/Planning/DeviceSteps.h"

namespace tinh::planning {

/// The arrays of a tinh_device_plan_t, which says what they mean.
struct DevicePlan {
  std::vector<uint8_t> launches, gates;
  std::vector<tinh_device_segment_t> segments;
  std::vector<tinh_device_node_t> nodes;
  std::vector<uint32_t> edges;

  /// The same; it points into this.
  tinh_device_plan_t view() const {
    auto count = [](const auto &array) {
      return static_cast<uint32_t>(array.size());
    };
    return {launches.data(), gates.data(),    count(segments), count(nodes),
            count(edges),    segments.data(), nodes.data(),    edges.data()};
  }
};

/// Of steps of which the GPU does at least one.
DevicePlan planDevice(const std::vector<DeviceStep> &steps);

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_DEVICEPLAN_H
