//===- Schedule.cpp - Order among steps -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits from what steps read and write.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Schedule.h"

#include <algorithm>

namespace tinh::planning {

void Schedule::order(uint32_t a, uint32_t b) {
  int32_t last = static_cast<int32_t>(a);
  for (size_t i = b; i < finishedBefore.size() && finishedBefore[i] < last; ++i)
    finishedBefore[i] = last;
}

std::vector<int32_t> Schedule::waits() const {
  std::vector<int32_t> waits(size(), -1);
  int32_t covered = -1;
  for (size_t i = 0; i < size(); ++i) {
    if (finishedBefore[i] > covered)
      waits[i] = covered = finishedBefore[i];
  }
  return waits;
}

Schedule scheduleByAccesses(const std::vector<Accesses> &steps,
                            size_t numBuffers) {
  Schedule schedule(steps.size());
  // The latest steps that wrote and that accessed each buffer.
  std::vector<int32_t> lastWrite(numBuffers, -1), lastAccess(numBuffers, -1);
  for (uint32_t i = 0; i < steps.size(); ++i) {
    int32_t last = -1;
    for (uint32_t buffer : steps[i].reads)
      last = std::max(last, lastWrite[buffer]);
    for (uint32_t buffer : steps[i].writes)
      last = std::max(last, lastAccess[buffer]);
    if (last >= 0)
      schedule.order(static_cast<uint32_t>(last), i);
    for (uint32_t buffer : steps[i].reads)
      lastAccess[buffer] = static_cast<int32_t>(i);
    for (uint32_t buffer : steps[i].writes)
      lastWrite[buffer] = lastAccess[buffer] = static_cast<int32_t>(i);
  }
  return schedule;
}

} // namespace tinh::planning
